//! What JavaScript's pure functions and methods give.

use std::rc::Rc;

use super::names::{module, variable};
use super::source;
use crate::code::decode;
use crate::code::dialect::CallSite;
use crate::code::machine::Machine;
use crate::code::text;
use crate::code::value::{Taint, Value, What};

/// What a call gives, if that can be told without doing anything.
pub(super) fn compute(machine: &mut Machine<'_, '_>, site: &CallSite) -> Option<Value> {
    if let Some(receiver) = &site.receiver {
        match &receiver.what {
            What::Text(text) => return Some(text_method(receiver, text, site)),
            What::List(items) => {
                if let Some(value) = list_method(receiver, items, site) {
                    return Some(value);
                }
            }
            _ => {}
        }
    }
    let first = site.arg(0);
    Some(match &*site.name {
        "createRequire" | "module.createRequire" | "module.Module.createRequire" => Value::thing("require"),
        "require" | "require.resolve" => first?.each(|name| match name.known_text() {
            Some(name) if source::is_source(&name) => source::run(machine, &name, site.span),
            Some(name) => Value::thing(module(&name)),
            None => Value::thing("\0"),
        }),
        "String"
        | "String.raw"
        | "Object.freeze"
        | "Array.from"
        | "Promise.resolve"
        | "util.promisify"
        | "structuredClone"
        | "Promise.all"
        | "Object.assign"
        | "Array.of"
        | "String.prototype.toString" => {
            site.arg(0).or_else(|| site.keyword(super::expressions::TEMPLATE))?.clone()
        }
        "Object.keys" => {
            let entries = first?.as_map()?;
            Value::list(entries.iter().map(|(key, _)| Value::text(Rc::clone(key))).collect())
        }
        "Object.values" => Value::list(first?.as_map()?.iter().map(|(_, value)| value.clone()).collect()),
        "String.fromCharCode" | "String.fromCodePoint" => decode::characters(&site.args),
        "parseInt" | "Number" => {
            first?.each(|one| match (&one.what, site.arg(1).and_then(Value::as_number)) {
                (What::Number(_), _) => one.clone(),
                (What::Text(digits), radix) => {
                    let radix = radix
                        .and_then(|radix| u32::try_from(radix).ok())
                        .filter(|radix| (2..=36).contains(radix));
                    let digits = i64::from_str_radix(digits.trim(), radix.unwrap_or(10));
                    digits.map_or(Value::UNKNOWN, |number| What::Number(number).into())
                }
                _ => Value::UNKNOWN,
            })
        }
        "atob" => decode::decode(first?, decode::base64),
        "btoa" => first?.each(|one| match one.known_text() {
            Some(text) => Value::text(decode::encode_base64(&text)),
            None => Value::UNKNOWN,
        }),
        "unescape" | "decodeURIComponent" | "decodeURI" => first?.each(|one| {
            one.known_text().and_then(|text| decode::percent(&text)).map_or(Value::UNKNOWN, Value::text)
        }),
        "encodeURIComponent" | "encodeURI" | "URL" | "url.parse" => first?.clone(),
        "Buffer.from" | "Buffer" => buffer(site)?,
        "path.join" | "path.resolve" => text::join_all_paths(&site.args),
        "path.normalize" | "fs.realpath" => first?.clone(),
        "path.dirname" => first?.each(|one| {
            let text = one.to_text();
            Value::text(text.rsplit_once('/').map_or(".", |(folder, _)| folder))
        }),
        "path.basename" => {
            first?.each(|one| Value::text(one.to_text().rsplit('/').next().unwrap_or_default()))
        }
        "os.homedir" => Value::text("~"),
        "os.tmpdir" => Value::text("/tmp"),
        "fs.mkdtemp" => Value::text("/tmp/\0"),
        "process.cwd" | "Deno.cwd" => Value::text("."),
        "Deno.env.get" => first?.known_text().map_or(Value::UNKNOWN, |name| variable(&name)),
        "Deno.env.toObject" => Value::unknown(Taint::ENVIRONMENT),
        "Reflect.get" => {
            let name = site.arg(1)?.known_text()?;
            machine.attribute(first?, &name)
        }
        "Reflect.apply" => {
            let args = site.arg(2).and_then(Value::as_list).map(|list| list.to_vec()).unwrap_or_default();
            machine.call_value(&first?.clone(), None, args, Vec::new(), site.span)
        }
        "zlib.inflate" | "zlib.gunzip" | "zlib.unzip" | "zlib.brotliDecompress" => {
            decode::decode(first?, |_| None)
        }
        "crypto.createDecipheriv.update" | "crypto.createDecipher.update" => decode::decode(first?, |_| None),
        "crypto.createCipheriv.update" | "crypto.createCipher.update" | "crypto.publicEncrypt" => {
            let is_file = site.args.iter().any(|value| value.taint.has(Taint::FILE));
            Value::unknown(if is_file { Taint::ENCRYPTED } else { Taint::NONE })
        }
        _ => return None,
    })
}

