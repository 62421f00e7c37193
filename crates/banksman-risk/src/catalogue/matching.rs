//! Whether a fact is what a rule is about.

use super::options::Arguments;
use super::pattern::{TextPattern, glob_knows};
use super::rule::{
    CallPattern, CommandPattern, PathPattern, ProgramSpec, StatementPattern, ToolPattern, UrlPattern,
};
use crate::address::{Target, plain_path};
use crate::fact::{Call, Command, PathUse, Statement, ToolUse, UrlUse};
use crate::path::Places;

impl CommandPattern {
    /// Whether a command is what this is about. That its program is one of those named was asked before.
    pub(super) fn knows(
        &self,
        command: &Command<'_>,
        arguments: &Arguments<'_, '_>,
        spec: &ProgramSpec,
    ) -> bool {
        let style = spec.style;
        let operand = |patterns: &[TextPattern]| {
            arguments.operands.iter().any(|word| TextPattern::any_knows(patterns, word))
        };
        let argument =
            |patterns: &[TextPattern]| command.args.iter().any(|word| TextPattern::any_knows(patterns, word));
        let places = || {
            // A pattern that is given by an option leaves no pattern among the operands.
            let given = |name: &&str| arguments.has(name, style);
            let skip = if spec.skip > 0 && PATTERN_OPTIONS.iter().any(given) { 0 } else { spec.skip };
            let paths = arguments.operands.iter().skip(skip);
            paths.map(|word| Places::of(&word.text, command.base.as_deref()))
        };
        let count = arguments.operands.len();
        (self.subcommand.is_empty() || self.subcommand.iter().any(|path| subcommand_is(path, arguments)))
            && (self.any_flag.is_empty() || arguments.has_any(&self.any_flag, style))
            && self.all_flags.iter().all(|group| arguments.has_any(group, style))
            && !arguments.has_surely(&self.no_flag, style)
            && self.option.iter().all(|(names, patterns)| {
                names.split('|').any(|name| {
                    arguments
                        .values_of(name, style)
                        .any(|value| patterns.iter().any(|pattern| pattern.knows(value.text())))
                })
            })
            && (self.operand.is_empty() || operand(&self.operand))
            && (self.no_operand.is_empty() || !operand(&self.no_operand))
            && self.min_operands.is_none_or(|least| count >= least)
            && self.max_operands.is_none_or(|most| count <= most)
            && self.min_after_dashes.is_none_or(|least| arguments.after_dashes >= least)
            && (self.argument.is_empty() || argument(&self.argument))
            && (self.no_argument.is_empty() || !argument(&self.no_argument))
            && self.env.iter().all(|(name, patterns)| {
                command
                    .env
                    .iter()
                    .any(|(set, value)| glob_knows(name, set) && TextPattern::any_knows(patterns, value))
            })
            && (self.place.is_empty() || places().any(|found| found.has_any(&self.place)))
            && (self.place_other_than.is_empty()
                || places().any(|found| !found.has_any(&self.place_other_than)))
    }
}

const PATTERN_OPTIONS: &[&str] = &["-e", "--regexp", "--expression", "-f", "--file"];

/// Whether `stash drop` is what was called; a `*` stands for anything in one word, `**` for any number of words.
fn subcommand_is(path: &str, arguments: &Arguments<'_, '_>) -> bool {
    let called = arguments.subcommand.as_slice();
    let fits = |path: &str, called: &[&str]| {
        let mut called = called.iter();
        path.split(' ').all(|wanted| called.next().is_some_and(|word| word_is(wanted, word)))
    };
    match path.strip_prefix("** ") {
        Some(end) => (0..called.len()).any(|from| called.get(from..).is_some_and(|rest| fits(end, rest))),
        None => fits(path, called),
    }
}

fn word_is(wanted: &str, word: &str) -> bool {
    if wanted.contains('*') { glob_knows(wanted, word) } else { wanted.eq_ignore_ascii_case(word) }
}

impl CallPattern {
    pub(super) fn knows(&self, call: &Call<'_>) -> bool {
        self.language.is_none_or(|language| language == call.language)
            && self.function.iter().any(|pattern| pattern.knows(&call.function))
            && (self.argument.is_empty()
                || call.args.iter().any(|word| TextPattern::any_knows(&self.argument, word)))
            && self.keyword.iter().all(|(name, patterns)| {
                call.keywords
                    .iter()
                    .any(|(given, value)| given == name && TextPattern::any_knows(patterns, value))
            })
            && !call.keywords.iter().any(|(given, _)| self.no_keyword.iter().any(|name| given == name))
    }
}

impl StatementPattern {
    pub(super) fn knows(&self, statement: &Statement<'_>) -> bool {
        let has = |name: &String| statement.traits.iter().any(|given| given == name);
        self.verb.iter().any(|pattern| pattern.knows(&statement.verb))
            && self.traits.iter().all(has)
            && !self.no_trait.iter().any(has)
            && (self.object.is_empty()
                || statement.objects.iter().any(|object| self.object.iter().any(|p| p.knows(object))))
    }
}

impl PathPattern {
    pub(super) fn knows(&self, path: &PathUse<'_>, places: &Places, normal: &str) -> bool {
        (self.access.is_empty() || self.access.contains(&path.access))
            && (self.place.is_empty() || places.has_any(&self.place))
            && !places.has_any(&self.no_place)
            && (self.path.is_empty() || self.path.iter().any(|pattern| pattern.knows(normal)))
    }
}

impl UrlPattern {
    pub(super) fn knows(&self, url: &UrlUse<'_>, target: &Target) -> bool {
        (self.direction.is_empty() || self.direction.contains(&url.direction))
            && (self.method.is_empty()
                || url
                    .method
                    .as_deref()
                    .is_some_and(|method| self.method.iter().any(|wanted| wanted == method)))
            && (self.scheme.is_empty() || self.scheme.contains(&target.scheme))
            && (self.host.is_empty() || self.host.iter().any(|pattern| pattern.knows(&target.host)))
            && (self.reach.is_empty() || self.reach.contains(&target.reach))
            && !self.no_reach.contains(&target.reach)
            && (self.path.is_empty() || self.knows_path(&target.path))
            && (!self.password || target.password)
    }

    /// As it is written, or as a server understands it.
    fn knows_path(&self, path: &str) -> bool {
        let plain = plain_path(path);
        self.path.iter().any(|pattern| pattern.knows(path) || pattern.knows(&plain))
    }
}

impl ToolPattern {
    fn has_word(&self, name: &str) -> bool {
        let mut suppressed = false;
        crate::tool::words(name).any(|word| {
            // `get_and_delete` does both.
            if matches!(word.as_str(), "and" | "then" | "or") {
                suppressed = false;
            }
            suppressed |= self.not_after.contains(&word);
            !suppressed && self.word.contains(&word)
        })
    }

    pub(super) fn knows(&self, tool: &ToolUse<'_>) -> bool {
        (self.name.is_empty() || self.name.iter().any(|pattern| pattern.knows(&tool.name)))
            && (self.word.is_empty() || self.has_word(&tool.name))
            && (self.hint.is_empty()
                || tool.hints.iter().any(|hint| self.hint.iter().any(|wanted| wanted == hint)))
    }
}
