//! A form for arguments, drawn from their schema and from what they are. It works without scripts: adding an item sends
//! the form and gets it back with one more.

mod path;
mod read;
mod schema;

use banksman_core::json::{CanonicalJson, Json};
use banksman_core::visible::{VisibleJson, is_hidden, pretty};
use maud::{Markup, html};

use self::path::Path;
pub use self::read::{Draft, FormField, Misfit, args_of_form};
use self::schema::Schema;
use crate::parts::hidden;
use crate::text::{Foreign, brief};

/// Deeper, or with more in it, a structure is edited as JSON.
const DEEPEST: usize = 6;
const MOST_MEMBERS: usize = 40;

/// The fields of a draft.
pub(crate) fn fields(draft: &Draft, schema: Option<&CanonicalJson>) -> Markup {
    let schema = schema.and_then(|schema| schema.to_json().ok());
    let value = draft.args.to_json().unwrap_or(Json::Null);
    let form = Form { draft };
    form.members(&Path::default(), &value, Schema::of(schema.as_ref()), 0)
}

struct Form<'a> {
    draft: &'a Draft,
}

/// One value, where it is and what is said of it.
struct Field<'a> {
    path: Path,
    label: Markup,
    value: Option<&'a Json>,
    schema: Schema<'a>,
    /// Whether it may be left out.
    optional: bool,
    depth: usize,
}

/// How a value is edited.
enum Shape<'a> {
    Object,
    List,
    Choice(Vec<&'a Json>),
    Boolean,
    Number,
    Text,
    /// As JSON: what has no other form, and texts with characters that a text field would change or hide.
    Json,
}

impl<'a> Field<'a> {
    fn shape(&self) -> Shape<'a> {
        let choices = self.schema.choices();
        if !choices.is_empty() && self.value.is_none_or(|value| choices.contains(&value)) {
            return Shape::Choice(choices);
        }
        let fits = |count: usize| self.depth < DEEPEST && count <= MOST_MEMBERS;
        match self.value {
            Some(Json::Object(members)) if fits(members.len()) => Shape::Object,
            Some(Json::Array(items)) if fits(items.len()) => Shape::List,
            Some(Json::String(text)) if text.chars().any(|c| c != '\n' && c != '\t' && is_hidden(c)) => {
                Shape::Json
            }
            Some(Json::String(_)) => Shape::Text,
            Some(Json::Number(_)) => Shape::Number,
            Some(Json::Bool(_)) => Shape::Boolean,
            Some(Json::Null | Json::Array(_) | Json::Object(_)) => Shape::Json,
            None => match self.schema.kind() {
                Some("object") => Shape::Object,
                Some("array") => Shape::List,
                Some("string") => Shape::Text,
                Some("number" | "integer") => Shape::Number,
                Some("boolean") => Shape::Boolean,
                _ => Shape::Json,
            },
        }
    }
}

