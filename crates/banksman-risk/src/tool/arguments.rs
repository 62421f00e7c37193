//! What the arguments of a tool are, by their names: code, statements, paths, URLs.

use banksman_core::json::Json;

use super::texts::{Manner, Reader, begins_as_sql, object_in};
use super::{DEPTH, NOWHERE, patch, state_path, step_into, words};
use crate::fact::{Access, Word};
use crate::inspection::Code;
use crate::origin::Origin;
use crate::{address, path};

/// What a tool's name says about what it does with its arguments.
struct Tool {
    words: Vec<String>,
}

impl Tool {
    fn named(name: &str) -> Self {
        Self { words: words(name).take(16).collect() }
    }

    fn has(&self, any: &[&str]) -> bool {
        self.words.iter().any(|word| any.contains(&word.as_str()))
    }

    /// What it does with a path, from the first verb in its name that says so.
    fn accesses(&self, args: &Json) -> &'static [Access] {
        let first = self.words.iter().find_map(|word| match word.as_str() {
            // Names and sizes are no content.
            "list" | "ls" | "stat" | "exists" | "tree" | "info" | "metadata" | "watch" => Some(&[][..]),
            "search" | "grep" | "find" | "analyze" | "parse" | "summarize" | "upload" | "send" | "attach"
            | "index" => Some(&[Access::Read][..]),
            "download" | "export" | "screenshot" | "mkdir" => Some(&[Access::Write][..]),
            verb => path::access_named(verb),
        });
        let recursive = self.has(&["directory", "dir", "folder", "tree", "recursive", "rf"])
            || matches!(args.get("recursive"), Some(Json::Bool(true)));
        match first {
            Some([Access::Delete]) if recursive => &[Access::DeleteTree],
            Some(accesses) => accesses,
            None => path::UNSAID,
        }
    }

    /// The language of an argument called `code`.
    fn language(&self, args: &Json) -> Option<Code> {
        let said =
            ["language", "lang", "runtime", "interpreter"].iter().find_map(|name| args.get(name)?.as_str());
        let by_word = |word: &str| match word {
            "python" | "py" | "python3" | "ipython" | "jupyter" | "notebook" | "pandas" => Some(Code::Python),
            "javascript" | "js" | "node" | "nodejs" | "deno" | "bun" | "typescript" | "ts" | "evaluate"
            | "page" | "browser" => Some(Code::Javascript),
            "bash" | "sh" | "shell" | "zsh" | "terminal" | "cmd" => Some(Code::Shell),
            "sql" | "postgres" | "postgresql" | "mysql" | "sqlite" | "mssql" | "duckdb" | "snowflake"
            | "bigquery" => Some(Code::Sql),
            _ => None,
        };
        if let Some(said) = said {
            return words(said).find_map(|word| by_word(&word));
        }
        self.words.iter().find_map(|word| by_word(word)).or_else(|| {
            // Code that runs in no language that is named is mostly Python.
            self.has(&["run", "exec", "execute", "eval", "interpreter", "sandbox", "repl"])
                .then_some(Code::Python)
        })
    }

    /// The language of what it runs, if its name says so: then there is code among its arguments, whatever they are called.
    fn runs(&self) -> Option<Code> {
        let starts = self.has(&["run", "execute", "start", "spawn", "launch"]);
        if self.has(&["sql", "psql"]) {
            Some(Code::Sql)
        } else if self.has(&["python", "ipython"]) {
            Some(Code::Python)
        } else if self.has(&["javascript", "js"]) {
            Some(Code::Javascript)
        } else if self.has(&[
            "bash",
            "sh",
            "zsh",
            "ksh",
            "shell",
            "terminal",
            "cmd",
            "exec",
            "powershell",
            "pwsh",
        ]) || (starts && self.has(&["command", "commands", "process", "program"]))
        {
            Some(Code::Shell)
        } else {
            None
        }
    }

    /// Whether it looks at what runs, or ends it, and starts nothing.
    fn looks_on(&self) -> bool {
        self.has(&[
            "get", "list", "read", "show", "view", "output", "status", "history", "last", "wait", "kill",
            "stop", "close", "resize",
        ])
    }

    fn speaks_sql(&self) -> bool {
        self.has(&[
            "sql",
            "db",
            "database",
            "postgres",
            "postgresql",
            "pg",
            "mysql",
            "mariadb",
            "sqlite",
            "mssql",
            "oracle",
            "snowflake",
            "bigquery",
            "redshift",
            "duckdb",
            "clickhouse",
            "supabase",
            "neon",
            "databricks",
            "athena",
        ])
    }
}

