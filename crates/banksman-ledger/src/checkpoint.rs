//! Checkpoints: what a log was at some moment, signed.
//!
//! The format is C2SP's `tlog-checkpoint` in a `signed-note`: three lines, an empty one, and signatures. The key has a
//! name and is written as `NAME+HASH+KEY`.

use std::fmt;
use std::str::FromStr;

use aws_lc_rs::signature::{ED25519, UnparsedPublicKey};
use banksman_core::Digest;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// What precedes the bytes of an Ed25519 key and of what it signed.
const ED25519_KIND: u8 = 1;

/// What every checkpoint of ours begins with.
const ORIGIN: &str = "banksman/audit";

/// How large a log was, and what all of it hashed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checkpoint {
    /// How many events there were.
    pub size: u64,
    /// The root of the tree over them.
    pub root: Digest,
}

/// Whose signature a note bears.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoteKey {
    name: String,
    public: [u8; 32],
}

/// Why a note says nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoteError {
    /// It is no checkpoint at all.
    #[error("this is not a checkpoint of an audit log")]
    Malformed,
    /// It is one, but nobody that is trusted has signed it.
    #[error("no signature on this checkpoint is of the key {0}")]
    Unsigned(String),
    /// It bears their name, and something in it was changed.
    #[error("the signature on this checkpoint does not fit what it says")]
    Forged,
    /// Not a key.
    #[error("this is not a key: it looks like NAME+HASH+KEY")]
    InvalidKey,
}

impl Checkpoint {
    /// What is signed.
    #[must_use]
    pub fn text(&self) -> String {
        format!("{ORIGIN}\n{}\n{}\n", self.size, STANDARD.encode(self.root.as_bytes()))
    }

    /// The checkpoint with a signature of its [`text`](Self::text).
    #[must_use]
    pub fn note(&self, key: &NoteKey, signature: &[u8]) -> String {
        let signed = [key.id().as_slice(), signature].concat();
        format!("{}\n\u{2014} {} {}\n", self.text(), key.name, STANDARD.encode(signed))
    }

    /// What a note says, if that key has signed it.
    ///
    /// # Errors
    /// If it is no checkpoint, or the signature is missing or wrong.
    pub fn open(note: &str, key: &NoteKey) -> Result<Self, NoteError> {
        let checkpoint = Self::unsigned(note)?;
        let (text, signatures) = note.split_once("\n\n").ok_or(NoteError::Malformed)?;
        let signed = format!("{text}\n");
        let ours = signatures.lines().filter_map(|line| {
            let (name, bytes) = line.strip_prefix("\u{2014} ")?.split_once(' ')?;
            let bytes = STANDARD.decode(bytes).ok()?;
            let signature = bytes.strip_prefix(key.id().as_slice())?.to_vec();
            (name == key.name).then_some(signature)
        });
        let mut error = NoteError::Unsigned(key.to_string());
        for signature in ours {
            let public = UnparsedPublicKey::new(&ED25519, key.public);
            if public.verify(signed.as_bytes(), &signature).is_ok() {
                return Ok(checkpoint);
            }
            error = NoteError::Forged;
        }
        Err(error)
    }

    /// What a note says, whoever has signed it.
    ///
    /// # Errors
    /// If it is no checkpoint.
    pub fn unsigned(note: &str) -> Result<Self, NoteError> {
        let (text, _) = note.split_once("\n\n").ok_or(NoteError::Malformed)?;
        let mut lines = text.split('\n');
        let (Some(ORIGIN), Some(size), Some(root), None) =
            (lines.next(), lines.next(), lines.next(), lines.next())
        else {
            return Err(NoteError::Malformed);
        };
        // One way to write a number: what was signed is what is read.
        let number: u64 = size.parse().map_err(|_| NoteError::Malformed)?;
        let root = STANDARD.decode(root).ok().and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
        match root {
            Some(root) if number.to_string() == size => {
                Ok(Self { size: number, root: Digest::from_bytes(root) })
            }
            Some(_) | None => Err(NoteError::Malformed),
        }
    }
}

impl NoteKey {
    /// A key of that name.
    #[must_use]
    pub fn new(name: &str, public: [u8; 32]) -> Self {
        Self { name: name.to_owned(), public }
    }

    /// Four bytes that tell keys apart.
    fn id(&self) -> [u8; 4] {
        let named = [self.name.as_bytes(), b"\n", &[ED25519_KIND], &self.public].concat();
        let [a, b, c, d, ..] = *Digest::of(&named).as_bytes();
        [a, b, c, d]
    }
}

impl fmt::Display for NoteKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = u32::from_be_bytes(self.id());
        let key = STANDARD.encode([[ED25519_KIND].as_slice(), &self.public].concat());
        write!(f, "{}+{id:08x}+{key}", self.name)
    }
}

impl FromStr for NoteKey {
    type Err = NoteError;

    fn from_str(text: &str) -> Result<Self, NoteError> {
        let mut parts = text.trim().splitn(3, '+');
        let (Some(name), Some(id), Some(key)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(NoteError::InvalidKey);
        };
        let bytes = STANDARD.decode(key).map_err(|_| NoteError::InvalidKey)?;
        let public = bytes.strip_prefix(&[ED25519_KIND]).ok_or(NoteError::InvalidKey)?;
        let public = <[u8; 32]>::try_from(public).map_err(|_| NoteError::InvalidKey)?;
        let key = Self::new(name, public);
        if name.is_empty() || format!("{:08x}", u32::from_be_bytes(key.id())) != id {
            return Err(NoteError::InvalidKey);
        }
        Ok(key)
    }
}