impl Form<'_> {
    /// What an object holds, and what it could hold.
    fn members(&self, path: &Path, value: &Json, schema: Schema<'_>, depth: usize) -> Markup {
        let present: Vec<(&str, &Json)> = match value {
            Json::Object(members) => members.iter().collect(),
            _ => Vec::new(),
        };
        let names = schema.names();
        let absent =
            names.iter().filter(|name| !present.iter().any(|(key, _)| key == *name)).take(MOST_MEMBERS);
        html! {
            (hidden(&format!("object:{}", path.name()), ""))
            @if present.is_empty() && names.is_empty() { p.quiet { "No arguments." } }
            @for (name, value) in &present {
                (self.field(Field { path: path.to(*name), label: html! { (Foreign(name)) }, value: Some(value), schema: schema.property(name), optional: !schema.requires(name), depth }))
            }
            @for name in absent {
                (self.field(Field { path: path.to(*name), label: html! { (Foreign(name)) }, value: None, schema: schema.property(name), optional: !schema.requires(name), depth }))
            }
        }
    }

    fn field(&self, field: Field<'_>) -> Markup {
        let shape = field.shape();
        match (&shape, field.value) {
            (Shape::Object, Some(value)) => {
                self.group(&field, "", self.members(&field.path, value, field.schema, field.depth + 1))
            }
            (Shape::List, Some(Json::Array(items))) => self.group(&field, "list", self.items(&field, items)),
            (Shape::Object | Shape::List, _) => self.absent(&field),
            _ => self.line(&field, &shape),
        }
    }

    fn group(&self, field: &Field<'_>, class: &str, inside: Markup) -> Markup {
        html! {
            fieldset class=(format!("group {class}")) id=(field.path.id()) {
                legend { (field.label) (about(field)) }
                (self.misfits(&field.path))
                (inside)
                (leave_out(field))
            }
        }
    }

    fn items(&self, field: &Field<'_>, items: &[Json]) -> Markup {
        html! {
            (hidden(&format!("list:{}", field.path.name()), ""))
            @if items.is_empty() { p.quiet { "Nothing in it." } }
            @for (position, item) in items.iter().enumerate() {
                (self.field(Field { path: field.path.to(position.to_string()), label: html! { (field.label) " " (position + 1) }, value: Some(item), schema: field.schema.item(position), optional: true, depth: field.depth + 1 }))
            }
            button.plain.small name=(format!("more:{}", field.path.name())) value="" { "Add an item" }
        }
    }

    /// A structure that is not there yet.
    fn absent(&self, field: &Field<'_>) -> Markup {
        html! {
            div.field.absent id=(field.path.id()) {
                span { (field.label) " " span.quiet { "not given" } (about(field)) }
                (self.misfits(&field.path))
                button.plain.small name=(format!("more:{}", field.path.name())) value="" { "Add " (field.label) }
            }
        }
    }

    fn line(&self, field: &Field<'_>, shape: &Shape<'_>) -> Markup {
        let name = |kind: &str| format!("{kind}:{}", field.path.name());
        let problems = self.problems(&field.path);
        let wrong = (!problems.is_empty()).then_some("true");
        let told = (!problems.is_empty()).then(|| format!("{}-wrong", field.path.id()));
        let exact = |value: &Json| CanonicalJson::of(value).as_str().to_owned();
        // What was typed may have been pasted: nothing hides in it either.
        let typed = self.draft.typed.get(&field.path.pointer()).map(|typed| VisibleJson(typed).to_string());
        let id = field.path.id();
        html! {
            div.field {
                label for=(id) { (field.label) @if field.value.is_none() { " " span.quiet { "not given" } } @else if !field.optional { " " span.quiet { "required" } } }
                (about(field))
                @match shape {
                    Shape::Choice(choices) => (choose(&id, &name("json"), field, choices.iter().map(|choice| exact(choice)).collect(), wrong, told.as_deref())),
                    Shape::Boolean => (choose(&id, &name("json"), field, vec!["true".into(), "false".into()], wrong, told.as_deref())),
                    Shape::Number => {
                        input #(id) type="text" inputmode="decimal" name=(name("number")) value=(typed.unwrap_or_else(|| field.value.map(exact).unwrap_or_default())) autocomplete="off" aria-invalid=[wrong] aria-describedby=[told.as_deref()];
                    }
                    Shape::Text => {
                        @let text = field.value.and_then(Json::as_str).unwrap_or_default();
                        // A browser drops the first line break of a text area.
                        textarea #(id) name=(name(if field.value.is_some() || !field.optional { "text" } else { "optional" })) rows=(rows(text)) spellcheck="false" aria-invalid=[wrong] aria-describedby=[told.as_deref()] { "\n" (text) }
                    }
                    Shape::Json | Shape::Object | Shape::List => {
                        @let text = typed.unwrap_or_else(|| field.value.map(|value| pretty(&CanonicalJson::of(value))).unwrap_or_default());
                        textarea.code #(id) name=(name("json")) rows=(rows(&text)) spellcheck="false" aria-invalid=[wrong] aria-describedby=[told.as_deref()] { "\n" (text) }
                    }
                }
                (self.misfits(&field.path))
                (leave_out(field))
            }
        }
    }

    fn problems(&self, path: &Path) -> Vec<&str> {
        let pointer = path.pointer();
        let here = self.draft.misfits.iter().filter(|misfit| misfit.pointer == pointer);
        here.map(|misfit| misfit.problem.as_str()).collect()
    }

    fn misfits(&self, path: &Path) -> Markup {
        let problems = self.problems(path);
        html! {
            @if !problems.is_empty() {
                p.misfit id=(format!("{}-wrong", path.id())) { @for problem in problems { span { (Foreign(problem)) } " " } }
            }
        }
    }
}

/// What the schema says of a value. The words are the agent's.
fn about(field: &Field<'_>) -> Markup {
    let demands = field.schema.demands();
    html! {
        @if !demands.is_empty() { small.quiet { (demands.join(", ")) } }
        @if let Some(words) = field.schema.description() { small.quiet { "the agent says: " (Foreign(&brief(words, 160))) } }
    }
}

fn leave_out(field: &Field<'_>) -> Markup {
    html! {
        @if field.optional && field.value.is_some() {
            label.check.leave { input type="checkbox" name=(format!("drop:{}", field.path.name())) value="yes"; span { "Leave out " span.away { (field.label) } } }
        }
    }
}

fn choose(
    id: &str,
    name: &str,
    field: &Field<'_>,
    choices: Vec<String>,
    wrong: Option<&str>,
    told: Option<&str>,
) -> Markup {
    let now = field.value.map(|value| CanonicalJson::of(value).as_str().to_owned());
    html! {
        select #(id) name=(name) aria-invalid=[wrong] aria-describedby=[told] {
            @if now.is_none() { option value="" selected { "not given" } }
            @for choice in &choices {
                option value=(choice) selected[Some(choice) == now.as_ref()] { (VisibleJson(shown(choice, &choices)).to_string()) }
            }
        }
    }
}

/// A choice as people read it: texts without their quotes, where all of them are texts and none is spelled out.
fn shown<'a>(choice: &'a str, all: &[String]) -> &'a str {
    let plain = all.iter().all(|choice| choice.starts_with('"') && !choice.contains('\\'));
    if plain { choice.trim_matches('"') } else { choice }
}

fn rows(text: &str) -> usize {
    (text.lines().count() + text.len() / 80).clamp(1, 16)
}
