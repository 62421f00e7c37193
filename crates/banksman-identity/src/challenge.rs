//! Challenges that every node recognises as ours without having kept them.
//!
//! A challenge says until when it is good and carries a tag over that, so nobody can fill a table by asking for many. Whoever
//! must not accept one twice writes down those that were used.

use aws_lc_rs::hmac;
use banksman_core::Timestamp;

const RANDOM: usize = 16;
const TIME: usize = 8;
const TAG: usize = 16;

/// Makes and recognises challenges.
pub struct Challenges {
    key: hmac::Key,
}

impl std::fmt::Debug for Challenges {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Challenges")
    }
}

impl Challenges {
    /// With a key that all nodes share.
    #[must_use]
    pub fn new(key: &[u8; 32]) -> Self {
        Self { key: hmac::Key::new(hmac::HMAC_SHA256, key) }
    }

    /// A challenge for a purpose, good until then.
    #[must_use]
    pub fn issue(&self, purpose: &str, random: [u8; RANDOM], until: Timestamp) -> String {
        let until = until.as_micros().to_be_bytes();
        let body = [random.as_slice(), &until].concat();
        let tag = self.tag(purpose, &body);
        let tag = tag.as_ref().iter().take(TAG).copied();
        crate::to_base64url(&body.into_iter().chain(tag).collect::<Vec<u8>>())
    }

    /// Until when a challenge of ours for this purpose is good; nothing if it is not ours, or over.
    #[must_use]
    pub fn recognise(&self, purpose: &str, challenge: &str, now: Timestamp) -> Option<Timestamp> {
        let bytes = crate::from_base64url(challenge)?;
        let (body, tag) = bytes.split_at_checked(RANDOM + TIME)?;
        let expected = self.tag(purpose, body);
        aws_lc_rs::constant_time::verify_slices_are_equal(expected.as_ref().get(..TAG)?, tag).ok()?;
        let until: [u8; TIME] = body.get(RANDOM..)?.try_into().ok()?;
        let until = Timestamp::from_micros(i64::from_be_bytes(until));
        (now < until).then_some(until)
    }

    fn tag(&self, purpose: &str, body: &[u8]) -> hmac::Tag {
        let mut context = hmac::Context::with_key(&self.key);
        context.update(&(purpose.len() as u64).to_be_bytes());
        context.update(purpose.as_bytes());
        context.update(body);
        context.sign()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_micros(1_000_000);
    const END: Timestamp = Timestamp::from_micros(2_000_000);

    #[test]
    fn only_ours_and_only_in_time() {
        let ours = Challenges::new(&[1; 32]);
        let challenge = ours.issue("sign in", [7; 16], END);
        assert_eq!(ours.recognise("sign in", &challenge, NOW), Some(END));
        assert_eq!(ours.recognise("sign in", &challenge, END), None, "over");
        assert_eq!(ours.recognise("enrol", &challenge, NOW), None, "for something else");
        assert_eq!(Challenges::new(&[2; 32]).recognise("sign in", &challenge, NOW), None);
        for place in 0..challenge.len() {
            let mut changed = challenge.clone().into_bytes();
            changed[place] = if changed[place] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).unwrap();
            assert_eq!(ours.recognise("sign in", &changed, NOW), None, "{place}");
        }
        for wrong in ["", "AAAA", &challenge[..20], &format!("{challenge}AAAA")] {
            assert_eq!(ours.recognise("sign in", wrong, NOW), None, "{wrong}");
        }
    }
}
