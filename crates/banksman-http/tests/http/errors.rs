//! `docs/errors.md` explains every code, and nothing else.

use std::collections::BTreeMap;

use banksman_http::CODES;

const DOCS: &str = include_str!("../../../../docs/errors.md");

/// The sections by their headings.
fn sections() -> BTreeMap<&'static str, &'static str> {
    DOCS.split("\n## ").skip(1).filter_map(|section| section.split_once('\n')).collect()
}

#[test]
fn every_code_has_a_section_and_every_section_is_a_code() {
    let mut codes: Vec<_> = CODES.iter().map(|code| code.as_str()).collect();
    codes.sort_unstable();
    let headings: Vec<_> = sections().into_keys().collect();
    assert_eq!(headings, codes);
}

#[test]
fn every_section_says_the_status_when_it_happens_and_what_to_do() {
    let sections = sections();
    for code in CODES {
        let section = sections[code.as_str()];
        let status = format!("**Status**: {}", code.status());
        assert!(section.contains(&status), "{} lacks {status:?}", code.as_str());
        for part in ["**When**: ", "**Do**: "] {
            assert!(section.contains(part), "{} lacks {part:?}", code.as_str());
        }
    }
}
