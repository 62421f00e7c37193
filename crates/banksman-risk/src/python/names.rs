//! What names stand for in Python.

use std::rc::Rc;

use crate::code::text::join_paths;
use crate::code::value::{Taint, Thing, Value, What};
use crate::fact::Word;

/// Modules that are known by another name. Longer names first.
const MODULES: &[(&str, &str)] = &[
    ("posixpath", "os.path"),
    ("ntpath", "os.path"),
    ("posix", "os"),
    ("nt", "os"),
    ("builtins", ""),
    ("__builtin__", ""),
    ("__builtins__", ""),
    ("cPickle", "pickle"),
    ("_pickle", "pickle"),
    ("_io", "io"),
    ("_thread", "thread"),
    ("_winreg", "winreg"),
    ("_socket", "socket"),
    ("subprocess32", "subprocess"),
    ("urllib2", "urllib.request"),
    ("six.moves.urllib", "urllib"),
    ("asyncio.subprocess", "asyncio"),
    ("anyio.to_thread", "asyncio"),
    ("Crypto", "Cryptodome"),
    ("ruamel.yaml", "yaml"),
    ("ujson", "json"),
    ("simplejson", "json"),
    ("psycopg", "psycopg2"),
    ("torch.serialization", "torch"),
    ("aiofiles.os", "os"),
    ("sh.contrib", "sh"),
];

/// Functions and classes that are known by another name.
const FUNCTIONS: &[(&str, &str)] = &[
    ("io.open", "open"),
    ("codecs.open", "open"),
    ("aiofiles.open", "open"),
    ("gzip.open", "open"),
    ("bz2.open", "open"),
    ("lzma.open", "open"),
    ("file", "open"),
    ("pathlib.PosixPath", "pathlib.Path"),
    ("pathlib.PurePath", "pathlib.Path"),
    ("pathlib.WindowsPath", "pathlib.Path"),
    ("pathlib.PurePosixPath", "pathlib.Path"),
    ("urllib.urlopen", "urllib.request.urlopen"),
    ("urllib.urlretrieve", "urllib.request.urlretrieve"),
    ("urllib.unquote", "urllib.parse.unquote"),
    ("urllib.quote", "urllib.parse.quote"),
    ("requests.sessions.Session", "requests.Session"),
    ("requests.session", "requests.Session"),
    ("requests.api", "requests"),
    ("unichr", "chr"),
    ("raw_input", "input"),
    ("os.getcwdu", "os.getcwd"),
    ("os.environb", "os.environ"),
    ("os.getenvb", "os.getenv"),
    ("socket.SocketType", "socket.socket"),
    ("sqlalchemy.sql.text", "sqlalchemy.text"),
    ("psutil.Popen", "subprocess.Popen"),
    ("concurrent.futures.ThreadPoolExecutor", "concurrent.futures.Executor"),
    ("concurrent.futures.ProcessPoolExecutor", "concurrent.futures.Executor"),
];

/// The name that something is known by.
pub(super) fn canonical(name: &str) -> Option<String> {
    if let Some((_, known)) = FUNCTIONS.iter().find(|(other, _)| *other == name) {
        return Some((*known).to_owned());
    }
    if let Some(borrowed) = borrowed_module(name) {
        return Some(canonical(borrowed).unwrap_or_else(|| borrowed.to_owned()));
    }
    for (module, known) in MODULES {
        let Some(rest) = name.strip_prefix(module) else { continue };
        if rest.is_empty() && !known.is_empty() {
            return Some((*known).to_owned());
        }
        if let Some(rest) = rest.strip_prefix('.') {
            let full = if known.is_empty() { rest.to_owned() } else { format!("{known}.{rest}") };
            return Some(canonical_function(&full).unwrap_or(full));
        }
    }
    None
}

