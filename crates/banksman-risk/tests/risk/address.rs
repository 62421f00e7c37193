//! HTTP actions.

use banksman_core::{Kind, Risk};
use proptest::prelude::*;

use crate::assessor;

fn level(text: &str) -> Risk {
    assessor().assess_text(Kind::Http, text).level
}

#[test]
fn requests_are_judged_by_method_and_host() {
    for (text, expected) in [
        ("https://example.com/", Risk::None),
        ("GET https://example.com/delete", Risk::None),
        ("HEAD https://example.com/ HTTP/1.1", Risk::None),
        ("http://localhost:3000/x", Risk::None),
        ("POST http://127.0.0.1:3000/x", Risk::None),
        ("POST https://example.com/", Risk::Medium),
        ("DELETE https://example.com/users/1", Risk::High),
        ("POST https://webhook.site/x", Risk::High),
        ("http://169.254.169.254/latest/meta-data/", Risk::High),
        ("http://0xA9FEA9FE/", Risk::High),
        ("file:///etc/shadow", Risk::High),
        (r#"{"method":"DELETE","url":"https://example.com/x"}"#, Risk::High),
        (r#"{"url":"https://example.com/x"}"#, Risk::None),
    ] {
        assert_eq!(level(text), expected, "{text}");
    }
}

#[test]
fn what_is_touched_is_named_without_secrets() {
    let found = assessor().assess_text(Kind::Http, "GET https://me:secret@example.com/x?token=1");
    assert_eq!(found.resources, ["url:https://example.com/x"]);
}

proptest! {
    #[test]
    fn any_text_is_read(text in "\\PC{0,100}") {
        let _ = level(&text);
    }

    #[test]
    fn every_spelling_of_an_address_is_the_same(address in any::<u32>(), octal in any::<bool>()) {
        let [a, b, c, d] = address.to_be_bytes();
        let dotted = format!("http://{a}.{b}.{c}.{d}/");
        let other = if octal { format!("http://0{a:o}.0{b:o}.0{c:o}.0{d:o}/") } else { format!("http://{address}/") };
        prop_assert_eq!(level(&dotted), level(&other));
        prop_assert_eq!(level(&dotted), level(&format!("http://0x{address:x}/")));
        prop_assert_eq!(level(&dotted), level(&format!("http://x@{a}.{b}.{c}.{d}:80/")));
    }
}
