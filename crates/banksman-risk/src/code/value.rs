//! What a name stands for, as far as reading can tell.

use std::rc::Rc;

use super::machine::{ClassId, ScopeId};
use super::tree::Function;
use crate::fact::Word;

/// Alternatives that are kept apart; more of them are as good as unknown.
const ALTERNATIVES: usize = 32;
/// Bytes of one text; a longer one is not followed.
pub(crate) const TEXT: usize = 64 * 1024;

/// Where a value came from. Several at once are common: a file's content, encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Taint(u16);

impl Taint {
    pub(crate) const NONE: Self = Self(0);
    /// The content of a local file.
    pub(crate) const FILE: Self = Self(1);
    /// A secret: a key file, a token from the environment.
    pub(crate) const SECRET: Self = Self(2);
    /// The whole environment.
    pub(crate) const ENVIRONMENT: Self = Self(4);
    /// It came over the network.
    pub(crate) const NETWORK: Self = Self(8);
    /// A raw connection, or what came through one.
    pub(crate) const SOCKET: Self = Self(16);
    /// It was decoded or decrypted.
    pub(crate) const DECODED: Self = Self(32);
    /// A file found by listing a folder.
    pub(crate) const LISTED: Self = Self(64);
    /// A file's content, encrypted.
    pub(crate) const ENCRYPTED: Self = Self(128);
    /// A variable of the environment that is named like a secret.
    pub(crate) const TOKEN: Self = Self(256);
    /// Any file below a folder, found by walking it.
    pub(crate) const WALKED: Self = Self(512);

    pub(crate) fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub(crate) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

/// A value and where it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Value {
    pub(crate) what: What,
    pub(crate) taint: Taint,
    bulk: Bulk,
}

/// How much a value holds, so that no list of lists of lists grows beyond what can be gone through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Bulk {
    values: u32,
    depth: u16,
}

impl Bulk {
    const NONE: Self = Self { values: 0, depth: 0 };
    const MOST: Self = Self { values: 20_000, depth: 64 };

    /// Of what holds these. `None`: that is too much.
    fn around<'v>(parts: impl Iterator<Item = &'v Value>) -> Option<Self> {
        let mut all = Self { values: 1, depth: 0 };
        for part in parts {
            all.values = all.values.saturating_add(part.bulk.values.max(1));
            all.depth = all.depth.max(part.bulk.depth + 1);
        }
        (all.values <= Self::MOST.values && all.depth <= Self::MOST.depth).then_some(all)
    }
}

/// The entries of a map, in the order in which they were set.
pub(crate) type Entries = Vec<(Rc<str>, Value)>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum What {
    Unknown,
    /// A text with holes where it is not known.
    Text(Rc<str>),
    Number(i64),
    Flag(bool),
    Nothing,
    List(Rc<Vec<Value>>),
    Map(Rc<Entries>),
    Thing(Rc<Thing>),
    Function(Rc<Closure>),
    Class(ClassId),
    Instance(ClassId),
    /// A function with its first arguments given.
    Partial(Rc<Partial>),
    Either(Rc<Vec<Value>>),
}

/// Something from a library: a module, a function, a class, or (`made`) what a call of it gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Thing {
    /// Its full name: `os.system`; for what a call gave, the name of what was called.
    pub(crate) name: Rc<str>,
    pub(crate) made: bool,
    /// The path or URL that it stands for, if it stands for one.
    pub(crate) text: Option<Rc<str>>,
}

/// A function of the text itself, with the scope and the object that it was made in.
#[derive(Debug, Clone)]
pub(crate) struct Closure {
    pub(crate) function: Rc<Function>,
    pub(crate) scope: ScopeId,
    pub(crate) this: Option<Value>,
}

impl PartialEq for Closure {
    fn eq(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.function, &other.function) && self.scope == other.scope && self.this == other.this
    }
}

impl Eq for Closure {}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Partial {
    pub(crate) function: Value,
    pub(crate) args: Vec<Value>,
    pub(crate) keywords: Vec<(Rc<str>, Value)>,
}

impl From<What> for Value {
    fn from(what: What) -> Self {
        Self { what, taint: Taint::NONE, bulk: Bulk::NONE }
    }
}

impl Value {
    pub(crate) const UNKNOWN: Self = Self { what: What::Unknown, taint: Taint::NONE, bulk: Bulk::NONE };

    pub(crate) fn unknown(taint: Taint) -> Self {
        Self { taint, ..Self::UNKNOWN }
    }

    pub(crate) fn text(text: impl Into<Rc<str>>) -> Self {
        let text = text.into();
        if text.len() > TEXT { Self::UNKNOWN } else { What::Text(text).into() }
    }

