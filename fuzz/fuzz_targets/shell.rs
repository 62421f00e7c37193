//! Any text as a shell command: no panic, no hang, and wrapping it never lowers what is thought of it.
#![no_main]

use std::sync::LazyLock;

use banksman_core::Kind;
use banksman_risk::{Assessor, Catalogue};
use libfuzzer_sys::fuzz_target;

static ASSESSOR: LazyLock<Assessor> = LazyLock::new(|| {
    Assessor::new(Catalogue::builtin().unwrap_or_else(|error| panic!("the built-in rules: {error}")))
});

fuzz_target!(|text: &str| {
    let bare = ASSESSOR.assess_text(Kind::Shell, text).level;
    let quoted = text.replace('\'', "'\\''");
    // A NUL cannot be part of an argument, so such a text cannot be wrapped.
    if text.contains('\0') {
        return;
    }
    for wrapped in [format!("bash -c '{quoted}'"), format!("sudo env -i sh -c '{quoted}'"), format!("eval '{quoted}'")] {
        let level = ASSESSOR.assess_text(Kind::Shell, &wrapped).level;
        assert!(level >= bare, "{level} < {bare}: {wrapped}");
    }
});
