//! Whether a regular expression is found in any text at all.
//!
//! `$a` and `\b\B` compile and never match, because of what they say about their neighbours. What an expression can
//! do is a relation between places in a text: from here, it can end there. All that it can ask of a place is what sort
//! of character stands before it and after it, and there are six sorts. So the relation is a table of 36 by 36 bits;
//! sequences multiply tables, alternatives join them, repetitions take powers. The answer is exact.

use std::sync::LazyLock;

use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, Hir, HirKind, Look};

/// The sorts of neighbours that an expression can tell apart.
const EDGE: usize = 0;
const LINE_FEED: usize = 1;
const CARRIAGE_RETURN: usize = 2;
const ASCII_WORD: usize = 3;
const OTHER_WORD: usize = 4;
const SORTS: usize = 6;

/// A place, as an expression sees it: the sort before it and the sort after it.
const PLACES: usize = SORTS * SORTS;

/// The characters of each sort; no character is an edge.
static CHARACTERS: LazyLock<[ClassUnicode; SORTS]> = LazyLock::new(|| {
    let one = |c: char| ClassUnicode::new([ClassUnicodeRange::new(c, c)]);
    let read = |class: &str| match regex_syntax::parse(class).map(Hir::into_kind) {
        Ok(HirKind::Class(Class::Unicode(class))) => class,
        _ => ClassUnicode::empty(),
    };
    let word = read(r"[0-9A-Za-z_]");
    let other_word = read(r"[\w--[0-9A-Za-z_]]");
    let rest = read(r"[[^\w]--[\r\n]]");
    [ClassUnicode::empty(), one('\n'), one('\r'), word, other_word, rest]
});

/// Whether there is a text in which the expression is found. One that cannot be read might be.
pub(crate) fn can_match(pattern: &str) -> bool {
    regex_syntax::parse(pattern).map_or(true, |hir| !Reach::of(&hir).is_empty())
}

/// From which places to which: a row of bits for each place.
#[derive(Clone, PartialEq, Eq)]
struct Reach([u64; PLACES]);

impl Reach {
    fn of(hir: &Hir) -> Self {
        match hir.kind() {
            HirKind::Empty => Self::stay(),
            HirKind::Look(look) => Self::where_holds(*look),
            HirKind::Literal(literal) => match std::str::from_utf8(&literal.0) {
                Ok(text) => text.chars().fold(Self::stay(), |reach, c| reach.then(&Self::over(sort_of(c)))),
                Err(_) => Self::anything(),
            },
            HirKind::Class(Class::Unicode(class)) => Self::over(sorts_in(class)),
            HirKind::Class(Class::Bytes(class)) => match class.to_unicode_class() {
                Some(class) => Self::over(sorts_in(&class)),
                None => Self::anything(),
            },
            HirKind::Repetition(repetition) => {
                let once = Self::of(&repetition.sub);
                let least = once.times(repetition.min);
                let more = once.or(&Self::stay());
                // After as many steps as there are places, more of them lead nowhere new.
                let at_most = repetition.max.map_or(PLACES as u32, |max| max.saturating_sub(repetition.min));
                least.then(&more.times(at_most))
            }
            HirKind::Capture(capture) => Self::of(&capture.sub),
            HirKind::Concat(parts) => {
                parts.iter().fold(Self::stay(), |reach, part| reach.then(&Self::of(part)))
            }
            HirKind::Alternation(parts) => {
                parts.iter().fold(Self::nothing(), |reach, part| reach.or(&Self::of(part)))
            }
        }
    }

    fn nothing() -> Self {
        Self([0; PLACES])
    }

    fn anything() -> Self {
        Self([(1 << PLACES) - 1; PLACES])
    }

    fn stay() -> Self {
        Self(std::array::from_fn(|place| 1 << place))
    }

    /// Stays where something holds.
    fn where_holds(look: Look) -> Self {
        Self(std::array::from_fn(
            |place| {
                if holds(look, place / SORTS, place % SORTS) { 1 << place } else { 0 }
            },
        ))
    }

    /// Takes one character of these sorts: what was after is now before, and anything may be after.
    fn over(sorts: u64) -> Self {
        Self(std::array::from_fn(|place| {
            let after = place % SORTS;
            if sorts & (1 << after) == 0 { 0 } else { ((1 << SORTS) - 1) << (after * SORTS) }
        }))
    }

    fn then(&self, next: &Self) -> Self {
        Self(self.0.map(|row| {
            next.0
                .iter()
                .enumerate()
                .filter(|(place, _)| row & (1 << place) != 0)
                .fold(0, |all, (_, row)| all | row)
        }))
    }

    fn or(&self, other: &Self) -> Self {
        let mut both = self.clone();
        for (row, more) in both.0.iter_mut().zip(other.0) {
            *row |= more;
        }
        both
    }

