//! What names stand for in JavaScript.

use crate::code::value::{Taint, Thing, Value};

/// Modules that do the same as another.
const MODULES: &[(&str, &str)] = &[
    ("fs/promises", "fs"),
    ("fs-extra", "fs"),
    ("graceful-fs", "fs"),
    ("original-fs", "fs"),
    ("path/posix", "path"),
    ("upath", "path"),
    ("cross-spawn", "child_process.spawn"),
    ("https", "http"),
    ("http2", "http"),
    ("node-fetch", "fetch"),
    ("cross-fetch", "fetch"),
    ("isomorphic-fetch", "fetch"),
    ("mysql2", "mysql"),
    ("mysql2/promise", "mysql"),
    ("rimraf/sync", "rimraf"),
    ("timers", "globalThis"),
    ("buffer", "globalThis"),
    ("ws", "WebSocket"),
    ("zx", "globalThis"),
    ("zx/globals", "globalThis"),
    ("bun", "Bun"),
];

/// Objects whose members are names of their own.
const WORLDS: &[&str] = &["globalThis", "window", "self", "global", "top", "parent", "frames"];

/// What a module is known by.
pub(super) fn module(name: &str) -> String {
    let name = name.strip_prefix("node:").or_else(|| name.strip_prefix("npm:")).unwrap_or(name);
    match MODULES.iter().find(|(other, _)| *other == name) {
        Some((_, known)) => (*known).to_owned(),
        None => name.to_owned(),
    }
}

/// The name that something is known by.
pub(super) fn canonical(name: &str) -> Option<String> {
    let mut changed = false;
    let mut name = name.to_owned();
    // A module can have dots and slashes in its name; only what comes before the last dot can be one.
    let (head, tail) = name.rsplit_once('.').unwrap_or((&name, ""));
    let known = module(head);
    if known != head {
        name = if tail.is_empty() { known } else { format!("{known}.{tail}") };
        changed = true;
    }
    for world in WORLDS {
        if let Some(rest) = name.strip_prefix(world).and_then(|rest| rest.strip_prefix('.')) {
            name = rest.to_owned();
            changed = true;
        }
    }
    let module_of = name.split('.').next().unwrap_or_default();
    if matches!(module_of, "fs" | "child_process" | "Deno" | "zlib" | "crypto" | "execa" | "rimraf" | "del") {
        for (part, instead) in [("Sync", ""), (".promises", "")] {
            if let Some(shorter) = name.strip_suffix(part) {
                name = format!("{shorter}{instead}");
                changed = true;
            }
        }
    }
    // `rimraf.sync(x)` is `rimraf(x)`.
    let alone = name
        .strip_suffix(".sync")
        .filter(|name| matches!(*name, "rimraf" | "del" | "glob" | "child_process.spawn"));
    if let Some(shorter) = alone.or_else(|| name.strip_suffix(".default")) {
        name = shorter.to_owned();
        changed = true;
    }
    if matches!(
        &*name,
        "process.mainModule.require"
            | "process.getBuiltinModule"
            | "module.require"
            | "module.constructor._load"
            | "module._load"
            | "module.Module._load"
            | "import"
    ) {
        name = "require".to_owned();
        changed = true;
    }
    changed.then_some(name)
}

/// What a name stands for that nobody defined.
pub(super) fn global(name: &str) -> Value {
    match name {
        "__dirname" => Value::text("."),
        "__filename" => Value::text("./\0"),
        "undefined" | "NaN" => Value::UNKNOWN,
        "window" | "self" | "global" => Value::thing("globalThis"),
        "import" => Value::thing("require"),
        _ => Value::thing(name),
    }
}

/// Attributes that are more than a name.
pub(super) fn attribute(thing: &Thing, name: &str) -> Option<Value> {
    Some(match (&*thing.name, name) {
        ("process", "env") => Value::thing("process.env").with(Taint::ENVIRONMENT),
        ("process", "platform") => Value::text("linux"),
        ("process", "execPath") => Value::text("node"),
        ("process.env", _) => variable(name),
        ("import.meta" | "require.meta", "dirname") => Value::text("."),
        ("path", "sep") => Value::text("/"),
        ("path", "posix" | "win32") => Value::thing("path"),
        ("os", "EOL") => Value::text("\n"),
        ("document", "cookie") => Value::unknown(Taint::SECRET),
        ("fs", "promises") => Value::thing("fs"),
        ("Deno", "env") => Value::thing("Deno.env").with(Taint::ENVIRONMENT),
        ("Bun", "env") => Value::thing("process.env").with(Taint::ENVIRONMENT),
        _ if name == "default" && !thing.made => Value::thing(thing.name.clone()),
        _ => return None,
    })
}

/// A variable of the environment.
pub(super) fn variable(name: &str) -> Value {
    const SECRET: &[&str] = &["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL"];
    match name {
        "HOME" | "USERPROFILE" => Value::text("~"),
        "PWD" => Value::text("."),
        "TMPDIR" | "TEMP" | "TMP" => Value::text("/tmp"),
        _ if SECRET.iter().any(|part| name.to_ascii_uppercase().contains(part)) => {
            Value::unknown(Taint::TOKEN)
        }
        _ => Value::UNKNOWN,
    }
}

/// An element of something from a library: what a loop over it gives.
pub(super) fn element(thing: &Thing, key: Option<&Value>) -> Option<Value> {
    if key.is_some() {
        return None;
    }
    Some(match &*thing.name {
        "fs.readdir" => Value::text("\0").with(Taint::LISTED),
        "glob.glob" | "glob" | "fast-glob" | "globby" => {
            Value::text(thing.text.as_deref().unwrap_or("\0")).with(Taint::LISTED)
        }
        _ => return None,
    })
}
