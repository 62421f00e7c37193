//! What Python's pure functions and methods give.

use std::rc::Rc;

use super::names::{base_name, global, parent, path, variable};
use crate::code::decode;
use crate::code::dialect::CallSite;
use crate::code::machine::Machine;
use crate::code::text;
use crate::code::value::{Taint, Value, What};
use crate::fact::Word;

/// Numbers that a range gives, one by one.
const RANGE: i64 = 64;

/// What a call gives, if that can be told without doing anything.
pub(super) fn compute(machine: &mut Machine<'_, '_>, site: &CallSite) -> Option<Value> {
    if let Some(receiver) = &site.receiver {
        match &receiver.what {
            What::Text(text) => return Some(text_method(receiver, text, site)),
            What::List(_) | What::Map(_) => {
                if let Some(value) = container_method(receiver, site) {
                    return Some(value);
                }
            }
            What::Thing(thing) if &*thing.name == "pathlib.Path" && thing.made => {
                if let Some(value) = path_method(&thing.text.clone().unwrap_or_else(|| "\0".into()), site) {
                    return Some(value);
                }
            }
            _ => {}
        }
    }
    builtin(machine, site).or_else(|| library(site)).or_else(|| decoder(site))
}

fn builtin(machine: &mut Machine<'_, '_>, site: &CallSite) -> Option<Value> {
    let first = site.arg(0);
    let unknown = || Value::UNKNOWN;
    Some(match &*site.name {
        "str" | "bytes" | "bytearray" | "ascii" | "memoryview" | "os.fspath" | "os.fsdecode"
        | "os.fsencode" => match first {
            Some(value) => value.each(|one| match &one.what {
                What::List(numbers) => decode::characters(numbers),
                _ => Value::text(one.to_text()).with(one.taint),
            }),
            None => Value::text(""),
        },
        "repr"
        | "copy.copy"
        | "copy.deepcopy"
        | "list"
        | "tuple"
        | "set"
        | "frozenset"
        | "iter"
        | "compile"
        | "ast.parse"
        | "sqlalchemy.text"
        | "typing.cast"
        | "io.StringIO"
        | "io.BytesIO"
        | "textwrap.dedent"
        | "shlex.quote"
        | "asyncio.run"
        | "asyncio.wait_for"
        | "asyncio.ensure_future"
        | "asyncio.create_task" => {
            let at = if &*site.name == "typing.cast" { 1 } else { 0 };
            match (site.arg(at), site.name.as_ref()) {
                (Some(value), _) => value.clone(),
                (None, "list" | "tuple" | "set") => Value::list(Vec::new()),
                (None, _) => unknown(),
            }
        }
        "sorted" => first?.clone(),
        "reversed" => first?.each(|one| match &one.what {
            What::Text(text) if !text.contains(Word::HOLE) => {
                Value::list(text.chars().rev().map(|c| Value::text(c.to_string())).collect())
            }
            What::List(items) => Value::list(items.iter().rev().cloned().collect()),
            _ => one.clone(),
        }),
        "dict" => {
            let mut entries = first.and_then(Value::as_map).map(|map| map.to_vec()).unwrap_or_default();
            entries.extend(site.keywords.iter().cloned());
            Value::map(entries)
        }
        "chr" => first?.each(|one| decode::characters(std::slice::from_ref(one))),
        "ord" => first?.each(|one| match one.known_text().and_then(|text| text.chars().next()) {
            Some(c) => What::Number(i64::from(u32::from(c))).into(),
            None => unknown(),
        }),
        "int" => first?.each(|one| match (&one.what, site.arg(1).and_then(Value::as_number)) {
            (What::Number(_), _) => one.clone(),
            (What::Text(text), radix) => {
                let radix = radix
                    .and_then(|radix| u32::try_from(radix).ok())
                    .filter(|radix| (2..=36).contains(radix));
                let digits = text.trim().trim_start_matches("0x");
                i64::from_str_radix(digits, radix.unwrap_or(10))
                    .map_or(unknown(), |number| What::Number(number).into())
            }
            _ => unknown(),
        }),
        "len" => match first.map(|value| &value.what) {
            Some(What::List(items)) => What::Number(i64::try_from(items.len()).unwrap_or(0)).into(),
            _ => unknown(),
        },
        "range" | "xrange" => range(site),
        "enumerate" => {
            let items = first?.as_list()?;
            let pairs = (0..)
                .zip(items.iter())
                .map(|(at, item)| Value::list(vec![What::Number(at).into(), item.clone()]));
            Value::list(pairs.collect())
        }
        "zip" => {
            let lists: Vec<_> = site.args.iter().map(Value::as_list).collect::<Option<_>>()?;
            let length = lists.iter().map(|list| list.len()).min().unwrap_or(0);
            let row =
                |at: usize| Value::list(lists.iter().filter_map(|list| list.get(at).cloned()).collect());
            Value::list((0..length).map(row).collect())
        }
        "next" => machine.element_of(first?),
        "random.choice" => machine.element_of(first?),
        "getattr" | "operator.getitem" => {
            let name = site.arg(1)?;
            let object = first?.clone();
            name.each(|name| match name.known_text() {
                Some(name) => machine.attribute(&object, &name),
                None if object.as_thing().is_some_and(|thing| !thing.made) => {
                    machine.attribute(&object, "\0")
                }
                None => unknown(),
            })
        }
        "__import__"
        | "importlib.import_module"
        | "importlib.__import__"
        | "imp.load_module"
        | "pydoc.locate" => first.or_else(|| site.keyword("name"))?.each(|name| match name.known_text() {
            Some(name) => global(&name),
            None => Value::thing("\0"),
        }),
        "globals" | "locals" | "vars" if first.is_none() => Value::made(Rc::clone(&site.name), None),
        "vars" => first?.clone(),
        "functools.partial" => {
            let function = first?.clone();
            Value::partial(function, site.args.get(1..).unwrap_or_default().to_vec(), site.keywords.clone())
        }
        // `attrgetter("name")(object)` is `getattr(object, "name")`.
        "operator.attrgetter" => {
            Value::partial(Value::thing("operator.attrgetter()"), site.args.clone(), Vec::new())
        }
        "operator.attrgetter()" => {
            let name = first?.known_text()?;
            let object = site.arg(1)?.clone();
            name.split('.').fold(object, |object, part| machine.attribute(&object, part))
        }
        "operator.methodcaller" => {
            Value::partial(Value::thing("operator.methodcaller()"), site.args.clone(), Vec::new())
        }
        "operator.methodcaller()" => {
            let (name, object) = (first?.known_text()?, site.args.last()?.clone());
            let method = machine.attribute(&object, &name);
            let args = site.args.get(1..site.args.len() - 1).unwrap_or_default().to_vec();
            machine.call_value(&method, Some(&object), args, Vec::new(), site.span)
        }
        "super" => match machine.lookup("self").what {
            What::Instance(id) => What::Instance(id).into(),
            _ => unknown(),
        },
        _ => return None,
    })
}

