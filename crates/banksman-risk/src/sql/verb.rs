//! What statements do that say it in their first words.

use std::borrow::Cow;

use super::lexer::{Kind, Lexed, Token};
use super::words::{ACTING_PRAGMAS, EXPLAINED, MODIFIERS, PLAIN, TELLING_PRAGMAS, TRANSACTION};
use crate::inspection::Code;

/// A statement, known by its words.
pub(super) struct Known {
    pub(super) verb: Cow<'static, str>,
    pub(super) traits: Vec<&'static str>,
    pub(super) objects: Vec<String>,
    /// What the objects are: `table`, `database`, ...
    pub(super) scheme: &'static str,
    /// The language of its strings, if it runs them.
    pub(super) runs: Option<Code>,
    /// Whether another statement may follow without a semicolon.
    pub(super) open_ended: bool,
}

/// What a statement does, if its words say it.
pub(super) fn known(lexed: &Lexed<'_>, word: &str, tokens: &[Token]) -> Option<Known> {
    let rest = tokens.get(1..).unwrap_or_default();
    let mut known = Known {
        verb: Cow::Borrowed(""),
        traits: Vec::new(),
        objects: Vec::new(),
        scheme: "table",
        runs: None,
        open_ended: false,
    };
    let has = |wanted: &str| rest.iter().any(|token| is(lexed, token, wanted));
    let pair = |first: &str, second: &str| {
        rest.windows(2).any(|two| matches!(two, [a, b] if is(lexed, a, first) && is(lexed, b, second)))
    };
    match word {
        "drop" | "create" | "alter" => {
            let (kind, at) = kind_of_object(lexed, rest)?;
            known.verb = Cow::Owned(format!("{word} {kind}"));
            known.scheme = if kind == "table" { "table" } else { "database" };
            known.objects = objects(lexed, rest.get(at..).unwrap_or_default());
            note(&mut known.traits, "cascade", has("cascade"));
            if word == "alter" {
                note(
                    &mut known.traits,
                    "drop",
                    has("drop") && !pair("drop", "default") && !pair("drop", "not"),
                );
                note(&mut known.traits, "rename", has("rename"));
                note(
                    &mut known.traits,
                    "superuser",
                    has("superuser") || has("createrole") || has("bypassrls") || has("sysadmin"),
                );
                note(
                    &mut known.traits,
                    "unprotected",
                    pair("disable", "trigger") || pair("level", "security") && has("disable"),
                );
            } else if word == "create" {
                note(
                    &mut known.traits,
                    "superuser",
                    has("superuser") || has("createrole") || has("bypassrls"),
                );
                note(
                    &mut known.traits,
                    "untrusted",
                    has("plpythonu")
                        || has("plpython3u")
                        || has("plperlu")
                        || pair("language", "c")
                        || has("soname"),
                );
            }
        }
        "truncate" => {
            known.verb = Cow::Borrowed("truncate");
            let skip = usize::from(rest.first().is_some_and(|token| is(lexed, token, "table")));
            known.objects = objects(lexed, rest.get(skip..).unwrap_or_default());
            note(&mut known.traits, "cascade", has("cascade"));
        }
        "grant" | "revoke" => {
            known.verb = Cow::Owned(word.to_owned());
            note(&mut known.traits, "all", rest.first().is_some_and(|token| is(lexed, token, "all")));
            note(&mut known.traits, "passed_on", pair("grant", "option") || pair("admin", "option"));
            note(&mut known.traits, "public", pair("to", "public"));
            note(&mut known.traits, "role", !has("on"));
        }
        "set" => {
            known.verb = Cow::Borrowed("set");
            set_traits(lexed, rest, &mut known.traits);
        }
        "copy" => {
            known.verb = Cow::Borrowed("copy");
            if has("program") {
                known.traits.push("program");
                known.runs = Some(Code::Shell);
            } else if !has("stdin") && !has("stdout") {
                known.traits.push("file");
            }
            let out = pair("to", "stdout") || rest.iter().any(|token| is(lexed, token, "to"));
            known.traits.push(if out { "out" } else { "in" });
        }
        "load" => {
            let what = rest.first().map(|token| lexed.word(token).to_ascii_lowercase()).unwrap_or_default();
            let data = matches!(what.as_str(), "data" | "xml");
            known.verb = Cow::Borrowed(if data { "load data" } else { "load" });
        }
        "exec" | "execute" | "prepare" => {
            known.verb = Cow::Borrowed(if word == "prepare" { "prepare" } else { "execute" });
            command_traits(lexed, rest, &mut known.traits);
            known.runs = Some(Code::Sql);
            known.open_ended = word != "prepare";
        }
        "call" => {
            known.verb = Cow::Borrowed("call");
            command_traits(lexed, rest, &mut known.traits);
        }
        "do" => {
            known.verb = Cow::Borrowed("do");
            known.runs = Some(Code::Sql);
            known.open_ended = !rest.iter().any(|token| token.kind == Kind::Text);
        }
        "declare" | "if" | "while" | "print" | "use" => {
            known.verb = Cow::Owned(word.to_owned());
            known.open_ended = true;
        }
        "begin" => known.verb = Cow::Borrowed("begin"),
        "pragma" => {
            known.verb = Cow::Borrowed("pragma");
            note(&mut known.traits, "changes", pragma_changes(lexed, rest));
        }
        "bulk" => known.verb = Cow::Borrowed("bulk insert"),
        _ if word.starts_with("xp_") || word.starts_with("sp_") => {
            known.verb = Cow::Borrowed("execute");
            command_traits(lexed, tokens, &mut known.traits);
            known.runs = Some(Code::Sql);
        }
        _ => {
            let plain = PLAIN.iter().find(|plain| **plain == word)?;
            known.verb = Cow::Borrowed(plain);
            note(&mut known.traits, "file", rest.iter().any(|token| token.kind == Kind::Text) && has("into"));
            note(
                &mut known.traits,
                "transaction",
                rest.is_empty() || has("transaction") || has("work") || has("tran"),
            );
            known.open_ended = !matches!(word, "show" | "comment" | "list" | "help");
        }
    }
    Some(known)
}

