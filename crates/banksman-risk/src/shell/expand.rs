//! Words to arguments: quoting undone, variables, substitutions and braces expanded as far as they are known.

use std::ops::Range;
use std::rc::Rc;

use super::brace::{self, Piece};
use super::parameter;
use super::run::Runner;
use super::scope::Variable;
use super::syntax::{Parameter, Part, Word};
use super::value::{CARRIED, EXPANDED_PER_STEP, Field, HOLE, Taint, Text};
use crate::origin::Origin;

/// Arguments in the making.
struct Fields {
    done: Vec<Field>,
    current: String,
    /// Whether the current one exists even if it is empty (`""`).
    present: bool,
    taint: Taint,
    glob: bool,
    origin: Origin,
    separators: Rc<str>,
}

impl Fields {
    fn new(origin: Origin, separators: Rc<str>) -> Self {
        Self {
            done: Vec::new(),
            current: String::new(),
            present: false,
            taint: Taint::NONE,
            glob: false,
            origin,
            separators,
        }
    }

    fn end_field(&mut self) {
        if self.present || !self.current.is_empty() {
            self.done.push(Field {
                text: std::mem::take(&mut self.current),
                taint: self.taint,
                glob: self.glob,
                origin: self.origin,
            });
        }
        self.present = false;
        self.glob = false;
        self.taint = Taint::NONE;
    }

    fn literal(&mut self, text: &str) {
        self.glob |= text.contains(['*', '?', '[']);
        self.current.push_str(text);
    }

    fn quoted(&mut self, text: &Text) {
        self.present = true;
        self.taint |= text.taint;
        self.push(&text.text);
    }

    fn push(&mut self, text: &str) {
        if self.current.len() + text.len() > CARRIED {
            self.current = HOLE.to_string();
        } else {
            self.current.push_str(text);
        }
    }

    /// A value that is not in quotes falls into several arguments at blanks.
    fn split(&mut self, text: &Text) {
        self.glob |= text.text.contains(['*', '?', '[']);
        let mut first = true;
        let separators = self.separators.clone();
        for piece in text.text.split(|letter| separators.contains(letter)) {
            if !first {
                self.end_field();
            }
            first = false;
            self.taint |= text.taint;
            self.push(piece);
        }
    }
}

impl Runner<'_, '_> {
    /// The arguments that words become.
    pub(super) fn fields(&mut self, words: &[Word]) -> Vec<Field> {
        let mut fields = Vec::with_capacity(words.len());
        for word in words {
            match word.parts.as_slice() {
                [Part::Literal(text)] if !text.contains(['{', '*', '?', '[']) => {
                    let origin = self.origin.verbatim(word.range.clone());
                    fields.push(Field { text: text.clone(), taint: Taint::NONE, glob: false, origin });
                }
                [Part::Quoted(text, Some(at))] => fields.push(self.verbatim(text, *at)),
                [Part::Double(parts)] if matches!(parts.as_slice(), [Part::Quoted(_, Some(_))]) => {
                    if let [Part::Quoted(text, Some(at))] = parts.as_slice() {
                        fields.push(self.verbatim(text, *at));
                    }
                }
                parts if brace::has_braces(parts) => {
                    for pieces in brace::expand(parts) {
                        let expanded = self.expand(&pieces, word.range.clone());
                        fields.extend(expanded);
                    }
                }
                parts => {
                    let expanded = self.expand_parts(parts, word.range.clone());
                    fields.extend(expanded);
                }
            }
        }
        let carried: usize = fields.iter().map(|field| field.text.len()).sum();
        self.spend(2 * fields.len() + carried / EXPANDED_PER_STEP);
        fields
    }

    fn verbatim(&self, text: &str, at: usize) -> Field {
        let origin = self.origin.verbatim(at..at + text.len());
        Field { text: text.to_owned(), taint: Taint::NONE, glob: false, origin }
    }

    /// The value of a word where it does not fall into several: an assignment, a redirection, a here-document.
    pub(super) fn value(&mut self, word: &Word) -> Field {
        if let [Part::Quoted(text, Some(at))] = word.parts.as_slice() {
            return self.verbatim(text, *at);
        }
        let text = self.text_of(&word.parts);
        let glob =
            word.parts.iter().any(|part| matches!(part, Part::Literal(text) if text.contains(['*', '?'])));
        Field { text: text.text, taint: text.taint, glob, origin: self.origin.derived(word.range.clone()) }
    }

    /// The text of parts, in one piece.
    pub(super) fn text_of(&mut self, parts: &[Part]) -> Text {
        let mut whole = Text::default();
        for part in parts {
            match part {
                Part::Literal(text) | Part::Quoted(text, _) => whole.text.push_str(text),
                Part::Double(inner) => {
                    let inner = self.text_of(inner);
                    whole.append(&inner);
                }
                Part::Parameter(parameter) => {
                    let value = self.parameter(parameter);
                    let value = join(&value);
                    whole.append(&value);
                }
                other => {
                    let value = self.special(other);
                    whole.append(&value);
                }
            }
        }
        whole
    }