/// Modules that others import, and that can be reached through them: `shutil.os.system`, `random._os.system`.
fn borrowed_module(name: &str) -> Option<&str> {
    const BORROWED: &[&str] = &[
        "os",
        "sys",
        "subprocess",
        "shutil",
        "builtins",
        "posix",
        "nt",
        "importlib",
        "socket",
        "pty",
        "ctypes",
    ];
    // `_.os` is a member of something unknown.
    let is_own = name.starts_with("_.") || OWN.iter().any(|own| name.starts_with(own));
    let (_, mut rest) = name.split_once('.').filter(|_| !is_own)?;
    loop {
        let (part, after) = rest.split_once('.').map_or((rest, None), |(part, after)| (part, Some(after)));
        if BORROWED.contains(&part.trim_start_matches('_')) {
            return Some(rest.trim_start_matches('_'));
        }
        rest = after?;
    }
}

/// What is called like such a module in another, and is something else.
const OWN: &[&str] = &["aiofiles.os", "asyncio.subprocess", "socket.socket"];

fn canonical_function(name: &str) -> Option<String> {
    FUNCTIONS.iter().find(|(other, _)| *other == name).map(|(_, known)| (*known).to_owned())
}

/// What a name stands for that nobody defined.
pub(super) fn global(name: &str) -> Value {
    match name {
        "__name__" => Value::text("__main__"),
        "__file__" => Value::made("__file__", Some("\0".into())),
        _ => Value::thing(canonical(name).unwrap_or_else(|| name.to_owned())),
    }
}

/// Names that every Python text has.
pub(super) fn is_builtin(name: &str) -> bool {
    const BUILTIN: &[&str] = &[
        "print",
        "len",
        "range",
        "str",
        "int",
        "float",
        "list",
        "dict",
        "set",
        "tuple",
        "bool",
        "bytes",
        "bytearray",
        "eval",
        "exec",
        "compile",
        "getattr",
        "setattr",
        "hasattr",
        "globals",
        "locals",
        "vars",
        "input",
        "map",
        "filter",
        "zip",
        "enumerate",
        "sorted",
        "reversed",
        "sum",
        "min",
        "max",
        "abs",
        "any",
        "all",
        "chr",
        "ord",
        "hex",
        "repr",
        "type",
        "isinstance",
        "super",
        "object",
        "iter",
        "next",
        "format",
        "__import__",
        "__builtins__",
        "__name__",
        "__file__",
        "Exception",
        "ValueError",
        "staticmethod",
        "classmethod",
        "property",
    ];
    BUILTIN.contains(&name)
}