fn note(traits: &mut Vec<&'static str>, name: &'static str, holds: bool) {
    if holds {
        traits.push(name);
    }
}

fn is(lexed: &Lexed<'_>, token: &Token, word: &str) -> bool {
    token.kind == Kind::Word && lexed.word(token).eq_ignore_ascii_case(word)
}

/// What is made, changed or dropped, and where its name begins.
fn kind_of_object(lexed: &Lexed<'_>, tokens: &[Token]) -> Option<(String, usize)> {
    let mut at = 0;
    loop {
        let token = tokens.get(at)?;
        let word = lexed.word(token).to_ascii_lowercase();
        let next_is_kind = tokens.get(at + 1).is_some_and(|next| {
            [
                "table",
                "view",
                "index",
                "trigger",
                "procedure",
                "function",
                "schema",
                "wrapper",
                "mapping",
                "session",
            ]
            .iter()
            .any(|kind| is(lexed, next, kind))
                || MODIFIERS.iter().any(|modifier| is(lexed, next, modifier))
        });
        // DEFINER = `a`@`b`
        let is_value = matches!(token.kind, Kind::Sign(b'=' | b'@') | Kind::Name);
        let modifies = match word.as_str() {
            // `CREATE USER` makes one; `CREATE EVENT TRIGGER` and `CREATE DEFAULT ...` go on.
            "user" | "event" | "default" | "public" | "constraint" => next_is_kind,
            other => MODIFIERS.contains(&other),
        };
        if (modifies || is_value) && at < 16 {
            at += 1;
            continue;
        }
        if token.kind != Kind::Word {
            return None;
        }
        let mut end = at + 1;
        for skipped in ["concurrently", "if", "not", "exists"] {
            if tokens.get(end).is_some_and(|token| is(lexed, token, skipped)) {
                end += 1;
            }
        }
        return Some((word, end));
    }
}

/// Names up to the first word that is none: `a, b.c` of `a, b.c CASCADE`.
fn objects(lexed: &Lexed<'_>, tokens: &[Token]) -> Vec<String> {
    const KEPT: usize = 16;
    let mut names: Vec<String> = Vec::new();
    let mut joins = false;
    let mut fresh = true;
    for token in tokens {
        match token.kind {
            Kind::Sign(b'.') => joins = true,
            Kind::Sign(b',') => fresh = true,
            Kind::Word | Kind::Name if joins || fresh => {
                let name = lexed.word(token).trim_matches(['"', '`', '[', ']']);
                match names.last_mut() {
                    Some(last) if joins => {
                        last.push('.');
                        last.push_str(name);
                    }
                    _ => names.push(name.to_owned()),
                }
                joins = false;
                fresh = false;
            }
            _ => break,
        }
        if names.len() >= KEPT {
            break;
        }
    }
    names
}

