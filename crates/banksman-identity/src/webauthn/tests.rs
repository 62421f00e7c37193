//! A passkey in software, and everything that can be wrong with what it sends.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _};

use super::*;

const CHALLENGE: &str = "Y2hhbGxlbmdl";

fn site() -> Site {
    Site { rp_id: "localhost".into(), origin: "http://localhost:7447".into() }
}

fn said(kind: &str, challenge: &str, origin: &str) -> String {
    format!(r#"{{"type":"{kind}","challenge":"{challenge}","origin":"{origin}","crossOrigin":false}}"#)
}

fn key_pair() -> EcdsaKeyPair {
    let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &SystemRandom::new()).unwrap();
    EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, pkcs8.as_ref()).unwrap()
}

fn cose(pair: &EcdsaKeyPair) -> Vec<u8> {
    let point = pair.public_key().as_ref();
    [&[0xa5, 1, 2, 3, 0x26, 0x20, 1, 0x21, 0x58, 32], &point[1..33], &[0x22, 0x58, 32], &point[33..65]]
        .concat()
}

fn data(site: &Site, flags: u8, count: u32, rest: &[u8]) -> Vec<u8> {
    [Digest::of(site.rp_id.as_bytes()).as_bytes().as_slice(), &[flags], &count.to_be_bytes(), rest].concat()
}

fn attested(key: &[u8], more: &[u8]) -> Vec<u8> {
    [[0; 16].as_slice(), &[0, 4], b"kEy1", key, more].concat()
}

fn object(auth_data: &[u8]) -> Vec<u8> {
    let length = u16::try_from(auth_data.len()).unwrap().to_be_bytes();
    [b"\xa3\x63fmt\x64none\x67attStmt\xa0\x68authData\x59".as_slice(), &length, auth_data].concat()
}

#[test]
fn a_passkey_is_registered_and_signs() {
    let pair = key_pair();
    let made = said("webauthn.create", CHALLENGE, &site().origin);
    let registered = check_registration(
        &site(),
        CHALLENGE,
        made.as_bytes(),
        &object(&data(&site(), 0x45, 3, &attested(&cose(&pair), b""))),
    )
    .unwrap();
    assert_eq!((registered.id.as_slice(), registered.count), (b"kEy1".as_slice(), 3));
    assert_eq!(registered.key, cose(&pair));
    let key = PublicKey::from_cose(&registered.key).unwrap();
    let got = said("webauthn.get", CHALLENGE, &site().origin);
    let auth = data(&site(), 0x05, 4, b"");
    let message = [auth.as_slice(), Digest::of(got.as_bytes()).as_bytes()].concat();
    let signature = pair.sign(&SystemRandom::new(), &message).unwrap();
    let check = |site: &Site, challenge: &str, said: &str, auth: &[u8], signature: &[u8]| {
        check_assertion(site, challenge, &key, said.as_bytes(), auth, signature)
    };
    assert_eq!(check(&site(), CHALLENGE, &got, &auth, signature.as_ref()), Ok(4));
    assert_eq!(assertion_challenge(got.as_bytes()).unwrap(), CHALLENGE);

    // One thing wrong at a time.
    let other_site = Site { rp_id: "evil.example".into(), ..site() };
    let other_origin = Site { origin: "https://evil.example".into(), ..site() };
    assert_eq!(
        check(&other_site, CHALLENGE, &got, &auth, signature.as_ref()),
        Err(WebauthnError::WrongSite { expected: "evil.example".into() })
    );
    assert!(matches!(
        check(&other_origin, CHALLENGE, &got, &auth, signature.as_ref()),
        Err(WebauthnError::WrongOrigin { .. })
    ));
    assert_eq!(
        check(&site(), "b3RoZXI", &got, &auth, signature.as_ref()),
        Err(WebauthnError::WrongChallenge)
    );
    assert_eq!(check(&site(), CHALLENGE, &made, &auth, signature.as_ref()), Err(WebauthnError::WrongType));
    let embedded = got.replace("false", "true");
    assert!(matches!(
        check(&site(), CHALLENGE, &embedded, &auth, signature.as_ref()),
        Err(WebauthnError::WrongOrigin { .. })
    ));
    for (flags, problem) in [
        (0x04, WebauthnError::NotPresent),
        (0x01, WebauthnError::NotVerified),
        (0, WebauthnError::NotPresent),
    ] {
        assert_eq!(
            check(&site(), CHALLENGE, &got, &data(&site(), flags, 4, b""), signature.as_ref()),
            Err(problem)
        );
    }
    let counted = data(&site(), 0x05, 5, b"");
    assert_eq!(
        check(&site(), CHALLENGE, &got, &counted, signature.as_ref()),
        Err(WebauthnError::BadSignature)
    );
    let spaced = got.replace("\"crossOrigin\":", "\"crossOrigin\": ");
    assert_eq!(
        check(&site(), CHALLENGE, &spaced, &auth, signature.as_ref()),
        Err(WebauthnError::BadSignature)
    );
    assert_eq!(check(&site(), CHALLENGE, &got, &auth, b""), Err(WebauthnError::BadSignature));
    assert_eq!(
        check(&site(), CHALLENGE, &got, &data(&site(), 0x05, 4, b"x"), signature.as_ref()),
        Err(WebauthnError::Unreadable)
    );
    assert_eq!(check(&site(), CHALLENGE, "{}", &auth, signature.as_ref()), Err(WebauthnError::Unreadable));
    assert_eq!(
        check(&site(), CHALLENGE, &got, &auth[..36], signature.as_ref()),
        Err(WebauthnError::Unreadable)
    );
    let other_key = PublicKey::from_cose(&cose(&key_pair())).unwrap();
    assert_eq!(
        check_assertion(&site(), CHALLENGE, &other_key, got.as_bytes(), &auth, signature.as_ref()),
        Err(WebauthnError::BadSignature)
    );
}

