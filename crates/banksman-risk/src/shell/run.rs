//! Walks through a script as the shell would.

use std::rc::Rc;

use banksman_core::Span;

use super::redirect::Target;
use super::scope::{Function, Scope, Variable};
use super::syntax::{self, Assignment, Command, CommandKind, Item, Link, Part, Script};
use super::value::{CARRIED_PER_STEP, Field, Taint, Text};
use crate::inspection::Inspection;
use crate::origin::Origin;

/// Commands inside commands that are followed, over all texts: bounds the stack.
const NESTING: u16 = 96;

/// Values of a `for` loop that are tried one by one.
const TRIED: usize = 8;

/// Steps that it takes to get to a command, and those to run a program: setting up, expanding, looking up.
const COMMAND: usize = 12;
pub(super) const PROGRAM: usize = 16;

/// A walk through one script, and the scripts inside it.
pub(super) struct Runner<'i, 'c> {
    pub(super) inspection: &'i mut Inspection<'c>,
    pub(super) scope: Scope,
    pub(super) origin: Origin,
    /// The functions and aliases that are being run.
    pub(super) calls: Vec<Call>,
    /// Whether what runs now may also not run.
    pub(super) uncertain: bool,
    /// Whether what runs now runs beside something else: in a pipe or in the background.
    pub(super) beside: bool,
    /// Whether the text is no well-formed shell: then a word may hold more than was meant.
    pub(super) broken: bool,
}

/// A function or an alias that is being run.
#[derive(Debug)]
pub(super) enum Call {
    Function(Rc<Command>),
    Alias(String),
}

impl PartialEq for Call {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Function(one), Self::Function(other)) => Rc::ptr_eq(one, other),
            (Self::Alias(one), Self::Alias(other)) => one == other,
            (Self::Function(_), Self::Alias(_)) | (Self::Alias(_), Self::Function(_)) => false,
        }
    }
}

/// A program that is about to run.
#[derive(Debug, Clone)]
pub(super) struct Invocation {
    /// The program and its arguments.
    pub(super) fields: Vec<Field>,
    /// Variables that are set for it.
    pub(super) env: Vec<(String, Text)>,
    /// What it reads from its standard input.
    pub(super) stdin: Text,
    pub(super) span: Span,
}

impl<'i, 'c> Runner<'i, 'c> {
    pub(super) fn new(inspection: &'i mut Inspection<'c>, origin: Origin) -> Self {
        Self {
            inspection,
            scope: Scope::default(),
            origin,
            calls: Vec::new(),
            uncertain: false,
            beside: false,
            broken: false,
        }
    }

    /// Reads a whole text; its output is what the text would print.
    pub(super) fn text(&mut self, text: &str, stdin: &Text) -> Text {
        if text.trim_start().starts_with("{\"") {
            // Some hand the whole tool call where the command belongs.
            crate::tool::inspect_misplaced(self.inspection, text);
        }
        let script = syntax::parse(text);
        let whole = self.origin.span(0..text.len());
        if script.too_deep {
            self.inspection.signal("too_deep", whole);
        }
        if let Some(at) = script.broken {
            let span = self.origin.span(at.min(text.len())..text.len());
            self.inspection.signal("shell_syntax", span);
        }
        if is_powershell(&script) {
            let origin = self.origin;
            super::code::read_powershell(self, text, origin);
        }
        let outer = std::mem::replace(&mut self.broken, script.broken.is_some());
        let output = self.script(&script, stdin);
        self.broken = outer;
        output
    }

    /// Takes steps of work; when there are none left, everything else is passed over (and the action is high).
    pub(super) fn spend(&mut self, steps: usize) -> bool {
        let at = self.origin.span(0..0);
        self.inspection.has_work_left() && self.inspection.spend(crate::inspection::steps(steps), at)
    }

    pub(super) fn script(&mut self, script: &Script, stdin: &Text) -> Text {
        let mut output = Text::default();
        let at = self.origin.span(0..0);
        if !self.descend(at) {
            return output;
        }
        for item in &script.items {
            if !self.spend(COMMAND) {
                break;
            }
            let printed = self.item(item, stdin);
            output.append(&printed);
        }
        self.ascend();
        output
    }

    /// Goes a step deeper, if it may; otherwise the action is high. Whoever does has to [`ascend`](Self::ascend).
    pub(super) fn descend(&mut self, at: Span) -> bool {
        if self.inspection.nesting >= NESTING {
            self.inspection.signal("too_deep", at);
            return false;
        }
        self.inspection.nesting += 1;
        true
    }