fn set_traits(lexed: &Lexed<'_>, rest: &[Token], traits: &mut Vec<&'static str>) {
    let mut words = rest.iter().map(|token| lexed.word(token).to_ascii_lowercase());
    let first = words.next().unwrap_or_default();
    let second = words.next().unwrap_or_default();
    match (first.as_str(), second.as_str()) {
        ("role", _) | ("session", "authorization") | ("local", "role") => traits.push("role"),
        ("password", _) => traits.push("password"),
        ("global" | "persist" | "persist_only", _) => traits.push("global"),
        (variable, _) if variable.starts_with("@@global") || variable.starts_with("@@persist") => {
            traits.push("global")
        }
        (variable, _) if variable.starts_with('@') && !variable.starts_with("@@") => {
            traits.push("own_variable")
        }
        (
            "names" | "time" | "timezone" | "character" | "charset" | "transaction" | "search_path"
            | "datestyle",
            _,
        )
        | ("session", "characteristics" | "transaction") => traits.push("session_only"),
        _ => {}
    }
}

/// Procedures that run commands or change the server.
fn command_traits(lexed: &Lexed<'_>, rest: &[Token], traits: &mut Vec<&'static str>) {
    for token in rest {
        let word = lexed.word(token).to_ascii_lowercase();
        let word = word.trim_matches(['[', ']', '"', '`']);
        let found = match word {
            "xp_cmdshell"
            | "sp_oacreate"
            | "sp_oamethod"
            | "sp_execute_external_script"
            | "sys_exec"
            | "sys_eval" => "command",
            "sp_configure"
            | "sp_addsrvrolemember"
            | "sp_addrolemember"
            | "sp_addlogin"
            | "xp_regwrite"
            | "sp_password"
            | "sp_addlinkedserver"
            | "sp_makestartup"
            | "sp_procoption"
            | "sp_addextendedproc"
            | "sp_dropserver"
            | "sp_detach_db"
            | "sp_add_job"
            | "sp_start_job" => "server",
            _ => continue,
        };
        if !traits.contains(&found) {
            traits.push(found);
        }
    }
}

/// Whether a pragma changes something: it is given a value, and it is not one that only tells.
fn pragma_changes(lexed: &Lexed<'_>, rest: &[Token]) -> bool {
    // `schema.name`
    let at = if rest.get(1).is_some_and(|token| token.kind == Kind::Sign(b'.')) { 2 } else { 0 };
    let name = rest.get(at).map(|token| lexed.word(token).to_ascii_lowercase()).unwrap_or_default();
    let valued = rest.len() > at + 1;
    (valued && !TELLING_PRAGMAS.contains(&name.as_str())) || ACTING_PRAGMAS.contains(&name.as_str())
}

/// Whether a `BEGIN` begins a transaction, and no block.
pub(super) fn begins_transaction(lexed: &Lexed<'_>, rest: &[Token]) -> bool {
    rest.first().is_none_or(|token| TRANSACTION.iter().any(|word| is(lexed, token, word)))
}

/// Whether `SELECT ... INTO OUTFILE` or `DUMPFILE` is in it.
pub(super) fn writes_file(lexed: &Lexed<'_>, tokens: &[Token]) -> bool {
    tokens.windows(2).any(|two| {
        matches!(two, [into, file] if is(lexed, into, "into") && (is(lexed, file, "outfile") || is(lexed, file, "dumpfile")))
    })
}

/// Whether an `EXPLAIN` runs what it explains, and where that begins.
pub(super) fn runs_what_it_explains(lexed: &Lexed<'_>, tokens: &[Token]) -> (bool, usize) {
    let mut runs = false;
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        if is(lexed, token, "analyze") || is(lexed, token, "analyse") {
            let off = tokens.get(at + 1).is_some_and(|next| {
                ["false", "off", "0"].iter().any(|word| is(lexed, next, word))
                    || (next.kind == Kind::Text && matches!(lexed.word(next), "'false'" | "'off'" | "'0'"))
            });
            runs = !off;
        } else {
            // In brackets, what is explained is the query inside; options are in brackets too.
            let inner = if token.kind == Kind::Sign(b'(') { tokens.get(at + 1) } else { Some(token) };
            if inner.is_some_and(|inner| EXPLAINED.iter().any(|word| is(lexed, inner, word))) {
                return (runs, at);
            }
        }
        at += 1;
    }
    (runs, at)
}
