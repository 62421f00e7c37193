//! ID tokens: whether the provider signed this, for us, now, in answer to our question (OpenID Connect Core, 3.1.3.7).

use banksman_core::Timestamp;
use jsonwebtoken::jwk::JwkSet;
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use serde_json::{Map, Value};

/// What is believed: signatures that only the provider can make.
const BELIEVED: &[Algorithm] = &[
    Algorithm::RS256,
    Algorithm::RS384,
    Algorithm::RS512,
    Algorithm::PS256,
    Algorithm::PS384,
    Algorithm::PS512,
    Algorithm::ES256,
    Algorithm::ES384,
    Algorithm::EdDSA,
];

/// How far clocks may be apart.
const LEEWAY_SECONDS: i64 = 60;

/// What a token has to say.
pub(crate) struct Expected<'a> {
    pub(crate) issuer: &'a str,
    pub(crate) client_id: &'a str,
    pub(crate) nonce: &'a str,
    pub(crate) now: Timestamp,
}

/// Why a token is not believed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TokenError {
    /// It is signed with a key that is not known; the provider may have a new one.
    UnknownKey,
    /// It says something else than it should.
    Wrong(String),
}

fn wrong<T>(what: &str) -> Result<T, TokenError> {
    Err(TokenError::Wrong(what.into()))
}

/// What a token says, if it is to be believed.
pub(crate) fn verify(
    token: &str,
    keys: &JwkSet,
    expected: &Expected<'_>,
) -> Result<Map<String, Value>, TokenError> {
    let header = decode_header(token).map_err(|error| TokenError::Wrong(error.to_string()))?;
    if !BELIEVED.contains(&header.alg) {
        return wrong("it is signed in a way that is not believed");
    }
    let key = match (&header.kid, keys.keys.as_slice()) {
        (Some(kid), _) => keys.find(kid).ok_or(TokenError::UnknownKey)?,
        (None, [only]) => only,
        (None, _) => return wrong("it does not say which key signed it"),
    };
    let key = DecodingKey::from_jwk(key).map_err(|error| TokenError::Wrong(error.to_string()))?;
    let mut validation = Validation::new(header.alg);
    // By our own clock, below.
    validation.validate_exp = false;
    validation.required_spec_claims.clear();
    validation.set_issuer(&[expected.issuer]);
    validation.set_audience(&[expected.client_id]);
    let claims = decode::<Map<String, Value>>(token, &key, &validation)
        .map_err(|error| TokenError::Wrong(error.to_string()))?
        .claims;
    check(&claims, expected)?;
    Ok(claims)
}

