//! Editing arguments: a form of fields, then a picture of the change, then the decision.

use banksman_core::json::{CanonicalJson, Json, Object};
use banksman_core::visible::{VisibleJson, is_hidden, pretty};
use banksman_core::wire::ActionView;
use banksman_review::Change;
use maud::{Markup, html};

use crate::diff;
use crate::frame::{Frame, Place};
use crate::parts::{binding, hidden};
use crate::text::{Foreign, brief};
use crate::values::table;

/// A field that a form sent: its name and its value.
pub type FormField = (String, String);

/// The page that edits an action.
#[derive(Debug)]
pub struct EditPage<'a> {
    /// The action, as this person gets to see it.
    pub action: &'a ActionView,
    /// What the fields hold: at first what the action has, then what was typed.
    pub draft: &'a CanonicalJson,
    /// Whether the draft was typed, and a picture of the change is wanted.
    pub preview: bool,
}

/// How a value is edited.
enum Widget {
    Text,
    Number,
    Boolean,
    /// As JSON: structures, and texts with characters that a text field would change or hide.
    Json,
}

fn widget(value: &Json) -> Widget {
    match value {
        Json::String(text) if text.chars().any(|c| c != '\n' && c != '\t' && is_hidden(c)) => Widget::Json,
        Json::String(_) => Widget::Text,
        Json::Number(_) => Widget::Number,
        Json::Bool(_) => Widget::Boolean,
        Json::Null | Json::Array(_) | Json::Object(_) => Widget::Json,
    }
}

impl EditPage<'_> {
    /// The page.
    #[must_use]
    pub fn render(&self, frame: &Frame<'_>) -> String {
        let action = self.action;
        let here = format!("/actions/{}/edit", action.id);
        let body = html! {
            article.action data-action=(action.id) data-version=(action.version) {
                header class=(format!("heading {}", action.verdict.risk.as_str())) {
                    h1 { "Edit " (Foreign(&action.tool)) }
                    p.meta { span { "asked by " b { (Foreign(&action.agent)) } } span { a href=(format!("/actions/{}", action.id)) { "Back to the action" } } }
                }
                @if self.preview { (self.confirm(frame)) }
                div.columns {
                    section.panel {
                        h2 { "Arguments" }
                        p.quiet { "Whatever you change is checked, assessed and judged again. If it demands more people, it is held for them." }
                        form method="post" action=(here) {
                            (binding(frame.viewer.csrf, action))
                            (self.fields())
                            div.buttons { button.strong { "Show what changes" } }
                        }
                    }
                    section.panel {
                        h2 { "The same as JSON" }
                        form method="post" action=(here) {
                            (binding(frame.viewer.csrf, action))
                            label.field { span { "All arguments" } textarea.code name="raw" rows="14" spellcheck="false" { (pretty(self.draft)) } }
                            div.buttons { button { "Show what changes" } }
                        }
                    }
                }
            }
        };
        frame.page(Place::Action, &format!("Edit {}", brief(&action.tool, 50)), &body)
    }

    fn confirm(&self, frame: &Frame<'_>) -> Markup {
        let action = self.action;
        let required = action.verdict.require_reason;
        let same = *self.draft == action.args;
        html! {
            section.panel.decide aria-label="Your decision" {
                h2 { "What you change" }
                (diff::show(&Change::of_edit(&action.args, self.draft)))
                @if !same {
                    details { summary { "All arguments as they would run" } (table(self.draft, &[])) }
                    form method="post" action="/decide" {
                        (binding(frame.viewer.csrf, action))
                        (hidden("args", self.draft.as_str()))
                        label.field { span { "Reason" @if required { " (policy asks for one)" } } textarea name="reason" rows="2" required[required] data-reason {} }
                        div.buttons { button.approve name="decision" value="modify" data-approve { "Approve this instead" } }
                        p.changed data-changed role="status" {}
                    }
                }
            }
        }
    }

    fn fields(&self) -> Markup {
        let draft = self.draft.to_json().ok();
        let members: Vec<(String, Json)> = match draft {
            Some(Json::Object(members)) => members.into_members().collect(),
            _ => Vec::new(),
        };
        let schema = self.action.context.args_schema.as_ref().and_then(|schema| schema.to_json().ok());
        let properties =
            schema.as_ref().and_then(|schema| schema.get("properties")).and_then(Json::as_object);
        let absent: Vec<&str> = properties
            .map(|known| {
                known
                    .iter()
                    .map(|(name, _)| name)
                    .filter(|name| !members.iter().any(|(key, _)| key == name))
                    .collect()
            })
            .unwrap_or_default();
        let about = |name: &str| {
            let words =
                properties.and_then(|known| known.get(name)?.get("description")?.as_str().map(str::to_owned));
            html! { @if let Some(words) = words { small.quiet { "the agent says: " (Foreign(&brief(&words, 160))) } } }
        };
        let choices = |name: &str| -> Vec<String> {
            match properties.and_then(|known| known.get(name)?.get("enum")) {
                Some(Json::Array(items)) => {
                    items.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect()
                }
                _ => Vec::new(),
            }
        };
        html! {
            @if members.is_empty() { p.quiet { "No arguments." } }
            @for (name, value) in &members {
                label.field { span { (Foreign(name)) } (about(name))
                    @match (widget(value), value) {
                        (Widget::Text, Json::String(text)) => {
                            @let choices = choices(name);
                            @if choices.contains(text) {
                                select name=(format!("text:{name}")) { @for choice in &choices { option value=(choice) selected[choice == text] { (VisibleJson(choice).to_string()) } } }
                            } @else {
                                // A browser drops the first line break of a text area.
                                textarea name=(format!("text:{name}")) rows=(rows(text)) spellcheck="false" { "\n" (text) }
                            }
                        }
                        (Widget::Number, _) => { input type="text" inputmode="decimal" name=(format!("number:{name}")) value=(CanonicalJson::of(value).as_str()) autocomplete="off"; }
                        (Widget::Boolean, _) => {
                            select name=(format!("json:{name}")) {
                                @for choice in ["true", "false"] { option selected[CanonicalJson::of(value).as_str() == choice] { (choice) } }
                            }
                        }
                        (Widget::Text | Widget::Json, _) => {
                            @let text = pretty(&CanonicalJson::of(value));
                            textarea.code name=(format!("json:{name}")) rows=(rows(&text)) spellcheck="false" { "\n" (text) }
                        }
                    }
                }
            }
            @for name in absent {
                label.field { span { (Foreign(name)) " " span.quiet { "not given; JSON" } } (about(name))
                    textarea.code name=(format!("json:{name}")) rows="1" spellcheck="false" {}
                }
            }
        }
    }
}