    pub(crate) fn list(items: Vec<Self>) -> Self {
        let taint = items.iter().fold(Taint::NONE, |taint, item| taint.and(item.taint));
        match Bulk::around(items.iter()) {
            Some(bulk) => Self { what: What::List(Rc::new(items)), taint, bulk },
            None => Self::unknown(taint),
        }
    }

    pub(crate) fn map(entries: Vec<(Rc<str>, Self)>) -> Self {
        let taint = entries.iter().fold(Taint::NONE, |taint, (_, item)| taint.and(item.taint));
        match Bulk::around(entries.iter().map(|(_, value)| value)) {
            Some(bulk) => Self { what: What::Map(Rc::new(entries)), taint, bulk },
            None => Self::unknown(taint),
        }
    }

    /// Something from a library by its full name.
    pub(crate) fn thing(name: impl Into<Rc<str>>) -> Self {
        What::Thing(Rc::new(Thing { name: name.into(), made: false, text: None })).into()
    }

    /// What a call of something from a library gave.
    pub(crate) fn made(name: impl Into<Rc<str>>, text: Option<Rc<str>>) -> Self {
        What::Thing(Rc::new(Thing { name: name.into(), made: true, text })).into()
    }

    pub(crate) fn with(mut self, taint: Taint) -> Self {
        self.taint = self.taint.and(taint);
        self
    }

    /// The values that it may be.
    pub(crate) fn alternatives(&self) -> &[Self] {
        match &self.what {
            What::Either(values) => values,
            _ => std::slice::from_ref(self),
        }
    }

    /// This or the other.
    pub(crate) fn or(self, other: Self) -> Self {
        if self == other {
            return self;
        }
        let taint = self.taint.and(other.taint);
        // Nothing can be done with nothing: only the other matters.
        if self.what == What::Nothing {
            return other.with(taint);
        }
        if other.what == What::Nothing {
            return self.with(taint);
        }
        let mut all: Vec<Self> = self.alternatives().to_vec();
        for value in other.alternatives() {
            if !all.contains(value) {
                all.push(value.clone());
            }
        }
        if all.len() > ALTERNATIVES {
            return Self::unknown(taint);
        }
        match Bulk::around(all.iter()) {
            Some(bulk) => Self { what: What::Either(Rc::new(all)), taint, bulk },
            None => Self::unknown(taint),
        }
    }

    /// One of these; unknown if there are none.
    pub(crate) fn any_of(values: impl IntoIterator<Item = Self>) -> Self {
        values.into_iter().reduce(Self::or).unwrap_or(Self::UNKNOWN)
    }

    /// Works on every alternative.
    pub(crate) fn each(&self, mut work: impl FnMut(&Self) -> Self) -> Self {
        match &self.what {
            What::Either(values) => Self::any_of(values.iter().map(work)).with(self.taint),
            _ => work(self),
        }
    }

    /// Its text, with holes where it is not known; of an alternative that is no text, a hole.
    pub(crate) fn to_text(&self) -> Rc<str> {
        match &self.what {
            What::Text(text) => Rc::clone(text),
            What::Number(number) => number.to_string().into(),
            What::Flag(flag) => if *flag { "true" } else { "false" }.into(),
            What::Thing(thing) => thing.text.as_ref().map_or_else(|| "\0".into(), Rc::clone),
            What::Unknown
            | What::Nothing
            | What::List(_)
            | What::Map(_)
            | What::Function(_)
            | What::Class(_)
            | What::Instance(_)
            | What::Partial(_)
            | What::Either(_) => "\0".into(),
        }
    }

    /// How much work it is to go through it, in bytes or the like.
    pub(crate) fn weight(&self) -> usize {
        match &self.what {
            What::Text(text) => text.len(),
            What::List(items) => items.len() * 16,
            What::Map(entries) => entries.len() * 16,
            What::Either(values) => values.iter().map(Self::weight).sum(),
            _ => 0,
        }
    }

    /// A function with its first arguments given.
    pub(crate) fn partial(function: Self, args: Vec<Self>, keywords: Entries) -> Self {
        let parts = std::iter::once(&function).chain(&args).chain(keywords.iter().map(|(_, value)| value));
        let Some(bulk) = Bulk::around(parts) else { return Self::UNKNOWN };
        let what = What::Partial(Rc::new(Partial { function, args, keywords }));
        Self { what, taint: Taint::NONE, bulk }
    }

    /// Its text, if all of it is known.
    pub(crate) fn known_text(&self) -> Option<Rc<str>> {
        match &self.what {
            What::Text(text) if !text.contains(Word::HOLE) => Some(Rc::clone(text)),
            What::Thing(thing) => thing.text.clone().filter(|text| !text.contains(Word::HOLE)),
            _ => None,
        }
    }