fn check(claims: &Map<String, Value>, expected: &Expected<'_>) -> Result<(), TokenError> {
    let text = |name: &str| claims.get(name).and_then(Value::as_str);
    let time = |name: &str| claims.get(name).and_then(Value::as_i64);
    let now = expected.now.as_micros() / 1_000_000;
    // The library accepts what is missing.
    if text("iss") != Some(expected.issuer) {
        return wrong("it is of another issuer");
    }
    match claims.get("aud") {
        Some(Value::String(one)) if one == expected.client_id => {}
        Some(Value::Array(many)) if many.iter().any(|one| one.as_str() == Some(expected.client_id)) => {
            if many.len() > 1 && text("azp") != Some(expected.client_id) {
                return wrong("it is for several, and was given to another");
            }
        }
        _ => return wrong("it is for someone else"),
    }
    if text("azp").is_some_and(|party| party != expected.client_id) {
        return wrong("it was given to another");
    }
    if time("exp").is_none_or(|end| now >= end + LEEWAY_SECONDS) {
        return wrong("it is over");
    }
    if time("iat").is_none_or(|made| made > now + LEEWAY_SECONDS)
        || time("nbf").is_some_and(|begin| begin > now + LEEWAY_SECONDS)
    {
        return wrong("it is from the future");
    }
    if text("nonce") != Some(expected.nonce) {
        return wrong("it answers another question");
    }
    if text("sub").is_none_or(str::is_empty) {
        return wrong("it is about nobody");
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests {
    use aws_lc_rs::rand::SystemRandom;
    use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
    use banksman_identity::to_base64url;
    use serde_json::json;

    use super::*;

    /// A provider's key.
    pub(crate) struct Key {
        pair: EcdsaKeyPair,
        id: &'static str,
    }

    impl Key {
        pub(crate) fn new(id: &'static str) -> Self {
            let pkcs8 =
                EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new()).unwrap();
            Self {
                pair: EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8.as_ref()).unwrap(),
                id,
            }
        }

        pub(crate) fn jwk(&self) -> Value {
            let point = self.pair.public_key().as_ref();
            json!({"kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig", "kid": self.id,
                   "x": to_base64url(&point[1..33]), "y": to_base64url(&point[33..65])})
        }

        pub(crate) fn sign(&self, claims: &Value) -> String {
            self.sign_as(&json!({"alg": "ES256", "kid": self.id, "typ": "JWT"}), claims)
        }

        fn sign_as(&self, header: &Value, claims: &Value) -> String {
            let text = |value: &Value| to_base64url(value.to_string().as_bytes());
            let signed = format!("{}.{}", text(header), text(claims));
            let signature = self.pair.sign(&SystemRandom::new(), signed.as_bytes()).unwrap();
            format!("{signed}.{}", to_base64url(signature.as_ref()))
        }
    }

    const NOW: i64 = 1_800_000_000;

    fn claims() -> Value {
        json!({"iss": "https://id.example", "aud": "banksman", "sub": "4711", "nonce": "n", "iat": NOW, "exp": NOW + 300})
    }

    fn check(token: &str, keys: &[&Key]) -> Result<(), TokenError> {
        let keys: JwkSet =
            serde_json::from_value(json!({"keys": keys.iter().map(|key| key.jwk()).collect::<Vec<_>>()}))
                .unwrap();
        let expected = Expected {
            issuer: "https://id.example",
            client_id: "banksman",
            nonce: "n",
            now: Timestamp::from_micros(NOW * 1_000_000),
        };
        verify(token, &keys, &expected).map(drop)
    }

    #[test]
    fn only_what_the_provider_signed_for_us_now_is_believed() {
        let (key, other) = (Key::new("one"), Key::new("two"));
        assert_eq!(check(&key.sign(&claims()), &[&key, &other]), Ok(()));
        let with = |name: &str, value: Value| {
            let mut claims = claims();
            claims[name] = value;
            check(&key.sign(&claims), &[&key])
        };
        for (name, value) in [
            ("iss", json!("https://evil.example")),
            ("iss", json!(null)),
            ("aud", json!("another")),
            ("aud", json!(["banksman", "another"])),
            ("aud", json!([])),
            ("azp", json!("another")),
            ("sub", json!("")),
            ("sub", json!(null)),
            ("nonce", json!("m")),
            ("nonce", json!(null)),
            ("exp", json!(NOW - 61)),
            ("exp", json!(null)),
            ("exp", json!("never")),
            ("iat", json!(NOW + 61)),
            ("iat", json!(null)),
            ("nbf", json!(NOW + 61)),
        ] {
            assert!(matches!(with(name, value.clone()), Err(TokenError::Wrong(_))), "{name}: {value}");
        }
        assert_eq!(with("aud", json!(["banksman"])), Ok(()));
        assert_eq!(with("exp", json!(NOW - 30)), Ok(()), "clocks differ a little");
    }

    #[test]
    fn keys_and_algorithms_are_not_up_to_the_token() {
        let (key, other) = (Key::new("one"), Key::new("two"));
        assert_eq!(check(&other.sign(&claims()), &[&key]), Err(TokenError::UnknownKey));
        let posing = Key { id: "one", ..Key::new("one") };
        assert!(matches!(check(&posing.sign(&claims()), &[&key]), Err(TokenError::Wrong(_))));
        let good = key.sign(&claims());
        let (signed, _) = good.rsplit_once('.').unwrap();
        let none = to_base64url(json!({"alg": "none"}).to_string().as_bytes());
        let body = signed.split('.').nth(1).unwrap();
        // Without a signature; with the public key as a shared secret; with another algorithm than the key's.
        for token in [
            format!("{none}.{body}."),
            format!("{signed}."),
            key.sign_as(&json!({"alg": "HS256", "kid": "one"}), &claims()),
            key.sign_as(&json!({"alg": "RS256", "kid": "one"}), &claims()),
            key.sign_as(&json!({"alg": "ES384", "kid": "one"}), &claims()),
            String::new(),
            "a.b.c".into(),
        ] {
            assert!(matches!(check(&token, &[&key]), Err(TokenError::Wrong(_))), "{token}");
        }
        assert_eq!(check(&key.sign_as(&json!({"alg": "ES256"}), &claims()), &[&key]), Ok(()), "the only key");
        assert!(check(&key.sign_as(&json!({"alg": "ES256"}), &claims()), &[&key, &other]).is_err());
    }
}
