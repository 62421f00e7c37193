//! Python of any kind: read without a panic, and no less dangerous for a harmless line after it.

#![no_main]

use std::sync::LazyLock;

use banksman_core::{Assessment, Kind};
use banksman_risk::{Assessor, Catalogue};
use libfuzzer_sys::fuzz_target;

static ASSESSOR: LazyLock<Assessor> =
    LazyLock::new(|| Assessor::new(Catalogue::builtin().expect("the built-in rules hold")));

fn is_unread(assessment: &Assessment) -> bool {
    assessment.findings.iter().any(|finding| finding.rule.starts_with("unread."))
}

fuzz_target!(|text: &str| {
    let assessment = ASSESSOR.assess_text(Kind::Python, text);
    let longer = ASSESSOR.assess_text(Kind::Python, &format!("{text}\nprint(1)\n"));
    if !is_unread(&assessment) && !is_unread(&longer) {
        assert!(longer.level >= assessment.level);
    }
});