    /// Comes back from a step deeper.
    pub(super) fn ascend(&mut self) {
        self.inspection.nesting = self.inspection.nesting.saturating_sub(1);
    }

    /// A copy of what is set up, to go back to; copying it is work.
    fn copied_scope(&mut self) -> Scope {
        let weight = self.scope.weight();
        self.spend(weight / CARRIED_PER_STEP);
        self.scope.clone()
    }

    /// Runs a script on a copy of what is set up.
    pub(super) fn subshell(&mut self, script: &Script, stdin: Text) -> Text {
        let outer = self.copied_scope();
        let output = self.script(script, &stdin);
        self.scope.restore_keeping_files(outer);
        output
    }

    /// Runs something that may also not run.
    fn perhaps<T>(&mut self, run: impl FnOnce(&mut Self) -> T) -> T {
        let outer = std::mem::replace(&mut self.uncertain, true);
        let result = run(self);
        self.uncertain = outer;
        result
    }

    fn item(&mut self, item: &Item, stdin: &Text) -> Text {
        let outer_beside = self.beside;
        self.beside |= item.background || item.commands.len() > 1;
        let output = match item.link {
            // `x && y`: y usually runs, and a script that goes on relies on it.
            Link::Always | Link::And => self.pipeline(item, stdin),
            Link::Or => self.perhaps(|runner| runner.pipeline(item, stdin)),
        };
        self.beside = outer_beside;
        output
    }

    fn pipeline(&mut self, item: &Item, stdin: &Text) -> Text {
        if let [command] = item.commands.as_slice() {
            return self.command(command, stdin);
        }
        // Each command of a pipe runs in a shell of its own; only files outlive it.
        let outer = self.copied_scope();
        let mut stream = stdin.clone();
        for command in &item.commands {
            stream = self.command(command, &stream);
        }
        self.scope.restore_keeping_files(outer);
        stream
    }

    pub(super) fn command(&mut self, command: &Command, stdin: &Text) -> Text {
        let redirected = self.redirections(&command.redirections);
        let input = redirected.stdin.as_ref().unwrap_or(stdin);
        let output = match &command.kind {
            CommandKind::Simple { assignments, words } => {
                self.simple(command, assignments, words, input, &redirected.targets)
            }
            CommandKind::Group(script) => self.script(script, input),
            CommandKind::Subshell(script) => self.subshell(script, input.clone()),
            CommandKind::If { branches, otherwise } => self.branches(branches, otherwise.as_ref(), input),
            CommandKind::Loop { condition, body } => {
                let mut output = self.script(condition, input);
                let printed = self.perhaps(|runner| runner.script(body, input));
                output.append(&printed);
                output
            }
            CommandKind::For { name, values, body } => self.for_loop(name, values.as_deref(), body, input),
            CommandKind::Count { header, body } => {
                let header = self.text_of(&header.parts);
                self.arithmetic(&header.text);
                self.perhaps(|runner| runner.script(body, input))
            }
            CommandKind::Case { subject, arms } => {
                self.text_of(&subject.parts);
                let mut output = Text::default();
                for (patterns, body) in arms {
                    for pattern in patterns {
                        self.text_of(&pattern.parts);
                    }
                    let printed = self.perhaps(|runner| runner.script(body, input));
                    output.append(&printed);
                }
                output
            }
            CommandKind::Function { name, body } => {
                let function =
                    Function { body: Rc::clone(body), origin: self.origin, certain: !self.uncertain };
                self.scope.define(name, function);
                Text::default()
            }
            CommandKind::Test(words) => {
                for word in words {
                    let text = self.text_of(&word.parts);
                    self.arithmetic(&text.text);
                }
                Text::default()
            }
        };
        self.deliver(output, &redirected.targets)
    }

    fn branches(&mut self, branches: &[(Script, Script)], otherwise: Option<&Script>, input: &Text) -> Text {
        let mut output = Text::default();
        for (condition, body) in branches {
            let printed = self.script(condition, input);
            output.append(&printed);
            let printed = self.perhaps(|runner| runner.script(body, input));
            output.append(&printed);
        }
        if let Some(body) = otherwise {
            let printed = self.perhaps(|runner| runner.script(body, input));
            output.append(&printed);
        }
        output
    }