/// States what the arguments of a tool would do.
pub(super) fn inspect(reader: &mut Reader<'_, '_>, name: &str, args: &Json) {
    let mut walk = Walk { reader, tool: Tool::named(name), found_code: false };
    walk.through(args, "", DEPTH);
    walk.read_rest(args);
    reader.inspection.enter_argument(None);
}

/// States what an action of kind `file` would do. `false`: it names no file.
pub(super) fn inspect_file(reader: &mut Reader<'_, '_>, name: &str, args: &Json) -> bool {
    let operation = ["operation", "action", "op", "access", "method", "mode", "command"];
    // Some agents hand patches to what is called a command; that is no operation.
    let said = operation.iter().find_map(|name| args.get(name)?.as_str()).filter(|said| !is_patch(said));
    let mut walk = Walk { reader, tool: Tool::named(said.unwrap_or(name)), found_code: false };
    let Some(members) = args.as_object() else { return false };
    let mut found = false;
    for (key, value) in members.iter() {
        let role = match key {
            "content" | "contents" | "text" | "data" => continue,
            _ => Role::of(key, &walk.tool, value, args),
        };
        match role {
            Some(Role::Path | Role::Source | Role::Destination) => found = true,
            Some(Role::Patch) => {
                patch::files(value.as_str().unwrap_or_default(), |_, _| found = true);
            }
            Some(Role::Code(_) | Role::Url | Role::Arguments) | None => {}
        }
        walk.visit(args, role, &step_into("", key), value, DEPTH);
    }
    reader.inspection.enter_argument(None);
    found
}

/// Whether an argument asks a coding agent's host to run this outside of its sandbox: Claude Code's word, and those of
/// Codex, of whom only the last is not a switch.
fn leaves_sandbox(key: &str, value: &Json) -> bool {
    match (key, value) {
        ("dangerouslyDisableSandbox" | "with_escalated_permissions", Json::Bool(asked)) => *asked,
        ("sandbox_permissions", Json::String(asked)) => {
            matches!(asked.as_str(), "require_escalated" | "with_additional_permissions")
        }
        _ => false,
    }
}

/// Whether a text is a patch in an envelope, whatever the argument is called.
fn is_patch(text: &str) -> bool {
    text.trim_start().starts_with("*** Begin Patch")
}

/// What an argument is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Code(Code),
    Path,
    Source,
    Destination,
    Url,
    Patch,
    /// All arguments once more, which some clients write as a text that is JSON itself.
    Arguments,
}