#[test]
fn a_registration_that_is_odd_is_refused() {
    let pair = key_pair();
    let key = cose(&pair);
    let made = said("webauthn.create", CHALLENGE, &site().origin);
    let check = |auth_data: &[u8]| {
        check_registration(&site(), CHALLENGE, made.as_bytes(), &object(auth_data)).map(|_| ())
    };
    assert_eq!(check(&data(&site(), 0x45, 0, &attested(&key, b""))), Ok(()));
    // With an extension that is announced.
    assert_eq!(check(&data(&site(), 0xc5, 0, &attested(&key, b"\xa1\x61x\xf5"))), Ok(()));
    for (flags, rest) in [
        (0x05, attested(&key, b"")),
        (0x45, attested(&key, b"x")),
        (0xc5, attested(&key, b"")),
        (0xc5, attested(&key, b"\x01")),
        (0x45, attested(&key[..20], b"")),
        (0x45, [[0; 16].as_slice(), &[0, 0], &key].concat()),
        (0x45, [[0; 16].as_slice(), &[0xff, 0xff], &key].concat()),
        (0x45, vec![0; 10]),
    ] {
        assert_eq!(check(&data(&site(), flags, 0, &rest)), Err(WebauthnError::Unreadable), "{flags:x}");
    }
    assert_eq!(check(&data(&site(), 0x41, 0, &attested(&key, b""))), Err(WebauthnError::NotVerified));
    let mut other_curve = key.clone();
    other_curve[6] = 2;
    assert_eq!(check(&data(&site(), 0x45, 0, &attested(&other_curve, b""))), Err(WebauthnError::UnknownKey));
    let good = object(&data(&site(), 0x45, 0, &attested(&key, b"")));
    assert!(
        check_registration(&site(), CHALLENGE, made.as_bytes(), &[good.as_slice(), b"x"].concat()).is_err()
    );
    assert!(check_registration(&site(), "other", made.as_bytes(), &good).is_err());
    for cut in 0..good.len() {
        assert!(check_registration(&site(), CHALLENGE, made.as_bytes(), &good[..cut]).is_err(), "{cut}");
    }
}

#[test]
fn a_page_is_of_a_site_or_it_is_not() {
    for (rp_id, origin, within) in [
        ("localhost", "http://localhost:7447", true),
        ("localhost", "http://localhost", true),
        ("banksman.example", "https://banksman.example", true),
        ("example.com", "https://banksman.example.com:8443", true),
        ("example.com", "http://banksman.example.com", false),
        ("example.com", "https://evilexample.com", false),
        ("example.com", "https://example.com.evil.example", false),
        ("banksman.example", "https://example", false),
        ("localhost", "javascript:alert(1)", false),
    ] {
        let found = Site::of_assertion(rp_id, said("webauthn.get", CHALLENGE, origin).as_bytes());
        assert_eq!(found.is_some(), within, "{rp_id} {origin}");
    }
}

#[test]
fn an_ed25519_key_signs_too() {
    let pair = Ed25519KeyPair::from_seed_unchecked(&[5; 32]).unwrap();
    let cose = [&[0xa4, 1, 1, 3, 0x27, 0x20, 6, 0x21, 0x58, 32], pair.public_key().as_ref()].concat();
    let key = PublicKey::from_cose(&cose).unwrap();
    assert!(key.signed(b"message", pair.sign(b"message").as_ref()));
    assert!(!key.signed(b"another", pair.sign(b"message").as_ref()));
    assert!(PublicKey::from_cose(&[cose.as_slice(), &[0]].concat()).is_err());
}
