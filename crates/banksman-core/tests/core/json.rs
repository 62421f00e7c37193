//! The canonical form: one text for each value, one value for each text, and no surprise in between.

use banksman_core::json::{CanonicalJson, parse};
use proptest::prelude::*;
use serde_json::value::RawValue;

use crate::fixture::cases;
use crate::spelling::{Decimal, Tree, decimal, double, exact, tree};

fn canonical(text: &str) -> String {
    CanonicalJson::parse(text.as_bytes())
        .unwrap_or_else(|error| panic!("{error}: {text}"))
        .as_str()
        .to_owned()
}

/// What must hold for any text that the parser accepts, however it came about.
fn check_accepted(text: &str) -> Result<(), TestCaseError> {
    let once = canonical(text);
    let again = CanonicalJson::parse(once.as_bytes());
    prop_assert_eq!(again.as_ref().map(CanonicalJson::as_str), Ok(once.as_str()), "not a fixpoint: {}", text);
    // Stricter than serde_json, never laxer: what passes here must not fail or change meaning further on.
    prop_assert!(serde_json::from_str::<&RawValue>(text).is_ok(), "serde_json refuses {text}");
    prop_assert!(serde_json::from_str::<&RawValue>(&once).is_ok(), "serde_json refuses {once}");
    Ok(())
}

/// Equal but for the type that serde_json keeps a number in: 899 and 899.00 are an integer and a float there.
fn same_value(a: &serde_json::Value, b: &serde_json::Value) -> bool {
    use serde_json::Value::{Array, Bool, Null, Number, Object, String};
    match (a, b) {
        (Null, Null) => true,
        (Bool(a), Bool(b)) => a == b,
        (String(a), String(b)) => a == b,
        (Number(a), Number(b)) => a.as_f64() == b.as_f64(),
        (Array(a), Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_value(a, b)),
        (Object(a), Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same_value(a, b)))
        }
        (Null | Bool(_) | String(_) | Number(_) | Array(_) | Object(_), _) => false,
    }
}

proptest! {
    #![proptest_config(cases(512))]

    #[test]
    fn spelling_does_not_change_the_canonical_text(tree in tree(decimal()), a: u64, b: u64) {
        let (one, other) = (tree.spelled(a), tree.spelled(b));
        prop_assert_eq!(canonical(&one), canonical(&other));
        check_accepted(&one)?;
    }

    /// An inverse exists, so no two different values can share a canonical text.
    #[test]
    fn the_canonical_text_of_a_number_is_exact(number in decimal(), seed: u64) {
        let text = canonical(&number.spelled(seed));
        prop_assert_eq!(exact(&text), number, "{}", text);
    }

    /// The same, tried from the other side on pairs that are hard to tell apart.
    #[test]
    fn neighbours_do_not_share_a_canonical_text(number in decimal(), digit in 1u8..10, place: usize, seeds: [u64; 2]) {
        let text = canonical(&number.spelled(seeds[0]));
        for other in number.neighbours(place, digit) {
            prop_assert_ne!(&text, &canonical(&other.spelled(seeds[1])), "{:?} and {:?}", number, other);
        }
    }

    #[test]
    fn no_bytes_make_the_parser_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let _ = parse(&bytes);
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in r#"[\[\]{}:,"\\ue0-9.+\-truefalsn \u{d7ff}\u{10000}\t\x00]{0,48}"#) {
        if parse(text.as_bytes()).is_ok() {
            check_accepted(&text)?;
        }
    }

    /// Texts that are nearly JSON reach deeper into the parser than random ones.
    #[test]
    fn damaged_texts_are_refused_or_still_canonical(
        tree in tree(decimal()), seed: u64, at: prop::sample::Index, byte: u8, cut: bool,
    ) {
        let mut bytes = tree.spelled(seed).into_bytes();
        let at = at.index(bytes.len());
        if cut { bytes.truncate(at) } else { bytes[at] = byte }
        if parse(&bytes).is_ok() {
            check_accepted(std::str::from_utf8(&bytes).unwrap())?;
        }
    }

    #[test]
    fn serde_json_reads_the_same_value(tree in tree(double()), seed: u64) {
        let text = tree.spelled(seed);
        let canonical = canonical(&text);
        let before: serde_json::Value = serde_json::from_str(&text).unwrap();
        let after: serde_json::Value = serde_json::from_str(&canonical).unwrap();
        prop_assert!(same_value(&before, &after), "{} became {}", text, canonical);
        // Where every number is a double, the text is the one that RFC 8785 prescribes, to the byte.
        prop_assert_eq!(canonical, serde_json_canonicalizer::to_string(&before).unwrap());
    }
}

/// Found by the properties above: the longest and the largest numbers grow when they are written canonically,
/// and a canonical text that its own reader refuses would make a stored action unreadable.
#[test]
fn numbers_at_the_limits_are_refused_or_read_back() {
    let digits = |count: usize| "7".repeat(count);
    for text in [
        "1e9999".to_owned(),
        "12e9999".to_owned(),
        "0.1e-9999".to_owned(),
        "-0.001e-9999".to_owned(),
        "1e-9999".to_owned(),
        digits(256),
        digits(250),
        format!("-{}", digits(255)),
        format!("{}e-9999", digits(250)),
        format!("0.{}", digits(254)),
        format!("0.{}1", "0".repeat(253)),
        format!("{}e9999", "0.".to_owned() + &digits(20)),
    ] {
        if parse(text.as_bytes()).is_ok() {
            check_accepted(&text).unwrap();
        }
    }
    for text in ["12e9998", "1e9999", "10e9998", "0.1e-9998", "1e-9999", &digits(250)] {
        assert!(parse(text.as_bytes()).is_ok(), "{text} is within the limits");
    }
}

#[test]
fn a_tree_can_be_as_deep_as_the_limit_and_serde_json_still_reads_it() {
    let mut tree = Tree::Number(Decimal::default());
    for _ in 0..64 {
        tree = Tree::Array(vec![tree]);
    }
    check_accepted(&tree.spelled(7)).unwrap();
    assert!(parse(Tree::Array(vec![tree]).spelled(7).as_bytes()).is_err());
}
