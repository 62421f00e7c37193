//! Any text as SQL: read without a panic, and never harmless because of what stands before it.

#![no_main]

use std::sync::LazyLock;

use banksman_core::{Kind, Risk};
use banksman_risk::{Assessor, Catalogue};
use libfuzzer_sys::fuzz_target;

static ASSESSOR: LazyLock<Assessor> =
    LazyLock::new(|| Assessor::new(Catalogue::builtin().expect("the built-in rules hold")));

fuzz_target!(|text: &str| {
    let alone = ASSESSOR.assess_text(Kind::Sql, text);
    // A text without any statement is unreadable; with one before it, it is a comment.
    if alone.findings.iter().any(|finding| finding.rule == "unread.unreadable") {
        return;
    }
    for before in ["\n", "SELECT 1;\n", "/* x */\n"] {
        let both = ASSESSOR.assess_text(Kind::Sql, &format!("{before}{text}"));
        // A text at the limit of what is read may be over it now; that is high by itself.
        assert!(both.level >= alone.level || both.level >= Risk::High, "{before:?} lowers {text:?}");
    }
});