    fn expand_parts(&mut self, parts: &[Part], range: Range<usize>) -> Vec<Field> {
        let mut fields = Fields::new(self.origin.derived(range), self.separators());
        for part in parts {
            self.expand_part(part, &mut fields);
        }
        fields.end_field();
        fields.done
    }

    fn expand(&mut self, pieces: &[Piece<'_>], range: Range<usize>) -> Vec<Field> {
        let mut fields = Fields::new(self.origin.derived(range), self.separators());
        for piece in pieces {
            match piece {
                Piece::Literal(text) => fields.literal(text),
                Piece::Part(part) => self.expand_part(part, &mut fields),
            }
        }
        fields.end_field();
        fields.done
    }

    fn expand_part(&mut self, part: &Part, fields: &mut Fields) {
        match part {
            Part::Literal(text) => fields.literal(text),
            Part::Quoted(text, _) => {
                fields.present = true;
                fields.current.push_str(text);
            }
            Part::Double(inner) => self.expand_double(inner, fields),
            Part::Parameter(parameter) => {
                let value = self.parameter(parameter);
                match &value {
                    Variable::Many(texts) => {
                        for (at, text) in texts.iter().enumerate() {
                            if at > 0 {
                                fields.end_field();
                            }
                            fields.split(text);
                        }
                    }
                    one => fields.split(&join(one)),
                }
            }
            other => {
                let value = self.special(other);
                fields.split(&value);
            }
        }
    }

    /// Inside of double quotes only `"$@"` and `"${a[@]}"` fall into several arguments.
    fn expand_double(&mut self, parts: &[Part], fields: &mut Fields) {
        let alone = parts.len() == 1;
        fields.present |= !alone || !matches!(parts, [Part::Parameter(p)] if spreads(p));
        for part in parts {
            match part {
                Part::Literal(text) | Part::Quoted(text, _) => fields.current.push_str(text),
                Part::Parameter(parameter) if spreads(parameter) => match self.parameter(parameter) {
                    Variable::Many(texts) => {
                        for (at, text) in texts.iter().enumerate() {
                            if at > 0 {
                                fields.end_field();
                            }
                            fields.quoted(text);
                        }
                    }
                    one => fields.quoted(&join(&one)),
                },
                Part::Parameter(parameter) => {
                    let value = join(&self.parameter(parameter));
                    fields.quoted(&value);
                }
                Part::Double(inner) => {
                    let value = self.text_of(inner);
                    fields.quoted(&value);
                }
                other => {
                    let value = self.special(other);
                    fields.quoted(&value);
                }
            }
        }
    }

    /// What has to run to be known.
    fn special(&mut self, part: &Part) -> Text {
        match part {
            Part::Substitution(script) => {
                let mut output = self.subshell(script, Text::unknown(Taint::NONE));
                let kept = output.text.trim_end_matches('\n').len();
                output.text.truncate(kept);
                output
            }
            Part::Process(script) => {
                // What goes into `>(sh)` is whatever the command prints.
                let output = self.subshell(script, Text::unknown(Taint::OUTPUT));
                let path = format!("/dev/fd/{}", 63 + self.scope.files());
                self.scope.write_file(&path, output, false);
                Text::known(path)
            }
            Part::Arithmetic(parts) => {
                let inside = self.text_of(parts);
                self.arithmetic(&inside.text);
                match inside.text.trim().parse::<i64>() {
                    Ok(number) => Text::known(number.to_string()),
                    Err(_) => Text::unknown(Taint::NONE),
                }
            }
            Part::Array(words) => join(&self.array(words)),
            Part::Literal(text) | Part::Quoted(text, _) => Text::known(text.clone()),
            Part::Double(inner) => self.text_of(inner),
            Part::Parameter(parameter) => join(&self.parameter(parameter)),
        }
    }

    /// `(a b c)` or `([key]=a [other]=b)`.
    pub(super) fn array(&mut self, words: &[Word]) -> Variable {
        let is_keyed = |word: &Word| match word.parts.first() {
            Some(Part::Literal(text)) => text.starts_with('['),
            _ => false,
        };
        if !words.iter().any(is_keyed) {
            return Variable::Many(self.fields(words).iter().map(Field::as_text).collect());
        }
        let mut pairs = Vec::with_capacity(words.len());
        for word in words {
            let text = self.text_of(&word.parts);
            match text.text.strip_prefix('[').and_then(|rest| rest.split_once("]=")) {
                Some((key, value)) => {
                    self.arithmetic(key);
                    pairs.push((key.to_owned(), Text { text: value.to_owned(), taint: text.taint }));
                }
                // It follows on the one before, whatever that was.
                None => pairs.push((HOLE.to_string(), text)),
            }
        }
        if pairs.iter().all(|(key, _)| key.parse::<u64>().is_ok()) {
            pairs.sort_by_key(|(key, _)| key.parse::<u64>().unwrap_or_default());
        }
        Variable::Keyed(pairs)
    }

    /// The value of a parameter, as far as it is known.
    pub(super) fn parameter(&mut self, parameter: &Parameter) -> Variable {
        // What is in the brackets is expanded, and so runs.
        let at = parameter.index.as_ref().map(|index| self.text_of(index));
        if let Some(at) = &at {
            self.arithmetic(&at.text);
        }
        let argument = self.text_of(&parameter.argument);
        let value = self.scope_value(parameter);
        if parameter.operator == "@" && argument.text == "P" {
            // Expanded as a prompt is: what is to be run in it runs.
            if let Some(value) = &value {
                self.expand_again(&join(value).text);
            }
        }
        parameter::apply(parameter, value, at, argument, &mut |name, value| {
            self.scope.set(name, Variable::One(value), false);
        })
    }

    fn scope_value(&self, parameter: &Parameter) -> Option<Variable> {
        let name = parameter.name.as_str();
        let known = |name: &str| match name {
            "@" | "*" => self.scope.positional.clone().map(Variable::Many),
            "#" => Some(Variable::One(match &self.scope.positional {
                Some(values) => Text::known(values.len().to_string()),
                None => Text::unknown(Taint::NONE),
            })),
            _ => match name.parse::<usize>() {
                Ok(0) => None,
                Ok(number) => {
                    let values = self.scope.positional.as_ref()?;
                    Some(Variable::One(values.get(number - 1).cloned().unwrap_or_default()))
                }
                Err(_) => self.scope.variable(name).cloned(),
            },
        };
        if parameter.indirect
            && let Some(target) = self.scope.reference(name)
        {
            return Some(Variable::One(Text::known(target)));
        }
        let value = known(name);
        if !parameter.indirect {
            return value;
        }
        match value {
            Some(Variable::One(pointer)) if pointer.is_known() => known(&pointer.text),
            _ => None,
        }
    }

    /// A text that the shell expands although it was quoted: what is to be run in it runs.
    pub(super) fn expand_again(&mut self, text: &str) {
        if text.contains("$(") || text.contains('`') || text.contains("${") {
            let code = Text::known(format!(": \"{}\"", text.replace('"', "\\\"")));
            let origin = self.origin;
            self.evaluate(&code, origin, &Text::default());
        }
    }

    /// A text that the shell computes with: a name in it stands for a text that is computed in turn, and what is in
    /// the brackets of an array is expanded.
    pub(super) fn arithmetic(&mut self, text: &str) {
        let mut left = vec![text.to_owned()];
        let mut seen: Vec<String> = Vec::new();
        while let Some(text) = left.pop() {
            if !self.spend(1 + text.len() / EXPANDED_PER_STEP) {
                return;
            }
            if text.contains('[') {
                self.expand_again(&text);
            }
            for name in text.split(|letter: char| !(letter == '_' || letter.is_ascii_alphanumeric())) {
                if seen.iter().any(|known| known == name) {
                    continue;
                }
                if let Some(Variable::One(value)) = self.scope.variable(name)
                    && value.text.bytes().any(|b| b.is_ascii_alphabetic())
                {
                    seen.push(name.to_owned());
                    left.push(value.text.clone());
                }
            }
        }
    }

    /// The letters at which unquoted values fall apart.
    pub(super) fn separators(&self) -> Rc<str> {
        match self.scope.variable("IFS") {
            Some(Variable::One(text)) if text.is_known() => text.text.as_str().into(),
            _ => " \t\n".into(),
        }
    }
}

/// `$@` and `${a[@]}`.
fn spreads(parameter: &Parameter) -> bool {
    parameter.name == "@"
        || parameter
            .index
            .as_ref()
            .is_some_and(|index| matches!(index.as_slice(), [Part::Quoted(text, _)] if text == "@"))
}

/// Several values as one text.
pub(super) fn join(value: &Variable) -> Text {
    let texts: Vec<&Text> = match value {
        Variable::One(text) => vec![text],
        Variable::Many(texts) => texts.iter().collect(),
        Variable::Keyed(pairs) => pairs.iter().map(|(_, text)| text).collect(),
    };
    let mut whole = Text::default();
    for (at, text) in texts.into_iter().enumerate() {
        if at > 0 {
            whole.text.push(' ');
        }
        whole.append(text);
    }
    whole
}
