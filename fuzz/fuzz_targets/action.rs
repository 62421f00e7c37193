//! The body of a proposal: refused, or an action whose digest survives every way that it is passed on.

#![no_main]

use banksman_core::json::{CanonicalJson, parse};
use banksman_core::{Action, action_digest};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(body) = parse(bytes) else { return };
    let canonical = CanonicalJson::of(&body);
    let Ok(action) = Action::from_json(body) else { return };
    let digest = action.digest();

    // The same proposal, spelled canonically.
    let again = Action::from_json(canonical.to_json().expect("a canonical text reads back"))
        .expect("and is an action");
    assert_eq!(again, action);
    assert_eq!(again.digest(), digest);

    // The same arguments, read again by whoever executes them.
    let args = CanonicalJson::parse(action.args.as_str().as_bytes()).expect("canonical arguments read back");
    assert_eq!(args, action.args, "canonical is a fixpoint");
    assert_eq!(action_digest(&action.tool, action.kind, &args), digest);

    // The same action, out of a store.
    let stored = serde_json::to_string(&action).expect("an action can be stored");
    let read: Action = serde_json::from_str(&stored).expect("a stored action can be read");
    assert_eq!(read, action);
    assert_eq!(read.digest(), digest);
});
