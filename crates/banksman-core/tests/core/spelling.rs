//! JSON values as the tests make them, and the many ways in which each can be spelled.

use std::fmt::Write as _;

use proptest::prelude::*;

/// An exact decimal number: `digits` times ten to `exponent`, without leading or trailing zeros; zero has no
/// digits. Two of them are equal exactly if their values are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Decimal {
    negative: bool,
    digits: String,
    exponent: i32,
}

impl Decimal {
    fn new(negative: bool, digits: &str, exponent: i32) -> Self {
        let stripped = digits.trim_start_matches('0');
        let digits = stripped.trim_end_matches('0');
        if digits.is_empty() {
            return Self::default();
        }
        let trailing = i32::try_from(stripped.len() - digits.len()).unwrap();
        Self { negative, digits: digits.to_owned(), exponent: exponent + trailing }
    }

    /// Some text of JSON's grammar that has this value.
    pub(crate) fn spelled(&self, seed: u64) -> String {
        let mut choice = Choice(seed);
        let sign = if self.negative || (self.digits.is_empty() && choice.of(2) == 1) { "-" } else { "" };
        let digits = format!("{}{}", self.digits, "0".repeat(choice.of(3)));
        let digits = if digits.is_empty() { "0".to_owned() } else { digits };
        let (whole, fraction) = digits.split_at(choice.of(digits.len() + 1));
        // Before the point there is no leading zero but a lone one; after it any number of zeros may stand.
        let zeros = if whole.is_empty() { choice.of(4) } else { 0 };
        let fraction = format!("{}{fraction}", "0".repeat(zeros));
        let shift = self.digits.len() as i64 - whole.len() as i64 + zeros as i64;
        let exponent =
            if self.digits.is_empty() { choice.of(9) as i64 } else { i64::from(self.exponent) + shift };
        let whole = if self.digits.is_empty() || whole.is_empty() { "0" } else { whole };
        let mut text = format!("{sign}{whole}");
        if !fraction.is_empty() {
            let _ = write!(text, ".{fraction}");
        }
        if exponent != 0 || choice.of(3) == 0 {
            text.push(if choice.of(2) == 0 { 'e' } else { 'E' });
            text.push_str(if exponent < 0 {
                "-"
            } else if choice.of(2) == 0 {
                "+"
            } else {
                ""
            });
            let _ = write!(text, "{}{}", "0".repeat(choice.of(3)), exponent.abs());
        }
        text
    }

    /// Other values that a careless reader could take for this one.
    pub(crate) fn neighbours(&self, place: usize, digit: u8) -> Vec<Self> {
        let mut others = vec![
            Self::new(!self.negative, &self.digits, self.exponent),
            Self::new(self.negative, &self.digits, self.exponent + 1),
            Self::new(self.negative, &self.digits, self.exponent - 1),
            Self::new(self.negative, &format!("{}{digit}", self.digits), self.exponent - 1),
        ];
        if !self.digits.is_empty() {
            let mut changed = self.digits.clone().into_bytes();
            let at = place % changed.len();
            changed[at] = b'0' + (changed[at] - b'0' + digit) % 10;
            others.push(Self::new(self.negative, std::str::from_utf8(&changed).unwrap(), self.exponent));
        }
        others.retain(|other| other != self);
        others
    }
}

/// The value of a JSON number's text, read without the code under test.
pub(crate) fn exact(text: &str) -> Decimal {
    let (negative, rest) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (mantissa, exponent) = rest.split_once(['e', 'E']).unwrap_or((rest, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let exponent = exponent.parse::<i32>().unwrap() - i32::try_from(fraction.len()).unwrap();
    Decimal::new(negative, &format!("{whole}{fraction}"), exponent)
}

/// Numbers of any size, most of them beyond what a double holds.
pub(crate) fn decimal() -> impl Strategy<Value = Decimal> + Clone {
    let exponent = prop_oneof![4 => -30i32..30, 2 => -400i32..400, 1 => -9_000i32..9_000];
    (any::<bool>(), "[0-9]{1,40}", exponent)
        .prop_map(|(negative, digits, exponent)| Decimal::new(negative, &digits, exponent))
}

/// Numbers whose exact value is the shortest decimal of some double, as ECMAScript chooses it: of two equally
/// short and equally near ones the even one, where Rust's own formatting takes the other.
pub(crate) fn double() -> impl Strategy<Value = Decimal> + Clone {
    let integer = any::<i32>().prop_map(f64::from);
    prop_oneof![any::<f64>().prop_filter("finite", |value| value.is_finite()), integer]
        .prop_map(|value| exact(&serde_json_canonicalizer::to_string(&value).unwrap()))
}

/// A JSON value.
#[derive(Debug, Clone)]
pub(crate) enum Tree {
    Null,
    Bool(bool),
    Number(Decimal),
    String(String),
    Array(Vec<Tree>),
    Object(Vec<(String, Tree)>),
}

/// Any value that is made of such numbers.
pub(crate) fn tree(number: impl Strategy<Value = Decimal> + 'static) -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![
        1 => Just(Tree::Null),
        1 => any::<bool>().prop_map(Tree::Bool),
        4 => number.prop_map(Tree::Number),
        2 => string().prop_map(Tree::String),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Tree::Array),
            prop::collection::btree_map(string(), inner, 0..6)
                .prop_map(|map| Tree::Object(map.into_iter().collect())),
        ]
    })
}

