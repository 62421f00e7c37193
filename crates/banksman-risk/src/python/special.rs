//! Python functions whose effects depend on more than one argument.

use std::rc::Rc;

use super::names::path;
use crate::code::dialect::CallSite;
use crate::code::effect::{Arg, Effect};
use crate::code::machine::Machine;
use crate::code::sink::content_of;
use crate::code::text;
use crate::code::value::{Taint, Value, What};
use crate::fact::{Access, Direction};

/// Does what such a function does. `None`: it is none of these.
pub(super) fn special(machine: &mut Machine<'_, '_>, site: &CallSite) -> Option<Value> {
    match &*site.name {
        "open" => Some(open(machine, site)),
        "pathlib.Path.open" => {
            let mut shifted = vec![site.receiver.clone().unwrap_or(Value::UNKNOWN)];
            shifted.extend(site.args.iter().cloned());
            let keywords = site.keywords.clone();
            Some(open(
                machine,
                &CallSite { name: "open".into(), receiver: None, args: shifted, keywords, span: site.span },
            ))
        }
        "os.open" => {
            let access = if site.args.len() > 1 { Access::Write } else { Access::Read };
            let taint = machine.use_path(access, site.arg(0)?, site.span);
            Some(Value::made("open", site.arg(0).map(Value::to_text)).with(taint))
        }
        "subprocess.run"
        | "subprocess.call"
        | "subprocess.Popen"
        | "subprocess.check_call"
        | "subprocess.check_output" => Some(subprocess(machine, site)),
        "exec" | "eval" | "builtins.exec" => {
            let code = site.arg(0)?.clone();
            Some(machine.run_code(&code, site.span))
        }
        "os.walk" | "os.scandir" | "os.listdir" | "glob.glob" | "glob.iglob" | "os.fwalk" => {
            let folder = site.arg(0).cloned().unwrap_or_else(|| Value::text("."));
            Some(
                folder
                    .each(|one| Value::made(Rc::clone(&site.name), Some(one.to_text())))
                    .with(Taint::LISTED),
            )
        }
        "urllib.request.urlretrieve" | "wget.download" => {
            let path = site.either(1, "filename").or_else(|| site.keyword("out"))?;
            machine.note_written(&path.to_text(), Taint::NETWORK);
            None
        }
        // A database that is gone when the program ends: whatever is done to it matters to nobody.
        "sqlite3.connect" | "aiosqlite.connect" => {
            let database = site.either(0, "database")?;
            if database.known_text().as_deref() == Some(":memory:") {
                return Some(Value::made("sqlite3.memory", None));
            }
            machine.use_path(Access::Read, database, site.span);
            None
        }
        "os.chdir" => {
            machine.directory = site.arg(0).and_then(Value::known_text);
            Some(What::Nothing.into())
        }
        "os.fork" | "os.forkpty" if machine.is_endless() => {
            machine.inspection.signal("fork_bomb", site.span);
            None
        }
        "os.dup2" | "os.dup3" if site.args.iter().any(|value| value.taint.has(Taint::SOCKET)) => {
            machine.inspection.signal("reverse_shell", site.span);
            None
        }
        "setattr" => {
            if site.arg(0).and_then(Value::as_thing).is_some_and(|thing| !thing.made) {
                machine.inspection.signal("library_changed", site.span);
            }
            None
        }
        "yaml.load" | "yaml.load_all" | "yaml.full_load" => {
            let loader =
                site.either(1, "Loader").and_then(Value::as_thing).map(|thing| Rc::clone(&thing.name));
            if loader.is_none_or(|loader| !loader.contains("Safe") && !loader.contains("BaseLoader")) {
                machine.inspection.signal("unsafe_load", site.span);
            }
            None
        }
        "torch.load" if site.keyword("weights_only").and_then(Value::truth) == Some(false) => {
            machine.inspection.signal("unsafe_load", site.span);
            None
        }
        name if name.starts_with("git.Repo.git.") || name.starts_with("git.Repo.init.git.") => {
            let words = ["git", site.method()].map(|word| Value::text(word.replace('_', "-")));
            let flags = site.keywords.iter().filter(|(_, value)| value.truth() == Some(true));
            let flags = flags.map(|(name, _)| match name.len() {
                1 => Value::text(format!("-{name}")),
                _ => Value::text(format!("--{}", name.replace('_', "-"))),
            });
            let words = words.into_iter().chain(flags).chain(site.args.iter().cloned()).collect();
            machine.run_program(&Value::list(words), site.span);
            None
        }
        name if (name.starts_with("sh.") && name.matches('.').count() == 1)
            || (name.starts_with("plumbum.cmd.") && name.matches('.').count() == 2) =>
        {
            let words = std::iter::once(Value::text(site.method())).chain(site.args.iter().cloned());
            machine.run_program(&Value::list(words.collect()), site.span);
            None
        }
        name => network(machine, site, name).or_else(|| by_method(machine, site)),
    }
}