impl Role {
    fn of(key: &str, tool: &Tool, value: &Json, args: &Json) -> Option<Self> {
        let words: Vec<String> = words(key).take(8).collect();
        let joined = words.join("_");
        let files = || {
            tool.has(&[
                "file",
                "files",
                "copy",
                "move",
                "rename",
                "directory",
                "folder",
                "path",
                "fs",
                "link",
            ])
        };
        if value.as_str().is_some_and(is_patch) {
            return Some(Self::Patch);
        }
        Some(match joined.as_str() {
            "command" | "cmd" | "shell" | "bash" | "shell_command" | "command_line" | "cmdline"
            | "commands" | "argv" => Self::Code(Code::Shell),
            // What describes a function is none.
            "function" if value.as_str().is_none() => return None,
            "script" | "code" | "source_code" | "snippet" | "program" | "expression" | "function" => {
                let language = match (tool.language(args), joined.as_str()) {
                    (Some(language), _) => language,
                    (None, "script") => Code::Shell,
                    (None, _) => return None,
                };
                Self::Code(language)
            }
            "python" | "python_code" => Self::Code(Code::Python),
            "javascript" | "js" | "js_code" => Self::Code(Code::Javascript),
            "sql" | "sql_query" | "sql_statement" => Self::Code(Code::Sql),
            "query" | "queries" | "statement" | "statements" | "q"
                if tool.speaks_sql()
                    || (value.as_str().is_some_and(begins_as_sql)
                        && tool.has(&["query", "execute", "run"])) =>
            {
                Self::Code(Code::Sql)
            }
            "patch" | "diff" | "patch_text" => Self::Patch,
            "input" if tool.has(&["patch"]) => Self::Patch,
            "arguments" | "args" | "parameters" | "params" | "input" | "kwargs" => Self::Arguments,
            "source" | "src" | "from" | "old_path" | "source_path" | "src_path" if files() => Self::Source,
            "destination" | "dest" | "dst" | "to" | "target" | "new_path" | "destination_path"
            | "dest_path"
                if files() =>
            {
                Self::Destination
            }
            "path" | "paths" | "file" | "files" | "filename" | "filenames" | "file_name" | "filepath"
            | "file_path" | "file_paths" | "directory" | "dir" | "folder" | "absolute_path"
            | "relative_path" | "output_path" | "output_file" | "input_file" | "input_path"
            | "target_file" | "target_path" | "notebook_path" | "attachment" | "attachments" => Self::Path,
            "url" | "urls" | "uri" | "endpoint" | "href" | "link" | "webhook" | "webhook_url"
            | "callback_url" | "base_url" | "image_url" | "host" | "hostname" => Self::Url,
            _ => return None,
        })
    }
}

/// A walk through the arguments of a tool.
struct Walk<'r, 'i, 'c> {
    reader: &'r mut Reader<'i, 'c>,
    tool: Tool,
    /// Whether an argument was code by its name.
    found_code: bool,
}

