//! How much reading an action is worth.

/// Bounds on reading. Beyond any of them the action is high: what was not read cannot be called harmless.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one text.
    pub input: usize,
    /// Languages inside languages: `bash -c "python -c '...'"` is two deep.
    pub depth: u8,
    /// Steps of work over all texts of one action: bytes parsed, nodes visited, words expanded, rules asked, bytes
    /// copied, each counted by the time that it takes. A step is about 50 ns, so that all of them are about 10 ms.
    pub work: u32,
    /// Findings kept; the worst are never dropped.
    pub findings: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { input: 256 * 1024, depth: 12, work: 200_000, findings: 64 }
    }
}
