//! JavaScript functions whose effects depend on more than one argument.

use std::rc::Rc;

use super::source;
use crate::code::dialect::CallSite;
use crate::code::effect::{Arg, Effect};
use crate::code::machine::Machine;
use crate::code::sink::content_of;
use crate::code::value::{Taint, Value, What};
use crate::fact::{Access, Direction};

/// Does what such a function does. `None`: it is none of these.
pub(super) fn special(machine: &mut Machine<'_, '_>, site: &CallSite) -> Option<Value> {
    let span = site.span;
    match &*site.name {
        "fs.rm" | "fs.rmdir" | "Deno.remove" => {
            let all = site.keyword("recursive").is_some_and(|value| value.truth() != Some(false));
            let access = if all { Access::DeleteTree } else { Access::Delete };
            machine.use_path(access, site.arg(0)?, span);
            if !all {
                machine.note_deleted(site.arg(0)?, span);
            }
            None
        }
        "fs.writeFile" | "fs.appendFile" | "Deno.writeTextFile" | "Deno.writeFile" | "fs.outputFile"
        | "Bun.write" => {
            let file = site.arg(0).map(|path| path.each(|one| Value::made("fs.open", Some(one.to_text()))));
            let content = site.arg(1).map_or(Taint::NONE, |content| content.taint);
            let listed = site.arg(0).map_or(Taint::NONE, |path| path.taint);
            machine.write(file.map(|file| file.with(listed)).as_ref(), content, span);
            None
        }
        "fs.createWriteStream" => {
            let path = site.arg(0)?;
            Some(path.each(|one| Value::made("fs.createWriteStream", Some(one.to_text()))))
        }
        "fs.open" | "Deno.open" => {
            let flags = site.arg(1).map(Value::to_text);
            let is_write = flags.as_deref().is_some_and(|flags| flags.contains(['w', 'a', '+']))
                || site.keyword("write").is_some_and(|value| value.truth() != Some(false));
            let access = if is_write { Access::Write } else { Access::Read };
            let taint = machine.use_path(access, site.arg(0)?, span);
            Some(Value::made("fs.open", site.arg(0).map(Value::to_text)).with(taint))
        }
        "fs.readdir" | "glob" | "glob.glob" | "fast-glob" | "globby" => {
            let folder = site.arg(0)?;
            Some(
                folder
                    .each(|one| Value::made(Rc::clone(&site.name), Some(one.to_text())))
                    .with(Taint::LISTED),
            )
        }
        "child_process.spawn" => {
            let in_shell = site.keyword("shell").is_some_and(|value| value.truth() != Some(false));
            let program = site.arg(0)?.clone();
            let rest = site.arg(1).and_then(Value::as_list).map(|list| list.to_vec()).unwrap_or_default();
            if in_shell {
                let line =
                    rest.iter().fold(program, |line, word| line.concat(&Value::text(" ")).concat(word));
                machine.run_shell(&line, span);
            } else {
                machine.run_program(&Value::list(std::iter::once(program).chain(rest).collect()), span);
            }
            None
        }
        "process.chdir" | "Deno.chdir" => {
            machine.directory = site.arg(0).and_then(Value::known_text);
            None
        }
        "process.fork" | "cluster.fork" | "child_process.fork" if machine.is_endless() => {
            machine.inspection.signal("fork_bomb", span);
            None
        }
        "Function" | "GeneratorFunction" | "AsyncFunction" => {
            let code = site.args.last()?.clone();
            machine.run_code(&code, span);
            Some(Value::UNKNOWN)
        }
        "Worker" | "worker_threads.Worker" | "SharedWorker" => {
            let code = site.arg(0)?.clone();
            if site.keyword("eval").is_some_and(|value| value.truth() != Some(false)) {
                machine.run_code(&code, span);
            }
            for source in code.alternatives().iter().filter_map(Value::known_text) {
                if source::is_source(&source) {
                    source::run(machine, &source, span);
                }
            }
            None
        }
        "setTimeout" | "setInterval" | "setImmediate" => {
            let first = site.arg(0)?;
            if first.alternatives().iter().any(|one| matches!(one.what, What::Text(_))) {
                machine.run_code(&first.clone(), span);
            }
            None
        }
        name => network(machine, site, name).or_else(|| by_method(machine, site)),
    }
}