fn rows(text: &str) -> usize {
    (text.lines().count() + text.len() / 80).clamp(1, 16)
}

/// The arguments that a form describes.
///
/// # Errors
/// What is wrong with a field, in words.
pub fn args_of_form(fields: &[FormField]) -> Result<CanonicalJson, String> {
    if let Some((_, raw)) = fields.iter().find(|(name, _)| name == "raw") {
        return CanonicalJson::parse(raw.as_bytes()).map_err(|error| error.to_string());
    }
    let mut members = Vec::new();
    for (field, typed) in fields {
        let Some((kind, name)) = field.split_once(':') else { continue };
        let value = match kind {
            // A browser sends every line break of a text area as two characters.
            "text" => Json::String(typed.replace("\r\n", "\n")),
            "number" | "json" if typed.trim().is_empty() => continue,
            "number" | "json" => CanonicalJson::parse(typed.trim().as_bytes())
                .and_then(|value| value.to_json())
                .map_err(|error| format!("{name}: {error}"))?,
            _ => continue,
        };
        if kind == "number" && !matches!(value, Json::Number(_)) {
            return Err(format!("{name}: expected a number"));
        }
        members.push((name.to_owned(), value));
    }
    let members = Object::from_members(members).map_err(|twin| format!("{twin} is there twice"))?;
    Ok(CanonicalJson::of(&Json::Object(members)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(fields: &[(&str, &str)]) -> Result<String, String> {
        let fields: Vec<FormField> =
            fields.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        args_of_form(&fields).map(|args| args.as_str().to_owned())
    }

    #[test]
    fn fields_become_arguments_of_their_kind() {
        let fields = [
            ("csrf", "x"),
            ("text:to", "a\r\nb"),
            ("number:n", " 9007199254740993 "),
            ("json:list", "[1,\"two\"]"),
            ("json:gone", ""),
        ];
        assert_eq!(args(&fields).unwrap(), r#"{"list":[1,"two"],"n":9007199254740993,"to":"a\nb"}"#);
        assert_eq!(args(&[("raw", "{\"b\":1,\"a\":2}")]).unwrap(), r#"{"a":2,"b":1}"#);
        assert_eq!(args(&[("text:a:b", "x")]).unwrap(), r#"{"a:b":"x"}"#);
    }

    #[test]
    fn what_is_no_value_is_said_with_its_name() {
        for fields in [
            [("number:n", "many")],
            [("number:n", "\"1\"")],
            [("json:l", "[1,")],
            [("raw", "{\"a\":1,\"a\":2}")],
        ] {
            assert!(args(&fields).is_err(), "{fields:?}");
        }
        assert!(args(&[("text:a", "x"), ("text:a", "y")]).unwrap_err().contains("twice"));
    }
}
