//! What a script has set up so far: variables, functions, aliases, files, the working directory.

use std::collections::HashMap;
use std::rc::Rc;

use super::syntax::Command;
use super::value::{Taint, Text};
use crate::origin::Origin;

/// A function, with where its text stands.
#[derive(Debug, Clone)]
pub(super) struct Function {
    pub(super) body: Rc<Command>,
    pub(super) origin: Origin,
    /// Whether it was surely defined; otherwise the program of that name may run as well.
    pub(super) certain: bool,
}

/// A variable: one value, or several in an array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Variable {
    One(Text),
    Many(Vec<Text>),
}

/// What a script has set up so far. A subshell works on a copy.
#[derive(Debug, Clone, Default)]
pub(super) struct Scope {
    variables: HashMap<String, Variable>,
    functions: HashMap<String, Function>,
    aliases: HashMap<String, Text>,
    /// What was written to files, so that it is known when they are run or sent.
    files: HashMap<String, Text>,
    /// What is exported to every program from now on.
    pub(super) exported: Vec<(String, Text)>,
    /// `$1` and on; nothing is known of them outside of functions.
    pub(super) positional: Option<Vec<Text>>,
    /// Where `cd` led.
    pub(super) directory: Option<String>,
}

impl Scope {
    pub(super) fn variable(&self, name: &str) -> Option<&Variable> {
        self.variables.get(name)
    }

    /// Sets a variable. In a branch that may not be taken, what was known before may still hold: then neither is sure.
    pub(super) fn set(&mut self, name: &str, value: Variable, certain: bool) {
        if !certain && let Some(before) = self.variables.get_mut(name) {
            if *before != value {
                let taint = before.taint() | value.taint();
                *before = Variable::One(Text::unknown(taint));
            }
            return;
        }
        self.variables.insert(name.to_owned(), value);
    }

    pub(super) fn unset(&mut self, name: &str) {
        self.variables.remove(name);
        self.functions.remove(name);
    }

    pub(super) fn function(&self, name: &str) -> Option<&Function> {
        if self.functions.is_empty() { None } else { self.functions.get(name) }
    }

    pub(super) fn define(&mut self, name: &str, function: Function) {
        self.functions.insert(name.to_owned(), function);
    }

    pub(super) fn alias(&self, name: &str) -> Option<&Text> {
        if self.aliases.is_empty() { None } else { self.aliases.get(name) }
    }

    pub(super) fn set_alias(&mut self, name: &str, text: Text) {
        self.aliases.insert(name.to_owned(), text);
    }

    pub(super) fn file(&self, path: &str) -> Option<&Text> {
        if self.files.is_empty() { None } else { self.files.get(path_key(path)) }
    }

    /// Remembers what a file holds from now on.
    pub(super) fn write_file(&mut self, path: &str, content: Text, append: bool) {
        const KEPT: usize = 64;
        let key = path_key(path);
        let has_room = self.files.len() < KEPT;
        match self.files.get_mut(key) {
            Some(before) if append => before.append(&content),
            Some(before) => *before = content,
            None if has_room => {
                self.files.insert(key.to_owned(), content);
            }
            None => {}
        }
    }

    /// How many bytes a copy takes, about.
    pub(super) fn weight(&self) -> usize {
        let of_variable = |variable: &Variable| match variable {
            Variable::One(text) => text.text.len(),
            Variable::Many(texts) => texts.iter().map(|text| text.text.len() + 32).sum(),
        };
        self.variables.values().map(of_variable).sum::<usize>()
            + self.files.values().map(|content| content.text.len()).sum::<usize>()
    }

    /// What a shell started from here sees: variables and files, no functions, no aliases.
    pub(super) fn for_child(&self, positional: Vec<Text>) -> Self {
        Self {
            variables: self.variables.clone(),
            files: self.files.clone(),
            exported: self.exported.clone(),
            // Without arguments nothing is said about `$1`: it may be part of what is wrapped.
            positional: Some(positional).filter(|values| !values.is_empty()),
            directory: self.directory.clone(),
            ..Self::default()
        }
    }

    /// Goes back to what was set up before, except for what was written to files.
    pub(super) fn restore_keeping_files(&mut self, mut before: Self) {
        std::mem::swap(&mut before.files, &mut self.files);
        *self = before;
    }

    pub(super) fn files(&self) -> usize {
        self.files.len()
    }
}

/// `./x` and `x` are the same file.
fn path_key(path: &str) -> &str {
    let mut path = path;
    while let Some(rest) = path.strip_prefix("./") {
        path = rest.trim_start_matches('/');
    }
    path
}

impl Variable {
    pub(super) fn taint(&self) -> Taint {
        match self {
            Self::One(text) => text.taint,
            Self::Many(texts) => texts.iter().fold(Taint::NONE, |taint, text| taint | text.taint),
        }
    }
}