impl Walk<'_, '_, '_> {
    fn through(&mut self, value: &Json, pointer: &str, depth: usize) {
        let Some(depth) = depth.checked_sub(1) else {
            self.reader.inspection.signal("too_deep", NOWHERE);
            return;
        };
        match value {
            Json::Object(members) => {
                for (key, inner) in members.iter() {
                    if leaves_sandbox(key, inner) {
                        self.reader.inspection.signal("unsandboxed", NOWHERE);
                    }
                    let role = Role::of(key, &self.tool, inner, value);
                    self.visit(value, role, &step_into(pointer, key), inner, depth);
                }
            }
            Json::Array(items) => {
                for (at, inner) in items.iter().enumerate() {
                    self.visit(value, None, &format!("{pointer}/{at}"), inner, depth);
                }
            }
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
        }
    }

    fn visit(&mut self, siblings: &Json, role: Option<Role>, pointer: &str, value: &Json, depth: usize) {
        if !self.reader.inspection.spend(1, NOWHERE) {
            return;
        }
        if let Some(Role::Code(code)) = role {
            self.code(code, siblings, pointer, value, depth);
        }
        match value {
            Json::String(text) => {
                self.reader.inspection.enter_argument(Some(pointer.to_owned()));
                self.state_text(siblings, role, text);
                // Whoever runs code may be given it in any wrapping.
                if (role == Some(Role::Arguments) || self.tool.runs().is_some())
                    && let Some(inner) = object_in(self.reader.inspection, text)
                {
                    self.through(&inner, pointer, depth);
                }
            }
            Json::Array(items) if role.is_some() => {
                for (at, item) in items.iter().enumerate() {
                    if !self.reader.inspection.spend(1, NOWHERE) {
                        return;
                    }
                    if let Some(text) = item.as_str() {
                        self.reader.inspection.enter_argument(Some(format!("{pointer}/{at}")));
                        self.state_text(siblings, role, text);
                    } else {
                        self.through(item, &format!("{pointer}/{at}"), depth);
                    }
                }
            }
            Json::Array(_) | Json::Object(_) => self.through(value, pointer, depth),
            Json::Null | Json::Bool(_) | Json::Number(_) => {}
        }
    }

    fn code(&mut self, code: Code, siblings: &Json, pointer: &str, value: &Json, depth: usize) {
        let found = self.reader.value(code, Manner::Certain, siblings, pointer, value, depth);
        self.found_code |= found;
        let holds_something = match value {
            Json::Array(items) => !items.is_empty(),
            // A query may be an object of its own language.
            Json::Object(members) => !members.is_empty() && code != Code::Sql,
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => false,
        };
        if !found && holds_something {
            self.reader.inspection.signal("unreadable", NOWHERE);
        }
    }

    /// Reads what no name calls code, if the tool runs some.
    fn read_rest(&mut self, args: &Json) {
        let Some(code) = self.tool.runs() else { return };
        // What is the only code there is has to be it; beside other code, it may be.
        let surely = !self.found_code && !self.tool.looks_on();
        let manner = match code {
            Code::Shell if surely => Manner::Certain,
            // Questions to a tool that writes SQL are no statements.
            Code::Shell | Code::Python | Code::Javascript | Code::Sql => Manner::Suspected,
        };
        let found = self.reader.everything(code, manner, args);
        let says_something = args.as_object().is_some_and(|members| !members.is_empty());
        if surely && !found && says_something && code == Code::Shell {
            self.reader.inspection.signal("unreadable", NOWHERE);
        }
    }

    fn state_text(&mut self, siblings: &Json, role: Option<Role>, text: &str) {
        let whole = Origin::whole(text).span(0..text.len());
        let (inspection, tool) = (&mut *self.reader.inspection, &self.tool);
        match role {
            Some(Role::Path) => {
                let accesses = tool.accesses(siblings);
                state_path(inspection, accesses, text);
                if accesses == [Access::Read] && tool.has(&["upload", "send", "attach", "share", "publish"]) {
                    inspection.signal("file_sent", whole);
                }
            }
            Some(Role::Source) if tool.has(&["move", "rename"]) => {
                state_path(inspection, &[Access::Read, Access::Delete], text);
            }
            Some(Role::Source) => state_path(inspection, &[Access::Read], text),
            Some(Role::Destination) => state_path(inspection, &[Access::Truncate], text),
            Some(Role::Url) => self.state_url(siblings, text),
            Some(Role::Patch) => {
                patch::files(text, |file, access| {
                    path::state(inspection, access, Word::known(file, whole));
                });
            }
            Some(Role::Code(_)) => {}
            // A URL is one whatever the argument is called.
            Some(Role::Arguments) | None => {
                let is_url = ["http://", "https://", "file://"].iter().any(|scheme| {
                    text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
                });
                if is_url && !text.contains(char::is_whitespace) {
                    address::state(inspection, None, false, Word::known(text, whole));
                }
            }
        }
    }

    fn state_url(&mut self, siblings: &Json, text: &str) {
        let by_name = || {
            let verbs: &[(&str, &str)] = &[
                ("post", "POST"),
                ("put", "PUT"),
                ("patch", "PATCH"),
                ("delete", "DELETE"),
                ("upload", "POST"),
                ("submit", "POST"),
            ];
            verbs.iter().find(|(word, _)| self.tool.has(&[word])).map(|(_, method)| *method)
        };
        let method = siblings.get("method").and_then(Json::as_str).or_else(by_name);
        let body = ["body", "data", "json", "payload", "form"]
            .iter()
            .any(|name| siblings.get(name).is_some_and(|value| !matches!(value, Json::Null)));
        let whole = Origin::whole(text).span(0..text.len());
        // Nobody sends a body by GET: the method was left to the tool.
        let method = method.or(if body { Some("POST") } else { None });
        address::state(self.reader.inspection, method, body, Word::known(text, whole));
    }
}