fn range(site: &CallSite) -> Value {
    let numbers: Option<Vec<i64>> = site.args.iter().map(Value::as_number).collect();
    let (start, end, step) = match numbers.as_deref() {
        Some([end]) => (0, *end, 1),
        Some([start, end]) => (*start, *end, 1),
        Some([start, end, step]) => (*start, *end, *step),
        _ => return Value::UNKNOWN,
    };
    if step <= 0 || end.saturating_sub(start) / step > RANGE {
        return Value::UNKNOWN;
    }
    let mut numbers = Vec::new();
    let mut at = start;
    while at < end {
        numbers.push(What::Number(at).into());
        at = at.saturating_add(step);
    }
    Value::list(numbers)
}

fn library(site: &CallSite) -> Option<Value> {
    let first = site.arg(0);
    let on_path =
        |work: fn(&str) -> String| first.map(|value| value.each(|one| Value::text(work(&one.to_text()))));
    match &*site.name {
        "os.path.join" => Some(text::join_all_paths(&site.args)),
        "os.path.expanduser" | "os.path.expandvars" => on_path(expand),
        "os.path.abspath" | "os.path.realpath" | "os.path.normpath" | "os.path.normcase" => {
            on_path(str::to_owned)
        }
        "os.path.dirname" => on_path(parent),
        "os.path.basename" => on_path(base_name),
        "os.getcwd" => Some(Value::text(".")),
        "os.getenv" | "os.environ.get" | "os.environ.pop" | "os.environ.setdefault" => {
            let found = variable(first?.known_text().as_deref());
            Some(match (found.what == What::Unknown, site.arg(1)) {
                (true, Some(default)) => default.clone().or(found),
                _ => found,
            })
        }
        "os.environ.copy" => Some(Value::UNKNOWN.with(Taint::ENVIRONMENT)),
        "pathlib.Path" => Some(match site.args.as_slice() {
            [] => path("."),
            parts => {
                let joined = text::join_all_paths(parts);
                joined.each(|one| path(one.to_text()))
            }
        }),
        "pathlib.Path.home" => Some(path("~")),
        "pathlib.Path.cwd" => Some(path(".")),
        "tempfile.gettempdir" => Some(Value::text("/tmp")),
        "tempfile.mkdtemp" | "tempfile.mktemp" => Some(Value::text("/tmp/\0")),
        "tempfile.mkstemp" => Some(Value::list(vec![Value::UNKNOWN, Value::text("/tmp/\0")])),
        "tempfile.TemporaryDirectory" => Some(Value::text("/tmp/\0")),
        "tempfile.NamedTemporaryFile" | "tempfile.TemporaryFile" => {
            Some(Value::made("open", Some("/tmp/\0".into())))
        }
        "shlex.join" => first?.as_list().map(|items| text::join(" ", items)),
        "shlex.split" => {
            let command = first?.known_text()?;
            Some(Value::list(command.split_whitespace().map(Value::text).collect()))
        }
        "getpass.getuser" | "input" | "platform.system" => Some(Value::UNKNOWN),
        "str.join" | "bytes.join" => Some(text::join(&first?.known_text()?, site.arg(1)?.as_list()?)),
        _ => None,
    }
}