fn network(machine: &mut Machine<'_, '_>, site: &CallSite, name: &str) -> Option<Value> {
    let span = site.span;
    match name {
        "fetch" | "axios" | "axios.request" | "http.request" | "request" | "$.ajax" | "superagent"
        | "undici.fetch" | "axios.create" | "GM_xmlhttpRequest" => {
            let method = site.keyword("method").or_else(|| site.keyword("type")).map(Value::to_text);
            let has_body =
                ["body", "data", "json", "form"].into_iter().any(|body| site.keyword(body).is_some());
            let method = method.as_deref().or(has_body.then_some("POST")).map(str::to_ascii_uppercase);
            let (direction, method) = match method.as_deref() {
                None | Some("GET") => (Direction::Fetch, "GET"),
                Some("HEAD" | "OPTIONS") => (Direction::Fetch, "HEAD"),
                Some("PUT") => (Direction::Send, "PUT"),
                Some("PATCH") => (Direction::Send, "PATCH"),
                Some("DELETE") => (Direction::Send, "DELETE"),
                Some(_) => (Direction::Send, "POST"),
            };
            let url = match site
                .keyword("url")
                .or_else(|| site.keyword("hostname"))
                .or_else(|| site.keyword("host"))
            {
                Some(url) => url.clone(),
                None => site.arg(0)?.clone(),
            };
            machine.talk(direction, Some(method), &url, span);
            machine.send(content_of(site), span);
            Some(Value::made(Rc::from(name), None).with(Taint::NETWORK))
        }
        "XMLHttpRequest.open" => {
            let is_fetch = site
                .arg(0)
                .and_then(Value::known_text)
                .is_none_or(|method| method.eq_ignore_ascii_case("get"));
            let direction = if is_fetch { Direction::Fetch } else { Direction::Send };
            machine.apply(
                Effect::Url(direction, Some(if is_fetch { "GET" } else { "POST" }), Arg::At(1, "url")),
                site,
            );
            None
        }
        "net.connect" | "net.createConnection" | "net.Socket.connect" | "tls.connect" | "Deno.connect" => {
            let host = site.keyword("host").or_else(|| site.keyword("hostname")).or_else(|| site.arg(1));
            if let Some(host) = host.filter(|host| !host.is_callable()).cloned() {
                machine.talk(Direction::Connect, None, &host, span);
            }
            Some(Value::made("net.Socket", None).with(Taint::SOCKET.and(Taint::NETWORK)))
        }
        "net.Socket" => Some(Value::made("net.Socket", None).with(Taint::SOCKET.and(Taint::NETWORK))),
        _ => None,
    }
}

/// Methods that are known by their name alone, on whatever they are called.
fn by_method(machine: &mut Machine<'_, '_>, site: &CallSite) -> Option<Value> {
    let span = site.span;
    let receiver = site.receiver.as_ref()?;
    match site.method() {
        "query" | "execute" | "raw" | "exec" | "run" | "prepare" | "$executeRawUnsafe"
        | "$queryRawUnsafe" | "all" | "unsafe" | "batch" | "$executeRaw" | "$queryRaw" => {
            let sql = site.arg(0).or_else(|| site.keyword(super::expressions::TEMPLATE))?;
            // Other things have methods of these names; a statement has more than two words.
            let is_common = matches!(site.method(), "exec" | "run" | "all" | "prepare" | "batch");
            if is_common && sql.to_text().split_whitespace().count() < 3 {
                return None;
            }
            let sql = sql.get("text").or_else(|| sql.get("sql")).unwrap_or(sql).clone();
            machine.run_sql(&sql, span);
            None
        }
        // `(() => {}).constructor("code")()`: every function's constructor makes functions from text.
        "constructor" => {
            let code = site.args.last()?.clone();
            if matches!(code.what, What::Text(_)) {
                machine.run_code(&code, span);
            }
            None
        }
        // A socket into a shell, or a shell into a socket.
        "pipe" => {
            let other = site.arg(0)?;
            let is_socket = |value: &Value| value.taint.has(Taint::SOCKET);
            let is_process = |value: &Value| {
                value
                    .alternatives()
                    .iter()
                    .any(|one| one.as_thing().is_some_and(|thing| thing.name.starts_with("child_process.")))
            };
            if (is_socket(receiver) && is_process(other)) || (is_process(receiver) && is_socket(other)) {
                machine.inspection.signal("reverse_shell", span);
            }
            machine.write(Some(other), receiver.taint, span);
            Some(other.clone())
        }
        _ => None,
    }
}