    /// The library thing that it is.
    pub(crate) fn as_thing(&self) -> Option<&Rc<Thing>> {
        match &self.what {
            What::Thing(thing) => Some(thing),
            _ => None,
        }
    }

    pub(crate) fn as_list(&self) -> Option<&Rc<Vec<Self>>> {
        match &self.what {
            What::List(items) => Some(items),
            _ => None,
        }
    }

    pub(crate) fn as_map(&self) -> Option<&Rc<Entries>> {
        match &self.what {
            What::Map(entries) => Some(entries),
            _ => None,
        }
    }

    pub(crate) fn as_number(&self) -> Option<i64> {
        match self.what {
            What::Number(number) => Some(number),
            _ => None,
        }
    }

    /// The value of a key, if it is a map that has it.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        self.as_map()?.iter().rev().find(|(name, _)| &**name == key).map(|(_, value)| value)
    }

    /// Whether it surely counts as true or false.
    pub(crate) fn truth(&self) -> Option<bool> {
        match &self.what {
            What::Flag(flag) => Some(*flag),
            What::Number(number) => Some(*number != 0),
            What::Nothing => Some(false),
            What::Text(text) if !text.contains(Word::HOLE) => Some(!text.is_empty()),
            _ => None,
        }
    }

    /// Whether calling it means anything.
    pub(crate) fn is_callable(&self) -> bool {
        self.alternatives().iter().any(|value| match &value.what {
            What::Function(_) | What::Partial(_) => true,
            What::Thing(thing) => !thing.made,
            _ => false,
        })
    }

    /// Two texts after each other, for each pair of alternatives.
    pub(crate) fn concat(&self, other: &Self) -> Self {
        let taint = self.taint.and(other.taint);
        if let (Some(left), Some(right)) = (self.as_list(), other.as_list()) {
            return Self::list(left.iter().chain(right.iter()).cloned().collect()).with(taint);
        }
        // A list and something unknown: still a list, of which one part is not known.
        let hole = || Self::unknown(taint);
        match (self.as_list(), other.as_list()) {
            (Some(left), None) if other.what == What::Unknown || other.as_thing().is_some() => {
                return Self::list(left.iter().cloned().chain([hole()]).collect()).with(taint);
            }
            (None, Some(right)) if self.what == What::Unknown || self.as_thing().is_some() => {
                return Self::list([hole()].into_iter().chain(right.iter().cloned()).collect()).with(taint);
            }
            _ => {}
        }
        let is_one = |value: &Self| !matches!(value.what, What::Either(_));
        if is_one(self) && is_one(other) {
            return concat_texts(&self.to_text(), &other.to_text()).with(taint);
        }
        let mut results = Vec::new();
        for left in self.alternatives() {
            for right in other.alternatives() {
                if results.len() > ALTERNATIVES {
                    return Self::text("\0").with(taint);
                }
                results.push(concat_texts(&left.to_text(), &right.to_text()));
            }
        }
        Self::any_of(results).with(taint)
    }
}

fn concat_texts(left: &str, right: &str) -> Value {
    if left.len() + right.len() > TEXT {
        return Value::UNKNOWN;
    }
    // Two holes in a row are one.
    let right = if left.ends_with(Word::HOLE) { right.trim_start_matches(Word::HOLE) } else { right };
    let mut text = String::with_capacity(left.len() + right.len());
    text.push_str(left);
    text.push_str(right);
    What::Text(text.into()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alternatives_are_kept_until_there_are_too_many() {
        let mut value = Value::text("a");
        value = value.or(Value::text("a"));
        assert_eq!(value, Value::text("a"));
        for number in 0..ALTERNATIVES {
            value = value.or(Value::text(number.to_string()));
        }
        assert_eq!(value, Value::UNKNOWN);
    }

    #[test]
    fn what_is_not_known_leaves_a_hole() {
        let text =
            Value::text("rm ").concat(&Value::UNKNOWN).concat(&Value::UNKNOWN).concat(&Value::text("x"));
        assert_eq!(&*text.to_text(), "rm \0x");
        assert_eq!(text.known_text(), None);
    }

    #[test]
    fn every_pair_of_alternatives_is_joined() {
        let either = Value::text("a").or(Value::text("b"));
        let joined = either.concat(&Value::text("c"));
        let texts: Vec<_> = joined.alternatives().iter().map(Value::to_text).collect();
        assert_eq!(texts, ["ac".into(), "bc".into()] as [Rc<str>; 2]);
    }
}