/// `~` and `$HOME` stay as they are: a path to the home directory is known by them.
fn expand(path: &str) -> String {
    match path.strip_prefix("$HOME") {
        Some(rest) => format!("~{rest}"),
        None => path.to_owned(),
    }
}

fn decoder(site: &CallSite) -> Option<Value> {
    let first = site.arg(0).or_else(|| site.keyword("s"));
    let unread = |_: &str| None;
    let decoded = |decoder: fn(&str) -> Option<String>| first.map(|value| decode::decode(value, decoder));
    match &*site.name {
        "base64.b64decode"
        | "base64.standard_b64decode"
        | "base64.urlsafe_b64decode"
        | "base64.decodebytes"
        | "base64.decodestring"
        | "binascii.a2b_base64" => decoded(decode::base64),
        "binascii.unhexlify" | "binascii.a2b_hex" | "bytes.fromhex" | "bytearray.fromhex"
        | "base64.b16decode" => decoded(decode::hex),
        "urllib.parse.unquote" | "urllib.parse.unquote_plus" => first.map(|value| {
            value.each(|one| {
                one.known_text().and_then(|text| decode::percent(&text)).map_or(Value::UNKNOWN, Value::text)
            })
        }),
        "codecs.decode" | "codecs.encode" => {
            let encoding = site.arg(1).or_else(|| site.keyword("encoding"));
            Some(by_encoding(first?, encoding.and_then(Value::known_text).as_deref()))
        }
        "base64.b64encode" | "base64.standard_b64encode" | "base64.encodebytes" => Some(first?.each(|one| {
            one.known_text().map_or(Value::UNKNOWN, |text| Value::text(decode::encode_base64(&text)))
        })),
        "base64.b32decode" | "base64.b85decode" | "base64.a85decode" | "zlib.decompress"
        | "gzip.decompress" | "bz2.decompress" | "lzma.decompress" | "marshal.loads" | "uu.decode" => {
            decoded(unread)
        }
        _ if matches!(site.method(), "decrypt" | "decrypt_and_verify") && site.name.contains('.') => {
            decoded(unread)
        }
        _ if matches!(site.method(), "encrypt" | "encrypt_and_digest" | "encryptor") => {
            let is_file = site.args.iter().any(|value| value.taint.has(Taint::FILE));
            Some(Value::unknown(if is_file { Taint::ENCRYPTED } else { Taint::NONE }))
        }
        _ => None,
    }
}

