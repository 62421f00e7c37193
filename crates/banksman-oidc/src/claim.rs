//! Finding a claim by its name.

use serde_json::{Map, Value};

/// The claim of this name: a name as it is (`https://example/roles`), or else a path with dots into claims that hold others
/// (`realm_access.roles`). A name as it is comes first, so nobody who can add a claim inside another can replace one.
pub(crate) fn found<'a>(claims: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    if let Some(claim) = claims.get(name) {
        return Some(claim);
    }
    let mut parts = name.split('.');
    let first = claims.get(parts.next()?)?;
    parts.try_fold(first, |claim, part| claim.as_object()?.get(part))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_name_as_it_is_and_then_a_path() {
        let claims =
            json!({"a": {"b": {"c": 1}, "": 2}, "a.b": 3, "https://x.example/roles": 4, "list": [5]});
        let claims = claims.as_object().unwrap();
        for (name, value) in
            [("a.b.c", Some(1)), ("a.b", Some(3)), ("https://x.example/roles", Some(4)), ("a.", Some(2))]
        {
            assert_eq!(found(claims, name).and_then(Value::as_i64), value, "{name}");
        }
        for nothing in ["", ".", "b", "a.c", "a.b.c.d", "list.0", "A.b.c"] {
            assert_eq!(found(claims, nothing), None, "{nothing}");
        }
    }
}
