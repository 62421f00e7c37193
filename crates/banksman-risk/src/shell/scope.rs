//! What a script has set up so far: variables, functions, aliases, files, the working directory.

use std::collections::HashMap;
use std::rc::Rc;

use super::syntax::Command;
use super::value::{HOLE, Taint, Text};
use crate::origin::Origin;

/// A function, with where its text stands.
#[derive(Debug, Clone)]
pub(super) struct Function {
    pub(super) body: Rc<Command>,
    pub(super) origin: Origin,
    /// Whether it was surely defined; otherwise the program of that name may run as well.
    pub(super) certain: bool,
}

/// A variable: one value, several in an array, or several by key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Variable {
    One(Text),
    Many(Vec<Text>),
    Keyed(Vec<(String, Text)>),
}

/// What a script has set up so far. A subshell works on a copy.
#[derive(Debug, Clone, Default)]
pub(super) struct Scope {
    variables: HashMap<String, Variable>,
    /// Variables that stand for others (`declare -n`); an empty name for one that is bound by its first value.
    references: HashMap<String, String>,
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
        if self.references.is_empty() {
            self.variables.get(name)
        } else {
            self.variables.get(self.referred(name))
        }
    }

    /// The variable that a name stands for in the end.
    fn referred<'n>(&'n self, name: &'n str) -> &'n str {
        const FOLLOWED: usize = 8;
        let mut name = name;
        for _ in 0..FOLLOWED {
            match self.references.get(name) {
                Some(target) => name = target,
                None => break,
            }
        }
        name
    }

    /// Lets a name stand for another variable.
    pub(super) fn refer(&mut self, name: &str, target: &Text) {
        let known = target.is_empty() || super::syntax::is_name(&target.text);
        let target = if known { target.text.clone() } else { HOLE.to_string() };
        self.references.insert(name.to_owned(), target);
    }

    /// The variable that a name stands for, if it stands for one.
    pub(super) fn reference(&self, name: &str) -> Option<&str> {
        self.references.get(name).map(String::as_str)
    }

    pub(super) fn unset_reference(&mut self, name: &str) {
        self.references.remove(name);
    }

    /// Sets a variable. In a branch that may not be taken, what was known before may still hold: then neither is sure.
    pub(super) fn set(&mut self, name: &str, value: Variable, certain: bool) {
        let target = self.referred(name).to_owned();
        if target.is_empty() && !name.is_empty() {
            return self.refer(name, &super::expand::join(&value));
        }
        if target.contains(HOLE) {
            // Any variable may have been meant.
            for variable in self.variables.values_mut() {
                *variable = Variable::One(Text::unknown(variable.taint() | value.taint()));
            }
            return;
        }
        let name = target.as_str();
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
        let target = self.referred(name).to_owned();
        self.variables.remove(&target);
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

    /// What a file holds that was written before, from wherever it is named now.
    pub(super) fn file(&self, path: &str) -> Option<&Text> {
        if self.files.is_empty() {
            return None;
        }
        let key = self.file_key(path);
        let found = self.files.get(&key);
        if found.is_some() || !key.starts_with(HOLE) {
            return found;
        }
        // In a folder that is not known it may well be the one of that name.
        let name = key.rsplit('/').next().filter(|name| !name.contains(HOLE))?;
        self.files.iter().find(|(path, _)| path.rsplit('/').next() == Some(name)).map(|(_, content)| content)
    }

    /// Remembers what a file holds from now on.
    pub(super) fn write_file(&mut self, path: &str, content: Text, append: bool) {
        const KEPT: usize = 64;
        let key = self.file_key(path);
        let has_room = self.files.len() < KEPT;
        match self.files.get_mut(&key) {
            Some(before) if append => before.append(&content),
            Some(before) => *before = content,
            None if has_room => {
                self.files.insert(key, content);
            }
            None => {}
        }
    }

    /// `./x`, `x` and, after `cd ..`, `d/x` are the same file.
    fn file_key(&self, path: &str) -> String {
        match path.strip_prefix("/proc/self/fd/") {
            Some(number) => format!("/dev/fd/{number}"),
            None => crate::path::normalise(path, self.directory.as_deref()).into_owned(),
        }
    }

    /// How many bytes a copy takes, about.
    pub(super) fn weight(&self) -> usize {
        let of_variable = |variable: &Variable| match variable {
            Variable::One(text) => text.text.len(),
            Variable::Many(texts) => texts.iter().map(|text| text.text.len() + 32).sum(),
            Variable::Keyed(pairs) => pairs.iter().map(|(key, text)| key.len() + text.text.len() + 64).sum(),
        };
        self.variables.values().map(of_variable).sum::<usize>()
            + self.files.values().map(|content| content.text.len()).sum::<usize>()
    }

    /// What a shell started from here sees: variables and files, no aliases.
    pub(super) fn for_child(&self, positional: Vec<Text>) -> Self {
        // Functions may be exported, or not: then the program of that name runs.
        let exported = |function: &Function| Function { certain: false, ..function.clone() };
        Self {
            variables: self.variables.clone(),
            references: self.references.clone(),
            functions: self.functions.iter().map(|(name, known)| (name.clone(), exported(known))).collect(),
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

impl Variable {
    pub(super) fn taint(&self) -> Taint {
        match self {
            Self::One(text) => text.taint,
            Self::Many(texts) => texts.iter().fold(Taint::NONE, |taint, text| taint | text.taint),
            Self::Keyed(pairs) => pairs.iter().fold(Taint::NONE, |taint, (_, text)| taint | text.taint),
        }
    }
}