/// Attributes that are more than a name.
pub(super) fn attribute(thing: &Thing, name: &str) -> Option<Value> {
    let is_path = &*thing.name == "pathlib.Path" && thing.made;
    let text = thing.text.as_deref();
    Some(match (&*thing.name, name) {
        ("os" | "os.path", "sep") => Value::text("/"),
        ("os", "linesep") => Value::text("\n"),
        ("os", "curdir") => Value::text("."),
        ("os", "pardir") => Value::text(".."),
        ("os", "devnull") => Value::text("/dev/null"),
        ("os", "name") => Value::text("posix"),
        ("sys", "platform") => Value::text("linux"),
        ("sys", "executable") => Value::text("python3"),
        ("os", "environ") => Value::thing("os.environ").with(Taint::ENVIRONMENT),
        ("string", "ascii_lowercase") => Value::text("abcdefghijklmnopqrstuvwxyz"),
        ("string", "ascii_uppercase") => Value::text("ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
        ("string", "ascii_letters") => Value::text("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"),
        ("string", "digits") => Value::text("0123456789"),
        (_, "parent") if is_path => path(parent(text.unwrap_or("\0"))),
        (_, "name") if is_path => Value::text(base_name(text.unwrap_or("\0"))),
        ("os.DirEntry", "path") => Value::text(text.unwrap_or("\0")),
        ("os.DirEntry", "name") => Value::text(base_name(text.unwrap_or("\0"))),
        ("subprocess.Popen", "stdin") => Value::made("subprocess.Popen.stdin", thing.text.clone()),
        // A module that is only known when it runs: most likely one whose function is asked for by name.
        ("\0", _) => {
            let modules = ["os", "subprocess", "shutil"].map(|module| format!("{module}.{name}"));
            let known = modules.into_iter().filter(|full| super::is_known(full)).map(Value::thing);
            Value::any_of(known.chain([Value::thing(format!("\0.{name}"))]))
        }
        // A namespace is what it is the namespace of.
        (_, "__dict__") => What::Thing(Rc::new(thing.clone())).into(),
        _ => return None,
    })
}

/// A path object.
pub(super) fn path(text: impl Into<Rc<str>>) -> Value {
    Value::made("pathlib.Path", Some(text.into()))
}

/// The folder that a path is in.
pub(super) fn parent(path: &str) -> String {
    match path.trim_end_matches('/').rsplit_once('/') {
        Some(("", _)) => "/".to_owned(),
        Some((parent, _)) => parent.to_owned(),
        None if path.contains(Word::HOLE) => "\0".to_owned(),
        None => ".".to_owned(),
    }
}

/// The last part of a path.
pub(super) fn base_name(path: &str) -> String {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned()
}

/// An element of something from a library: what a loop over it gives, or what is found by a key.
pub(super) fn element(thing: &Thing, key: Option<&Value>) -> Option<Value> {
    let found_below =
        || thing.text.as_deref().map_or_else(|| "\0".to_owned(), |folder| join_paths(folder, "\0"));
    if let Some(key) = key {
        // `rm["-rf", "/"]` is a command that waits to be called.
        if thing.name.starts_with("plumbum.cmd.") {
            let words = key.as_list().map_or_else(|| vec![key.clone()], |words| words.to_vec());
            return Some(Value::partial(Value::thing(Rc::clone(&thing.name)), words, Vec::new()));
        }
        let key = key.known_text();
        return match &*thing.name {
            "os.environ" => Some(variable(key.as_deref())),
            "sys.modules" => Some(key.map_or(Value::UNKNOWN, |name| global(&name))),
            "plumbum.local" => key.map(|name| Value::thing(format!("plumbum.cmd.{name}"))),
            // The namespace of a module that was handed on as itself.
            _ if !thing.made && !thing.name.contains('.') => {
                let full = format!("{}.{}", thing.name, key?);
                Some(Value::thing(canonical(&full).unwrap_or(full)))
            }
            _ => None,
        };
    }
    Some(match &*thing.name {
        "psutil.process_iter" => Value::made("psutil.Process", None),
        "os.listdir" => Value::text("\0").with(Taint::LISTED),
        "os.walk" => {
            let folder = Value::text(
                thing.text.as_deref().map_or_else(|| "\0".to_owned(), |root| format!("{root}\0")),
            );
            let names = Value::list(vec![Value::text("\0").with(Taint::LISTED)]);
            Value::list(vec![folder.with(Taint::LISTED.and(Taint::WALKED)), names.clone(), names])
        }
        "os.scandir" => Value::made("os.DirEntry", Some(found_below().into())).with(Taint::LISTED),
        "pathlib.Path.iterdir" | "pathlib.Path.glob" => path(found_below()).with(Taint::LISTED),
        "pathlib.Path.rglob" => path(found_below()).with(Taint::LISTED.and(Taint::WALKED)),
        "glob.glob" | "glob.iglob" => Value::text(thing.text.as_deref().unwrap_or("\0")).with(Taint::LISTED),
        _ => return None,
    })
}

/// A variable of the environment.
pub(super) fn variable(name: Option<&str>) -> Value {
    const SECRET: &[&str] = &["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL"];
    match name {
        Some("HOME" | "USERPROFILE") => Value::text("~"),
        Some("PWD") => Value::text("."),
        Some("TMPDIR" | "TEMP" | "TMP") => Value::text("/tmp"),
        Some(name) if SECRET.iter().any(|part| name.to_ascii_uppercase().contains(part)) => {
            Value::unknown(Taint::TOKEN)
        }
        _ => Value::UNKNOWN,
    }
}
