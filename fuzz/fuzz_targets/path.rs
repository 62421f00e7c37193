//! Any text as a path, a URL or a tool call: read without a panic, and never harmless because of a detour.

#![no_main]

use std::sync::LazyLock;

use banksman_core::Kind;
use banksman_risk::{Assessor, Catalogue};
use libfuzzer_sys::fuzz_target;

static ASSESSOR: LazyLock<Assessor> =
    LazyLock::new(|| Assessor::new(Catalogue::builtin().expect("the built-in rules hold")));

fuzz_target!(|text: &str| {
    let level = |text: &str| ASSESSOR.assess_text(Kind::File, text).level;
    let _ = ASSESSOR.assess_text(Kind::Http, text);
    let _ = ASSESSOR.assess_text(Kind::Tool, text);
    for verb in ["read", "write", "rmtree"] {
        let plain = level(&format!("{verb} {text}"));
        // Only a path that is relative for sure means the same behind `./`.
        let relative = text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '.') && !text.contains([':', '\\']);
        if relative {
            assert!(level(&format!("{verb} ./{text}")) >= plain, "./ lowers {verb} {text:?}");
            assert!(level(&format!("{verb} x/../{text}")) >= plain, "x/../ lowers {verb} {text:?}");
        }
    }
});