    fn times(&self, count: u32) -> Self {
        let (mut power, mut result, mut left) = (self.clone(), Self::stay(), count);
        while left > 0 {
            if left & 1 == 1 {
                result = result.then(&power);
            }
            power = power.then(&power);
            left >>= 1;
        }
        result
    }

    fn is_empty(&self) -> bool {
        self.0.iter().all(|row| *row == 0)
    }
}

fn sort_of(c: char) -> u64 {
    sorts_in(&ClassUnicode::new([ClassUnicodeRange::new(c, c)]))
}

fn sorts_in(class: &ClassUnicode) -> u64 {
    (0..).zip(CHARACTERS.iter()).fold(0, |sorts, (sort, characters)| {
        let mut both = characters.clone();
        both.intersect(class);
        if both.ranges().is_empty() { sorts } else { sorts | (1 << sort) }
    })
}

fn holds(look: Look, before: usize, after: usize) -> bool {
    let ascii = |sort: usize| sort == ASCII_WORD;
    let word = |sort: usize| sort == ASCII_WORD || sort == OTHER_WORD;
    match look {
        Look::Start => before == EDGE,
        Look::End => after == EDGE,
        Look::StartLF => before == EDGE || before == LINE_FEED,
        Look::EndLF => after == EDGE || after == LINE_FEED,
        Look::StartCRLF => {
            before == EDGE || before == LINE_FEED || (before == CARRIAGE_RETURN && after != LINE_FEED)
        }
        Look::EndCRLF => {
            after == EDGE || after == CARRIAGE_RETURN || (after == LINE_FEED && before != CARRIAGE_RETURN)
        }
        Look::WordAscii => ascii(before) != ascii(after),
        Look::WordAsciiNegate => ascii(before) == ascii(after),
        Look::WordUnicode => word(before) != word(after),
        Look::WordUnicodeNegate => word(before) == word(after),
        Look::WordStartAscii => !ascii(before) && ascii(after),
        Look::WordEndAscii => ascii(before) && !ascii(after),
        Look::WordStartUnicode => !word(before) && word(after),
        Look::WordEndUnicode => word(before) && !word(after),
        Look::WordStartHalfAscii => !ascii(before),
        Look::WordEndHalfAscii => !ascii(after),
        Look::WordStartHalfUnicode => !word(before),
        Look::WordEndHalfUnicode => !word(after),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_contradicts_itself_never_matches() {
        for pattern in [
            "$a",
            "a^",
            r"\b\B",
            r"a\bb",
            r"(?m)a^b",
            r"\z.",
            r"[^\s\S]",
            r"(x|$)y^",
            r"\w\b\w",
            r"(a\b){2}",
            r"é\bé",
            r"\b{start}\W",
            r"(?mR)\r$\n",
            r"(a$b)+",
            r"[a&&b]",
        ] {
            assert!(!can_match(pattern), "{pattern}");
        }
    }

    #[test]
    fn what_looks_odd_and_can_match_is_let_be() {
        for pattern in [
            "",
            "^$",
            "$^",
            "(?m)$\n^",
            "a*$",
            r"(a\b)?b",
            r"(a\b|-){2}",
            r"\b",
            r"\B",
            r"(?m)a$\nb",
            "$a?",
            r"(?-u:\b)é",
            r"\bé",
            r"(?mR)^\n",
            r"(?mR)a$\r\n^b",
            r"(?s).^|x",
            "(a^b)*",
            r"a{0}$",
            r".{1000}$",
        ] {
            assert!(can_match(pattern), "{pattern}");
        }
    }

    fn piece() -> impl Strategy<Value = String> {
        let atom = prop::sample::select(vec![
            "a",
            "-",
            r"\n",
            r"\r",
            "é",
            ".",
            r"\w",
            r"\W",
            "^",
            "$",
            r"\b",
            r"\B",
            r"\A",
            r"\z",
            r"(?m:^)",
            r"(?m:$)",
            r"(?Rm:^)",
            r"(?Rm:$)",
            r"\b{start}",
            r"\b{end}",
            r"\b{start-half}",
            r"\b{end-half}",
        ])
        .prop_map(str::to_owned);
        atom.prop_recursive(3, 12, 3, |inner| {
            prop_oneof![
                (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("(?:{a}{b})")),
                (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("(?:{a}|{b})")),
                (inner, prop::sample::select(vec!["*", "+", "?", "{2}", "{1,3}"]))
                    .prop_map(|(a, times)| format!("(?:{a}){times}")),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(600))]

        #[test]
        fn an_expression_that_never_matches_is_found_in_no_text(
            pattern in piece(),
            texts in prop::collection::vec("[a\\-\\n\\ré ]{0,6}", 40),
        ) {
            if !can_match(&pattern) {
                let regex = regex::Regex::new(&pattern).unwrap();
                for text in texts {
                    prop_assert!(!regex.is_match(&text), "{pattern:?} is in {text:?}");
                }
            }
        }
    }
}
