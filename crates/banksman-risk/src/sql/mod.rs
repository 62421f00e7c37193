//! Reads SQL: what each statement does, in whatever dialect it is written.
//!
//! A lexer of our own splits the text, because databases disagree on comments and strings and that is where things
//! hide. Queries and changes of rows are parsed; what they do depends on their structure. Everything else (`DROP`,
//! `GRANT`, `SET`) says in its first words what it does, and is read from them. What no dialect can parse is scanned
//! for anything that changes something.

mod client;
mod functions;
mod lexer;
mod query;
mod scan;
mod truth;
mod unicode;
mod verb;
mod words;

use std::borrow::Cow;

use banksman_core::Span;

use crate::fact::{Access, Fact, Statement, Word};
use crate::inspection::{Code, Inspection, steps};
use crate::origin::Origin;
use crate::{address, path};

use lexer::{Kind, Lexed, Reading, Token};

/// States what a text would do.
pub(crate) fn inspect(inspection: &mut Inspection<'_>, text: &str, origin: Origin) {
    let lexed = Lexed::of(text, Reading::Standard);
    let mut understood = read_statements(inspection, &lexed, origin);
    // It is enough that one way of reading makes sense; what the others would do is stated all the same.
    if lexed.ambiguous {
        understood |= read_statements(inspection, &Lexed::of(text, Reading::Mysql), origin);
    }
    // For a client, some lines are its own; for a server they may be the inside of a string.
    if let Cow::Owned(server_text) = client::take_commands(inspection, text, origin) {
        understood |= read_statements(inspection, &Lexed::of(&server_text, Reading::Standard), origin);
    }
    if let Cow::Owned(spelled) = unicode::spelled_out(text) {
        let derived = origin.derived(0..text.len());
        understood |= read_statements(inspection, &Lexed::of(&spelled, Reading::Standard), derived);
    }
    let whole = origin.span(0..text.len());
    if !understood {
        inspection.signal("sql_syntax", whole);
    }
    if lexed.tokens.is_empty() && !text.trim().is_empty() {
        inspection.signal("unreadable", whole);
    }
}

/// States what all statements do. `false`: one of them could not be understood.
fn read_statements(inspection: &mut Inspection<'_>, lexed: &Lexed<'_>, origin: Origin) -> bool {
    let mut understood = !lexed.unfinished;
    if let Some(range) = &lexed.executable_comment {
        let mut reader = Reader { inspection, lexed, origin, span: origin.span(range.clone()) };
        reader.state(Cow::Borrowed("executable comment"), Vec::new(), Vec::new());
    }
    for tokens in lexed.statements() {
        let (Some(first), Some(last)) = (tokens.first(), tokens.last()) else { continue };
        let span = origin.span(first.start..last.end);
        if !inspection.spend(16 + steps(tokens.len()), span) {
            return understood;
        }
        if lexed.word(first).contains(Word::HOLE) {
            inspection.signal("computed_code", span);
        }
        let mut reader = Reader { inspection, lexed, origin, span };
        understood &= reader.read(tokens);
    }
    understood
}

/// Reads one statement.
struct Reader<'r, 'c, 't> {
    inspection: &'r mut Inspection<'c>,
    lexed: &'r Lexed<'t>,
    origin: Origin,
    span: Span,
}

impl<'t> Reader<'_, '_, 't> {
    /// States what a statement does. `false`: it could not be understood.
    fn read(&mut self, tokens: &[Token]) -> bool {
        let mut tokens = tokens;
        loop {
            let Some(first) = tokens.first() else { return true };
            let word = self.lexed.word(first).to_ascii_lowercase();
            let rest = tokens.get(1..).unwrap_or_default();
            match word.as_str() {
                "explain" | "describe" | "desc" => match self.explained(rest) {
                    Some(inner) => tokens = inner,
                    None => return true,
                },
                // `TABLE users` is `SELECT * FROM users`, which few dialects parse.
                "table" => {
                    self.state(Cow::Borrowed("select"), Vec::new(), Vec::new());
                    scan::state_everything(self, rest);
                    return true;
                }
                "begin" if !verb::begins_transaction(self.lexed, rest) => tokens = rest,
                "else" | "then" | "loop" => tokens = rest,
                "select" | "with" | "values" | "from" | "insert" | "update" | "delete" | "merge"
                | "replace" | "(" => {
                    return self.read_rows(&word, tokens);
                }
                _ => return self.read_verb(&word, tokens),
            }
        }
    }