    fn for_loop(&mut self, name: &str, values: Option<&[syntax::Word]>, body: &Script, input: &Text) -> Text {
        let mut values: Vec<Text> = match values {
            Some(words) => self.fields(words).iter().map(Field::as_text).collect(),
            None => self.scope.positional.clone().unwrap_or_else(|| vec![Text::unknown(Taint::NONE)]),
        };
        if values.len() > TRIED {
            let taint = values.iter().fold(Taint::NONE, |taint, value| taint | value.taint);
            values.truncate(TRIED);
            values.push(Text::unknown(taint));
        }
        let mut output = Text::default();
        for value in values {
            if self.scope.reference(name).is_some() {
                self.scope.refer(name, &value);
            } else {
                self.scope.set(name, Variable::One(value), true);
            }
            let printed = self.perhaps(|runner| runner.script(body, input));
            output.append(&printed);
        }
        output
    }

    fn simple(
        &mut self,
        command: &Command,
        assignments: &[Assignment],
        words: &[syntax::Word],
        input: &Text,
        targets: &[Target],
    ) -> Text {
        let (words, arrays) = self.declared_arrays(words);
        let mut fields = Vec::with_capacity(words.len());
        for words in words {
            fields.extend(self.fields(words));
        }
        let mut env = self.scope.exported.clone();
        for assignment in assignments {
            let value = self.assigned(assignment);
            if fields.is_empty() {
                self.prompt(&assignment.name, &value);
                self.scope.set(&assignment.name, value, !self.uncertain);
            } else {
                env.push((assignment.name.clone(), super::expand::join(&value)));
            }
        }
        if fields.is_empty() {
            // `> file` alone, or `$(...)` that printed nothing.
            return Text::default();
        }
        let span = self.origin.span(command.range.clone());
        self.connects(&fields, targets, span);
        let output = self.invoke(Invocation { fields, env, stdin: input.clone(), span });
        for (name, value) in arrays {
            self.scope.set(name, value, !self.uncertain);
        }
        output
    }

    /// `declare -A m=(...)`: the arrays that are declared, and the other words around them.
    fn declared_arrays<'w>(
        &mut self,
        words: &'w [syntax::Word],
    ) -> (Vec<&'w [syntax::Word]>, Vec<(&'w str, Variable)>) {
        let declares = words.first().and_then(syntax::Word::plain).is_some_and(super::builtin::declares);
        let mut arrays = Vec::new();
        let mut others = Vec::new();
        let mut from = 0;
        for (at, word) in words.iter().enumerate().filter(|_| declares) {
            let [Part::Literal(name), Part::Array(elements)] = word.parts.as_slice() else { continue };
            let value = self.array(elements);
            // What is added to is not known here.
            let value = match name.strip_suffix("+=") {
                Some(_) => Variable::One(Text::unknown(value.taint())),
                None => value,
            };
            arrays.push((name.trim_end_matches(['=', '+']), value));
            others.extend(words.get(from..at));
            from = at + 1;
        }
        others.extend(words.get(from..));
        (others, arrays)
    }

    /// The value that an assignment gives.
    fn assigned(&mut self, assignment: &Assignment) -> Variable {
        let value = match assignment.value.parts.as_slice() {
            [Part::Array(words)] => self.array(words),
            _ => {
                let field = self.value(&assignment.value);
                Variable::One(field.as_text())
            }
        };
        if assignment.indexed {
            return Variable::One(Text::unknown(value.taint()));
        }
        if !assignment.append {
            return value;
        }
        match (self.scope.variable(&assignment.name).cloned(), value) {
            (Some(Variable::Many(mut before)), Variable::Many(more)) => {
                before.extend(more);
                Variable::Many(before)
            }
            (Some(Variable::One(mut before)), Variable::One(more)) => {
                before.append(&more);
                Variable::One(before)
            }
            (None, value) => value,
            (Some(before), value) => Variable::One(Text::unknown(before.taint() | value.taint())),
        }
    }
}

/// Whether a program of a text is one that only PowerShell has: then it is read as that as well.
fn is_powershell(script: &Script) -> bool {
    script.items.iter().flat_map(|item| &item.commands).any(|command| match &command.kind {
        CommandKind::Simple { words, .. } => {
            words.first().and_then(syntax::Word::plain).is_some_and(super::code::is_cmdlet)
        }
        _ => false,
    })
}