/// `Buffer.from(text, encoding)`.
fn buffer(site: &CallSite) -> Option<Value> {
    let first = site.arg(0)?;
    let encoding = site.arg(1).and_then(Value::known_text);
    Some(match (encoding.as_deref(), &first.what) {
        (Some("base64" | "base64url"), _) => decode::decode(first, decode::base64),
        (Some("hex"), _) => decode::decode(first, decode::hex),
        (_, What::List(numbers)) => decode::characters(numbers),
        _ => first.clone(),
    })
}

fn text_method(receiver: &Value, text: &Rc<str>, site: &CallSite) -> Value {
    let known = receiver.known_text();
    let argument = |at: usize| site.arg(at).and_then(Value::known_text);
    let number = |at: usize| site.arg(at).and_then(Value::as_number);
    let bounds = |from: Option<i64>, to: Option<i64>| Some(text::slice(receiver, &[from, to]));
    let result = match site.method() {
        "toString" => match argument(0).as_deref() {
            Some("base64") => known.map(|text| Value::text(decode::encode_base64(&text))),
            _ => Some(receiver.clone()),
        },
        "valueOf" | "normalize" | "padStart" | "padEnd" | "trimStart" | "trimEnd" => Some(receiver.clone()),
        "trim" => Some(Value::text(text.trim())),
        "concat" => Some(site.args.iter().fold(receiver.clone(), |whole, part| whole.concat(part))),
        "toLowerCase" | "toLocaleLowerCase" => Some(Value::text(text.to_lowercase())),
        "toUpperCase" | "toLocaleUpperCase" => Some(Value::text(text.to_uppercase())),
        "slice" | "substring" => bounds(number(0), number(1)),
        "substr" => {
            bounds(number(0), number(0).zip(number(1)).map(|(from, length)| from.saturating_add(length)))
        }
        "charAt" | "at" => number(0).and_then(|at| text::character(text, at)),
        "charCodeAt" | "codePointAt" => known.as_deref().and_then(|text| {
            let at = usize::try_from(number(0).unwrap_or(0)).ok()?;
            text.chars().nth(at).map(|c| What::Number(i64::from(u32::from(c))).into())
        }),
        "repeat" => number(0).and_then(|times| {
            let times = usize::try_from(times).ok()?;
            (text.len().checked_mul(times)? <= crate::code::value::TEXT)
                .then(|| Value::text(text.repeat(times)))
        }),
        "replace" | "replaceAll" => match (known.as_deref(), argument(0), argument(1)) {
            (Some(text), Some(from), Some(to)) => text::replace(text, &from, &to),
            _ => None,
        },
        "split" => known.as_deref().map(|text| match argument(0).as_deref() {
            Some("") => Value::list(text.chars().take(256).map(|c| Value::text(c.to_string())).collect()),
            Some(between) => Value::list(text.split(between).take(256).map(Value::text).collect()),
            None => Value::UNKNOWN,
        }),
        _ => Some(Value::UNKNOWN),
    };
    result.unwrap_or(Value::UNKNOWN)
}

fn list_method(receiver: &Value, items: &Rc<Vec<Value>>, site: &CallSite) -> Option<Value> {
    match site.method() {
        "join" => {
            let between = site.arg(0).map_or_else(|| ",".into(), Value::to_text);
            Some(text::join(&between, items))
        }
        "reverse" | "toReversed" => Some(Value::list(items.iter().rev().cloned().collect())),
        "concat" => Some(site.args.iter().fold(receiver.clone(), |whole, part| whole.concat(part))),
        "slice" => {
            let number = |at: usize| site.arg(at).and_then(Value::as_number);
            Some(text::slice(receiver, &[number(0), number(1)]))
        }
        "toString" => Some(text::join(",", items)),
        "pop" => items.last().cloned(),
        "shift" => items.first().cloned(),
        "push" | "unshift" | "sort" | "splice" => Some(receiver.clone()),
        _ => None,
    }
}