/// `open(path, mode)`.
fn open(machine: &mut Machine<'_, '_>, site: &CallSite) -> Value {
    let Some(file) = site.either(0, "file").cloned() else { return Value::UNKNOWN };
    let mode = site.either(1, "mode").map(Value::to_text);
    let mode = mode.as_deref().unwrap_or("r");
    let access = match mode {
        _ if mode.contains(['w', 'x', 'a', '+']) => Access::Write,
        _ => Access::Read,
    };
    let mut taint = machine.use_path(access, &file, site.span);
    if mode.contains('+') || !mode.contains(['w', 'x', 'a']) {
        taint = taint.and(machine.use_path(Access::Read, &file, site.span));
    } else {
        // A file that is only written says nothing about what it held.
        taint = taint.without(Taint::FILE).without(Taint::SECRET);
    }
    file.each(|one| Value::made("open", Some(one.to_text()))).with(taint)
}

fn subprocess(machine: &mut Machine<'_, '_>, site: &CallSite) -> Value {
    let span = site.span;
    let Some(command) = site.either(0, "args").cloned() else { return Value::UNKNOWN };
    let is_socket = |name: &str| site.keyword(name).is_some_and(|value| value.taint.has(Taint::SOCKET));
    if ["stdin", "stdout", "stderr"].into_iter().any(is_socket) {
        machine.inspection.signal("reverse_shell", span);
    }
    let in_shell = site.keyword("shell").is_some_and(|value| value.truth() != Some(false));
    let before = machine.directory.clone();
    if let Some(directory) = site.keyword("cwd").and_then(Value::known_text) {
        machine.directory = Some(directory);
    }
    match command.as_list() {
        // With a shell, only the first of a list is the command.
        Some(list) if in_shell => machine.run_shell(&list.first().cloned().unwrap_or(Value::UNKNOWN), span),
        Some(_) => {
            let input = site.keyword("input").and_then(Value::known_text);
            machine.run_program_with_input(&command, input.as_deref(), span);
        }
        None => machine.run_shell(&command, span),
    }
    machine.directory = before;
    let program = command.as_list().and_then(|list| list.first()).unwrap_or(&command).to_text();
    Value::made(Rc::clone(&site.name), Some(program)).with(command.taint)
}

fn network(machine: &mut Machine<'_, '_>, site: &CallSite, name: &str) -> Option<Value> {
    let span = site.span;
    match name {
        "requests.request"
        | "httpx.request"
        | "requests.Session.request"
        | "aiohttp.ClientSession.request"
        | "httpx.Client.request"
        | "urllib3.PoolManager.request" => {
            let method = site.either(0, "method").map(Value::to_text);
            request(machine, site, method.as_deref(), Arg::At(1, "url"));
            Some(Value::made(Rc::from(name), None).with(Taint::NETWORK))
        }
        "urllib.request.urlopen" | "urllib.request.Request" | "requests.Request" => {
            let has_body = site.either(1, "data").is_some_and(|data| data.what != What::Nothing);
            let method = site.keyword("method").map(Value::to_text);
            let method = method.as_deref().or(has_body.then_some("POST"));
            request(machine, site, method, Arg::At(0, "url"));
            let taint = if name == "urllib.request.urlopen" { Taint::NETWORK } else { Taint::NONE };
            Some(Value::made(Rc::from(name), site.arg(0).map(Value::to_text)).with(taint))
        }
        "socket.socket" => Some(Value::made("socket.socket", None).with(Taint::SOCKET)),
        "ssl.wrap_socket" | "ssl.SSLContext.wrap_socket" | "ssl.create_default_context.wrap_socket" => {
            site.arg(0).cloned()
        }
        "socket.create_connection"
        | "socket.socket.connect"
        | "socket.socket.connect_ex"
        | "asyncio.open_connection" => {
            let address = site.arg(0)?;
            let host = address.as_list().and_then(|parts| parts.first()).unwrap_or(address).clone();
            machine.talk(Direction::Connect, None, &host, span);
            let taint = Taint::SOCKET.and(Taint::NETWORK);
            if name == "asyncio.open_connection" {
                let stream = || Value::made("socket.socket", None).with(taint);
                return Some(Value::list(vec![stream(), stream()]));
            }
            Some(Value::made("socket.socket", Some(host.to_text())).with(Taint::SOCKET))
        }
        "socket.socket.accept" => {
            let connection = Value::made("socket.socket", None).with(Taint::SOCKET.and(Taint::NETWORK));
            Some(Value::list(vec![connection, Value::UNKNOWN]))
        }
        "http.client.HTTPConnection" | "http.client.HTTPSConnection" => {
            let host = site.arg(0)?;
            machine.talk(Direction::Connect, None, host, span);
            Some(Value::made(Rc::from(name), Some(host.to_text())))
        }
        "http.client.HTTPConnection.request" | "http.client.HTTPSConnection.request" => {
            let method = site.either(0, "method").map(Value::to_text);
            let host = site.receiver.as_ref().map(Value::to_text).unwrap_or_else(|| "\0".into());
            let path = site.either(1, "url").map(Value::to_text).unwrap_or_default();
            let url = Value::text(format!("http://{host}{path}"));
            if matches!(method.as_deref(), Some("GET" | "HEAD")) {
                machine.talk(Direction::Fetch, Some("GET"), &url, span);
            } else {
                machine.talk(Direction::Send, Some("POST"), &url, span);
                machine.send(content_of(site), span);
            }
            None
        }
        _ => None,
    }
}

