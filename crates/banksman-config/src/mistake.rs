//! What is wrong with a text, in the words of whoever wrote it, and what was probably meant.

use serde_saphyr::Error;

/// What a language says to a key that is not there, given the keys that are: a phrase that ends in `; `.
pub type Hint = fn(&str, &[&str]) -> Option<String>;

/// What the library says, without its own settings and with a guess.
pub(crate) fn in_words(error: &Error, hint: Hint) -> String {
    match error {
        Error::DuplicateMappingKey { key: Some(key), .. } => {
            format!("{key:?} is there twice: only one of them could count")
        }
        Error::DuplicateMappingKey { key: None, .. } => {
            "a key is there twice: only one of them could count".into()
        }
        Error::Unexpected { expected: "mapping start", .. } => {
            "expected a table here, such as {tier: approve}".into()
        }
        Error::SerdeUnknownField { field, expected, .. } => {
            let all = expected.join(", ");
            let guess = hint(field, expected).unwrap_or_else(|| guess(field, expected));
            format!("there is no key {field:?} here: {guess}the keys are {all}")
        }
        Error::SerdeUnknownVariant { variant, expected, .. } => {
            format!(
                "there is no {variant:?} here: {}one of {}",
                guess(variant, expected),
                expected.join(", ")
            )
        }
        other => {
            let message = other.to_string();
            // The message ends in "at line 3, column 5", which the place says already.
            message.rsplit_once(" at line ").map_or(message.as_str(), |(problem, _)| problem).to_owned()
        }
    }
}

fn guess(written: &str, expected: &[&str]) -> String {
    let near = expected.iter().map(|name| (distance(written, name), *name)).min();
    match near {
        Some((distance, name)) if distance <= 2 && distance < name.len().div_ceil(2) => {
            format!("did you mean {name:?}? ")
        }
        Some(_) | None => String::new(),
    }
}

/// How many letters have to be put in, left out, changed, or swapped with the next one.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().take(64).collect();
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=other.len()).collect();
    let mut previous = None;
    for (row, letter) in one.chars().take(64).enumerate() {
        let mut next = vec![row + 1];
        for (column, wanted) in other.iter().enumerate() {
            let at = |line: &[usize], column: usize| line.get(column).copied().unwrap_or(usize::MAX / 2);
            let changed = at(&last, column) + usize::from(letter != *wanted);
            let mut least = changed.min(at(&last, column + 1) + 1).min(at(&next, column) + 1);
            let swapped = column > 0 && previous == Some(*wanted) && other.get(column - 1) == Some(&letter);
            if swapped {
                least = least.min(at(&before, column - 1) + 1);
            }
            next.push(least);
        }
        before = std::mem::replace(&mut last, next);
        previous = Some(letter);
    }
    last.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::distance;

    #[test]
    fn slips_of_the_fingers_are_near() {
        for (written, meant, steps) in [
            ("teir", "tier", 1),
            ("aprove", "approve", 1),
            ("tool", "tools", 1),
            ("", "ab", 2),
            ("abc", "abc", 0),
            ("ca", "abc", 3),
        ] {
            assert_eq!(distance(written, meant), steps, "{written} {meant}");
        }
    }
}