    /// What is run to be explained, if anything: only `EXPLAIN ANALYZE` runs it.
    fn explained<'k>(&mut self, tokens: &'k [Token]) -> Option<&'k [Token]> {
        let (runs, at) = verb::runs_what_it_explains(self.lexed, tokens);
        self.state(Cow::Borrowed("explain"), Vec::new(), Vec::new());
        if runs { tokens.get(at..) } else { None }
    }

    /// A query, or a change of rows.
    fn read_rows(&mut self, word: &str, tokens: &[Token]) -> bool {
        let file = verb::writes_file(self.lexed, tokens);
        if file {
            self.state(Cow::Borrowed("select"), vec!["file"], Vec::new());
        }
        let Some(found) = query::parse(&self.lexed.plain, tokens) else {
            scan::state_everything(self, tokens);
            // What is known to write a file is understood well enough; no dialect has all of MySQL's options.
            return file
                || matches!(word, "insert" | "replace" | "update" | "delete" | "merge")
                    && !self.has_loose_ends(tokens);
        };
        for (verb, traits, objects) in found.statements {
            self.state(Cow::Borrowed(verb), traits, objects);
        }
        // What stands for a part that is not known is one letter long.
        for table in found.relations.iter().filter(|table| table.len() > 1 || self.lexed.is_known(tokens)) {
            self.inspection.touch("table", table);
        }
        for table in &found.relations {
            // DuckDB reads what is named like a file or an address.
            let source = table.trim_matches(['"', '\'', '`']);
            if is_remote(source) {
                self.read_from(source);
            }
        }
        for function in &found.functions {
            self.call(function, tokens);
            self.note_unknown(function);
        }
        true
    }

    /// Whether a change of rows that no dialect parses has a second statement in it.
    fn has_loose_ends(&self, tokens: &[Token]) -> bool {
        scan::count(self, tokens) > 1
    }

    /// A statement that says in its first words what it does.
    fn read_verb(&mut self, word: &str, tokens: &[Token]) -> bool {
        let Some(known) = verb::known(self.lexed, word, tokens) else {
            scan::state_everything(self, tokens);
            return false;
        };
        for object in &known.objects {
            self.inspection.touch(known.scheme, object);
        }
        self.state(known.verb, known.traits, known.objects);
        if let Some(language) = known.runs {
            self.read_strings(language, tokens);
        }
        // A statement without a semicolon before it (T-SQL) hides behind the first one.
        if known.open_ended {
            scan::state_everything(self, tokens.get(1..).unwrap_or_default());
        }
        true
    }

    /// A function is called.
    fn call(&mut self, name: &str, tokens: &[Token]) {
        let name = unquoted(name).to_ascii_lowercase();
        let last = name.rsplit('.').next().unwrap_or_default();
        let passes_query = matches!(
            last,
            "openquery"
                | "openrowset"
                | "opendatasource"
                | "dblink"
                | "dblink_exec"
                | "dblink_send_query"
                | "query_to_xml"
        );
        // T-SQL takes nothing but a string here; with a column for an argument it is somebody's own function.
        if last.starts_with("open") && passes_query && !tokens.iter().any(|token| token.kind == Kind::Text) {
            return;
        }
        self.state(Cow::Owned(format!("function {last}")), Vec::new(), Vec::new());
        if last.len() < name.len() {
            self.state(Cow::Owned(format!("function {name}")), Vec::new(), Vec::new());
        }
        if passes_query {
            self.read_strings(Code::Sql, tokens);
        }
        if functions::reads_from_elsewhere(last) {
            for token in tokens.iter().filter(|token| token.kind == Kind::Text) {
                let (source, _) = self.lexed.content(token);
                self.read_from(&source);
            }
        }
    }

    /// A function that neither came with the database nor is judged by name: it may do anything.
    fn note_unknown(&mut self, name: &str) {
        let written = unquoted(name);
        let name = written.to_ascii_lowercase();
        let last = name.rsplit('.').next().unwrap_or_default();
        let is_judged = |name: &str| self.inspection.catalogue().names_statement(&format!("function {name}"));
        let is_known = functions::is_harmless(&name) || functions::reads_from_elsewhere(&name);
        if is_known || is_judged(&name) || is_judged(last) {
            return;
        }
        let traits = if functions::says_change(written.rsplit('.').next().unwrap_or_default()) {
            vec!["changing"]
        } else {
            Vec::new()
        };
        self.state(Cow::Borrowed("unknown function"), traits, vec![name]);
    }

    /// Data comes from an address or a file.
    fn read_from(&mut self, source: &str) {
        if !self.inspection.spend(16, self.span) {
            return;
        }
        let word = Word::known(source.to_owned(), self.span);
        if is_remote(source) {
            self.state(Cow::Borrowed("fetch address"), Vec::new(), Vec::new());
            address::state(self.inspection, None, false, word);
        } else if source.contains(['/', '.', '\\']) {
            path::state(self.inspection, Access::Read, word);
        }
    }

    /// Reads the strings of a statement as code.
    fn read_strings(&mut self, language: Code, tokens: &[Token]) {
        for token in tokens.iter().filter(|token| token.kind == Kind::Text) {
            let (text, place) = self.lexed.content(token);
            if language == Code::Sql && !scan::is_statement(&text) {
                continue;
            }
            if !self.inspection.spend(16, self.span) {
                return;
            }
            let origin = match place {
                Some(range) => self.origin.verbatim(range),
                None => self.origin.derived(token.start..token.end),
            };
            self.inspection.read(language, &text, origin);
        }
    }

    fn state(&mut self, verb: Cow<'_, str>, traits: Vec<&'static str>, objects: Vec<String>) {
        let objects = objects.into_iter().map(Cow::Owned).collect();
        self.inspection
            .state(&Fact::Statement(Statement { verb, traits, objects, span: self.span }), self.span);
    }
}

/// Whether data that is named so comes from elsewhere: `https://…`, `s3://…`.
fn is_remote(source: &str) -> bool {
    source.split_once("://").is_some_and(|(scheme, _)| {
        !scheme.is_empty()
            && scheme.bytes().all(|b| b.is_ascii_alphanumeric())
            && !scheme.eq_ignore_ascii_case("file")
    })
}

/// A name without its quotes.
fn unquoted(name: &str) -> String {
    name.replace(['"', '`', '[', ']'], "")
}