/// A text in a named encoding; an ordinary character set changes nothing.
fn by_encoding(value: &Value, encoding: Option<&str>) -> Value {
    match encoding.map(|name| name.to_ascii_lowercase().replace('-', "_")).as_deref() {
        Some("rot13" | "rot_13") => decode::decode(value, decode::rot13),
        Some("base64" | "base_64" | "base64_codec") => decode::decode(value, decode::base64),
        Some("hex" | "hex_codec") => decode::decode(value, decode::hex),
        Some("zlib" | "zip" | "bz2" | "uu") => decode::decode(value, |_| None),
        Some("unicode_escape" | "string_escape") => {
            decode::decode(value, |text| Some(decode::unescape(text)))
        }
        _ => value.clone(),
    }
}

fn text_method(receiver: &Value, text: &Rc<str>, site: &CallSite) -> Value {
    let known = receiver.known_text();
    let argument = |at: usize| site.arg(at).and_then(Value::known_text);
    let result = match site.method() {
        "join" => site.arg(0).map(|items| {
            items.each(|items| match (&items.what, known.as_deref()) {
                (What::List(items), Some(between)) => text::join(between, items),
                (What::Text(letters), Some("")) => Value::text(Rc::clone(letters)),
                _ => Value::text("\0").with(items.taint),
            })
        }),
        "format" => Some(text::format(text, &site.args, &site.keywords)),
        "format_map" => site.arg(0).and_then(Value::as_map).map(|map| text::format(text, &[], map)),
        "encode" | "decode" => {
            let encoding = site.arg(0).or_else(|| site.keyword("encoding")).and_then(Value::known_text);
            Some(by_encoding(receiver, encoding.as_deref()))
        }
        "strip" | "lstrip" | "rstrip" => Some(match argument(0) {
            None => Value::text(text.trim()),
            Some(set) => Value::text(text.trim_matches(|c| set.contains(c))),
        }),
        "lower" | "casefold" => Some(Value::text(text.to_lowercase())),
        "upper" => Some(Value::text(text.to_uppercase())),
        "swapcase" => Some(Value::text(text.chars().map(swap_case).collect::<String>())),
        "expandtabs" | "zfill" | "ljust" | "rjust" | "center" | "title" | "capitalize" | "__str__"
        | "tobytes" => Some(receiver.clone()),
        "replace" => match (known.as_deref(), argument(0), argument(1)) {
            (Some(text), Some(from), Some(to)) => text::replace(text, &from, &to),
            _ => None,
        },
        "removeprefix" => argument(0).map(|prefix| Value::text(text.strip_prefix(&*prefix).unwrap_or(text))),
        "removesuffix" => argument(0).map(|suffix| Value::text(text.strip_suffix(&*suffix).unwrap_or(text))),
        "split" | "rsplit" | "splitlines" | "partition" => known.as_deref().map(|text| {
            let parts: Vec<Value> = match argument(0).filter(|between| !between.is_empty()) {
                Some(between) => text.split(&*between).take(256).map(Value::text).collect(),
                None => text.split_whitespace().take(256).map(Value::text).collect(),
            };
            Value::list(parts)
        }),
        "hex" => known
            .as_deref()
            .map(|text| Value::text(text.bytes().map(|b| format!("{b:02x}")).collect::<String>())),
        "fromhex" => site.arg(0).map(|value| decode::decode(value, decode::hex)),
        "translate" => Some(Value::unknown(Taint::DECODED)),
        "__add__" => site.arg(0).map(|other| receiver.concat(other)),
        _ => Some(Value::UNKNOWN),
    };
    result.unwrap_or(Value::UNKNOWN)
}