/// A request by a method that is known or not.
fn request(machine: &mut Machine<'_, '_>, site: &CallSite, method: Option<&str>, url: Arg) {
    let method = method.map(str::to_ascii_uppercase);
    let (direction, method) = match method.as_deref() {
        None | Some("GET") => (Direction::Fetch, "GET"),
        Some("HEAD" | "OPTIONS") => (Direction::Fetch, "HEAD"),
        Some("PUT") => (Direction::Send, "PUT"),
        Some("PATCH") => (Direction::Send, "PATCH"),
        Some("DELETE") => (Direction::Send, "DELETE"),
        Some(_) => (Direction::Send, "POST"),
    };
    machine.apply(Effect::Url(direction, Some(method), url), site);
}

/// Methods that are known by their name alone, on whatever they are called.
fn by_method(machine: &mut Machine<'_, '_>, site: &CallSite) -> Option<Value> {
    let span = site.span;
    site.receiver.as_ref()?;
    match site.method() {
        "execute" | "executemany" | "executescript" | "raw" | "read_sql" | "exec_driver_sql"
        | "executesql" => {
            if site.name.starts_with("sqlite3.memory.") {
                return None;
            }
            let sql = site.arg(0).or_else(|| site.keyword("sql"))?.clone();
            machine.run_sql(&sql, span);
            None
        }
        "system" | "popen" if site.name.starts_with("ctypes.") => {
            machine.run_shell(&site.arg(0)?.clone(), span);
            None
        }
        // invoke and fabric hand their tasks a context.
        "run" | "sudo" | "local" if site.name.starts_with("_.") => {
            let command = site.arg(0)?.clone();
            if command.alternatives().iter().any(|one| one.to_text().trim().contains(' ')) {
                machine.run_shell(&command, span);
            }
            None
        }
        "post" | "put" | "patch" if is_session(site) => {
            machine.apply(Effect::Url(Direction::Send, Some("POST"), Arg::At(0, "url")), site);
            None
        }
        "get" if is_session(site) => {
            machine.apply(Effect::Url(Direction::Fetch, Some("GET"), Arg::At(0, "url")), site);
            Some(Value::made(Rc::clone(&site.name), None).with(Taint::NETWORK))
        }
        "communicate" | "write" | "writelines" | "sendline"
            if site.name.starts_with("subprocess.Popen") || site.name.starts_with("pexpect.spawn") =>
        {
            let program = site.receiver.as_ref().map(Value::to_text)?;
            let input = Value::text(site.either(0, "input")?.known_text()?);
            let program = program.split_whitespace().next().unwrap_or_default();
            match program.rsplit('/').next().unwrap_or_default() {
                "sh" | "bash" | "zsh" | "dash" | "ksh" | "ash" | "fish" => machine.run_shell(&input, span),
                "python" | "python3" => {
                    machine.run_code(&input, span);
                }
                _ => {}
            }
            None
        }
        "parent" | "joinpath" if site.name.starts_with("_.") => Some(path("\0")),
        "fileno" | "makefile" | "detach" | "dup" => {
            site.receiver.as_ref().map(|receiver| Value::unknown(receiver.taint))
        }
        _ => None,
    }
}

/// A method of an unknown object with a URL as its first argument: a session of some kind.
fn is_session(site: &CallSite) -> bool {
    let first = site.either(0, "url").map(Value::to_text);
    first.is_some_and(|url| text::is_address(&url))
}