/// Short texts with what is easily got wrong: escapes, controls, and keys beyond the basic plane, whose order
/// in UTF-16 is not that of their bytes.
fn string() -> impl Strategy<Value = String> {
    let special = prop::sample::select(vec!['"', '\\', '/', '\u{7f}', 'é', '\u{fb33}', '😀', '\u{ffff}']);
    let control = prop::char::range('\u{1}', '\u{1f}');
    let any = any::<char>().prop_filter("the parser refuses NUL", |c| *c != '\0');
    prop::collection::vec(prop_oneof![special, control, any, prop::char::range('a', 'c')], 0..5)
        .prop_map(|chars| chars.into_iter().collect())
}

impl Tree {
    /// Some JSON text that has this value.
    pub(crate) fn spelled(&self, seed: u64) -> String {
        let mut out = String::new();
        self.spell(&mut out, &mut Choice(seed));
        out
    }

    fn spell(&self, out: &mut String, choice: &mut Choice) {
        choice.space(out);
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Self::Number(number) => out.push_str(&number.spelled(choice.next())),
            Self::String(text) => spell_string(out, text, choice),
            Self::Array(items) => {
                out.push('[');
                for (position, item) in items.iter().enumerate() {
                    if position > 0 {
                        out.push(',');
                    }
                    item.spell(out, choice);
                }
                choice.space(out);
                out.push(']');
            }
            Self::Object(members) => {
                let mut members: Vec<_> = members.iter().collect();
                for last in (1..members.len()).rev() {
                    members.swap(last, choice.of(last + 1));
                }
                out.push('{');
                for (position, (key, value)) in members.into_iter().enumerate() {
                    if position > 0 {
                        out.push(',');
                    }
                    choice.space(out);
                    spell_string(out, key, choice);
                    choice.space(out);
                    out.push(':');
                    value.spell(out, choice);
                }
                choice.space(out);
                out.push('}');
            }
        }
        choice.space(out);
    }
}

fn spell_string(out: &mut String, text: &str, choice: &mut Choice) {
    out.push('"');
    for c in text.chars() {
        let short = match c {
            '"' => Some('"'),
            '\\' => Some('\\'),
            '/' => Some('/'),
            '\u{8}' => Some('b'),
            '\u{c}' => Some('f'),
            '\n' => Some('n'),
            '\r' => Some('r'),
            '\t' => Some('t'),
            _ => None,
        };
        let plain_is_legal = c >= ' ' && c != '"' && c != '\\';
        match (choice.of(3), short) {
            (0, _) if plain_is_legal => out.push(c),
            (1, Some(short)) => {
                out.push('\\');
                out.push(short);
            }
            (spelling, _) => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let _ = if spelling == 1 {
                        write!(out, "\\u{unit:04x}")
                    } else {
                        write!(out, "\\u{unit:04X}")
                    };
                }
            }
        }
    }
    out.push('"');
}

/// A stream of choices from a seed: the same seed always spells the same.
struct Choice(u64);

impl Choice {
    fn next(&mut self) -> u64 {
        // SplitMix64: enough to vary a spelling.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn of(&mut self, count: usize) -> usize {
        usize::try_from(self.next() % count as u64).unwrap()
    }

    fn space(&mut self, out: &mut String) {
        out.push_str(["", "", "", " ", "\n\t", "\r"][self.of(6)]);
    }
}
