//! Any bytes: refused, or given one canonical text that reads back as itself.

#![no_main]

use banksman_core::json::{CanonicalJson, Json, parse};
use libfuzzer_sys::fuzz_target;
use serde_json::value::RawValue;

fuzz_target!(|bytes: &[u8]| {
    let Ok(value) = parse(bytes) else { return };
    let canonical = CanonicalJson::of(&value);
    let again = canonical.to_json().expect("a canonical text reads back");
    assert_eq!(again, value, "reading it back gives the same value");
    assert_eq!(CanonicalJson::of(&again), canonical, "canonical is a fixpoint");
    // What goes on to other readers must be JSON to them too, as it came and as it is kept.
    serde_json::from_slice::<&RawValue>(bytes).expect("serde_json reads what we accept");
    let kept: CanonicalJson =
        serde_json::from_str(&serde_json::to_string(&canonical).expect("it serialises"))
            .expect("it is stored and read");
    assert_eq!(kept, canonical);
    no_key_twice(&value);
});

fn no_key_twice(value: &Json) {
    match value {
        Json::Object(members) => {
            let keys: Vec<Vec<u16>> = members.iter().map(|(key, _)| key.encode_utf16().collect()).collect();
            assert!(keys.windows(2).all(|pair| pair[0] < pair[1]), "keys are in order, each once");
            members.iter().for_each(|(_, value)| no_key_twice(value));
        }
        Json::Array(items) => items.iter().for_each(no_key_twice),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
    }
}
