//! A passkey in software, and a browser that has it.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _};
use banksman_core::Digest;
use banksman_engine::By;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::{cookie_of, hidden};
use crate::client::{Request, Response};
use crate::server::Server;

pub(crate) fn b64(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Counts its signatures, as a security key does, or does not, as passkeys do that live on several devices.
pub(crate) struct Key {
    pair: EcdsaKeyPair,
    id: Vec<u8>,
    count: u32,
    counts: bool,
}

/// The fields of a form that a passkey answered.
pub(crate) type Answer = Vec<(&'static str, String)>;

impl Key {
    pub(crate) fn new(id: &str) -> Self {
        let pkcs8 =
            EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &SystemRandom::new()).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, pkcs8.as_ref()).unwrap();
        Self { pair, id: id.into(), count: 0, counts: true }
    }

    /// One that lives on several devices.
    pub(crate) fn synced(id: &str) -> Self {
        Self { counts: false, ..Self::new(id) }
    }

    fn data(&mut self, flags: u8, rest: &[u8]) -> Vec<u8> {
        self.count += u32::from(self.counts);
        [Digest::of(b"localhost").as_bytes().as_slice(), &[flags], &self.count.to_be_bytes(), rest].concat()
    }

    fn said(kind: &str, challenge: &str, origin: &str) -> String {
        format!(r#"{{"type":"{kind}","challenge":"{challenge}","origin":"{origin}","crossOrigin":false}}"#)
    }

    pub(crate) fn create(&mut self, challenge: &str, origin: &str) -> Answer {
        let point = self.pair.public_key().as_ref();
        let key = [
            &[0xa5, 1, 2, 3, 0x26, 0x20, 1, 0x21, 0x58, 32],
            &point[1..33],
            &[0x22, 0x58, 32],
            &point[33..65],
        ]
        .concat();
        let length = u16::try_from(self.id.len()).unwrap().to_be_bytes();
        let attested = [[0; 16].as_slice(), &length, &self.id, &key].concat();
        let data = self.data(0x45, &attested);
        let length = u16::try_from(data.len()).unwrap().to_be_bytes();
        let object =
            [b"\xa3\x63fmt\x64none\x67attStmt\xa0\x68authData\x59".as_slice(), &length, &data].concat();
        vec![
            ("challenge", challenge.to_owned()),
            ("client_data", b64(Self::said("webauthn.create", challenge, origin).as_bytes())),
            ("attestation", b64(&object)),
            ("label", "blue key".to_owned()),
        ]
    }

    pub(crate) fn sign(&mut self, challenge: &str, origin: &str) -> Answer {
        self.sign_with(challenge, origin, 0x05)
    }

    pub(crate) fn sign_with(&mut self, challenge: &str, origin: &str, flags: u8) -> Answer {
        let said = Self::said("webauthn.get", challenge, origin);
        let data = self.data(flags, b"");
        let message = [data.as_slice(), Digest::of(said.as_bytes()).as_bytes()].concat();
        let signature = self.pair.sign(&SystemRandom::new(), &message).unwrap();
        vec![
            ("passkey", b64(&self.id)),
            ("client_data", b64(said.as_bytes())),
            ("authenticator_data", b64(&data)),
            ("signature", b64(signature.as_ref())),
        ]
    }

    pub(crate) fn rewind(&mut self) {
        self.count = 0;
    }
}

/// What a page asks a passkey.
pub(crate) fn challenge(page: &str) -> String {
    let (_, rest) = page.split_once("data-challenge=\"").unwrap_or_else(|| panic!("asks no passkey: {page}"));
    rest.split('"').next().unwrap().to_owned()
}

/// A browser at the address where passkeys work.
pub(crate) struct AtHome<'a> {
    pub(crate) server: &'a Server,
    pub(crate) cookie: String,
    pub(crate) csrf: String,
}

impl<'a> AtHome<'a> {
    pub(crate) fn stranger(server: &'a Server) -> Self {
        Self { server, cookie: String::new(), csrf: String::new() }
    }

    pub(crate) fn origin(&self) -> String {
        format!("http://localhost:{}", self.server.address.port())
    }

    pub(crate) async fn send(&self, request: Request) -> Response {
        let host = format!("localhost:{}", self.server.address.port());
        self.server.send(request.header("Host", host).header("Cookie", &self.cookie)).await
    }

    pub(crate) async fn open(&self, path: &str) -> Response {
        self.send(Request::get(path)).await
    }

    pub(crate) async fn submit(&self, path: &str, fields: &[(&str, &str)], answer: &Answer) -> Response {
        let mut all: Vec<(&str, &str)> = fields.to_vec();
        all.extend(answer.iter().map(|(name, value)| (*name, value.as_str())));
        if !self.csrf.is_empty() {
            all.push(("csrf", &self.csrf));
        }
        self.send(Request::form(path, &all).header("Origin", self.origin())).await
    }

    /// Comes in with what an answer gave.
    pub(crate) async fn signed_in(mut self, answer: &Response) -> Self {
        self.cookie = cookie_of(answer);
        self.csrf = hidden(&self.open("/mode").await.text(), "csrf");
        self
    }

    /// Someone who accepts an invitation with a passkey.
    pub(crate) async fn invited(server: &'a Server, name: &str, roles: &[&str], key: &mut Key) -> Self {
        let id = server.person(banksman_core::PrincipalKind::Reviewer, name, roles).await;
        let code = server.engine.invite(By::Operator, id).await.unwrap().code;
        let home = Self::stranger(server);
        let page = home.open(&format!("/join?code={code}")).await.text();
        let answer = key.create(&challenge(&page), &home.origin());
        let joined = home.submit("/join/passkey", &[("code", &code)], &answer).await;
        assert_eq!((joined.status, joined.header("location")), (303, Some("/")), "{}", joined.text());
        home.signed_in(&joined).await
    }
}
