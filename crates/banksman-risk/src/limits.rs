//! How much reading an action is worth.

/// Bounds on reading. Beyond any of them the action is high: what was not read cannot be called harmless.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one text.
    pub input: usize,
    /// Languages inside languages: `bash -c "python -c '...'"` is two deep.
    pub depth: u8,
    /// Steps of work (nodes visited, words expanded), over all texts of one action.
    pub work: u32,
    /// Findings kept; the worst are never dropped.
    pub findings: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { input: 256 * 1024, depth: 12, work: 200_000, findings: 64 }
    }
}
