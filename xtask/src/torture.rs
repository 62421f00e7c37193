//! `cargo xtask torture`: the fault suite for as long as one likes.

use anyhow::{Context as _, bail};

use crate::test::cargo_with;

/// The test of the suite that does it, in brief.
const TEST: &str = "torture::whatever_breaks_decisions_are_linearizable_and_nothing_is_lost_or_invented";

/// The options, and where the test looks for each.
const OPTIONS: [(&str, &str); 3] = [
    ("--minutes", "BANKSMAN_TORTURE_MINUTES"),
    ("--nodes", "BANKSMAN_TORTURE_NODES"),
    ("--seed", "BANKSMAN_SEED"),
];

/// Breaks nodes, database and the lines between them, and prints a seed, its progress and a summary.
pub(crate) fn run(words: &[&str]) -> anyhow::Result<()> {
    let given = variables(words)?;
    let variables: Vec<(&str, &str)> = given.iter().map(|(name, number)| (*name, number.as_str())).collect();
    let test = ["test", "--package", "banksman", "--test", "cli", TEST, "--", "--exact", "--nocapture"];
    cargo_with(&test, &variables)
}

/// Reads the options; without them it goes on for ten minutes.
fn variables(words: &[&str]) -> anyhow::Result<Vec<(&'static str, String)>> {
    let mut given = vec![("BANKSMAN_TORTURE_MINUTES", "10".to_owned())];
    let mut words = words.iter();
    while let Some(option) = words.next() {
        let Some((_, variable)) = OPTIONS.iter().find(|(name, _)| name == option) else {
            bail!("torture has no option {option}: it knows --minutes N, --nodes K and --seed S");
        };
        let number = words.next().with_context(|| format!("{option}: how many?"))?;
        let number: u64 = number.parse().with_context(|| format!("{option} {number}: not a number"))?;
        if number == 0 && *variable != "BANKSMAN_SEED" {
            bail!("{option} 0 would prove nothing");
        }
        given.retain(|(name, _)| name != variable);
        given.push((variable, number.to_string()));
    }
    Ok(given)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_become_what_the_test_looks_for() {
        let expected = |pairs: &[(&'static str, &str)]| -> Vec<(&'static str, String)> {
            pairs.iter().map(|(name, value)| (*name, (*value).to_owned())).collect()
        };
        assert_eq!(variables(&[]).unwrap(), expected(&[("BANKSMAN_TORTURE_MINUTES", "10")]));
        assert_eq!(
            variables(&["--seed", "0", "--minutes", "3"]).unwrap(),
            expected(&[("BANKSMAN_SEED", "0"), ("BANKSMAN_TORTURE_MINUTES", "3")])
        );
        for bad in [&["--hours", "3"][..], &["--minutes"], &["--minutes", "x"], &["--nodes", "0"]] {
            assert!(variables(bad).is_err(), "{bad:?}");
        }
    }
}