fn swap_case(c: char) -> char {
    if c.is_ascii_uppercase() { c.to_ascii_lowercase() } else { c.to_ascii_uppercase() }
}

fn container_method(receiver: &Value, site: &CallSite) -> Option<Value> {
    match (&receiver.what, site.method()) {
        (What::Map(_), "get" | "pop" | "setdefault") => {
            let key = site.arg(0)?.known_text();
            let found = key.and_then(|key| receiver.get(&key).cloned());
            Some(found.or_else(|| site.arg(1).cloned()).unwrap_or(Value::UNKNOWN))
        }
        (What::Map(entries), "items") => {
            let pair = |(key, value): &(Rc<str>, Value)| {
                Value::list(vec![Value::text(Rc::clone(key)), value.clone()])
            };
            Some(Value::list(entries.iter().map(pair).collect()))
        }
        (What::Map(entries), "values") => {
            Some(Value::list(entries.iter().map(|(_, value)| value.clone()).collect()))
        }
        (What::Map(entries), "keys") => {
            Some(Value::list(entries.iter().map(|(key, _)| Value::text(Rc::clone(key))).collect()))
        }
        (What::List(items), "pop") => match site.arg(0).and_then(Value::as_number) {
            Some(at) => usize::try_from(at).ok().and_then(|at| items.get(at).cloned()),
            None => items.last().cloned(),
        },
        (_, "copy") => Some(receiver.clone()),
        (
            What::List(_),
            "append" | "extend" | "insert" | "remove" | "sort" | "reverse" | "clear" | "index",
        ) => Some(What::Nothing.into()),
        _ => None,
    }
}

fn path_method(text: &Rc<str>, site: &CallSite) -> Option<Value> {
    match site.method() {
        "joinpath" => {
            let parts: Vec<Value> =
                std::iter::once(Value::text(Rc::clone(text))).chain(site.args.iter().cloned()).collect();
            Some(text::join_all_paths(&parts).each(|one| path(one.to_text())))
        }
        "expanduser" | "resolve" | "absolute" | "with_segments" => Some(path(Rc::clone(text))),
        "as_posix" | "__str__" | "as_uri" => Some(Value::text(Rc::clone(text))),
        "with_name" => Some(path(text::join_paths(&parent(text), &site.arg(0)?.to_text()))),
        "with_suffix" => {
            let stem = text.rsplit_once('.').map_or(&**text, |(stem, _)| stem);
            Some(path(format!("{stem}{}", site.arg(0)?.to_text())))
        }
        "iterdir" | "glob" | "rglob" => {
            // A pattern that chooses is as good as a condition.
            let pattern = site.arg(0).and_then(Value::known_text);
            let is_all =
                pattern.as_deref().is_some_and(|pattern| matches!(pattern, "*" | "**" | "**/*" | "*.*"));
            let is_walk = is_all && (site.method() == "rglob" || pattern.as_deref() != Some("*"));
            let name = if is_walk { "pathlib.Path.rglob" } else { "pathlib.Path.iterdir" };
            Some(Value::made(name, Some(Rc::clone(text))))
        }
        _ => None,
    }
}
