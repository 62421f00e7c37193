//! Where paths lead, step by step.

use crate::json::Json;

const ANY: &str = "*";
const ANY_NUMBER: &str = "**";

/// Paths, taken apart.
pub(super) struct Paths<'p>(Vec<Vec<&'p str>>);

/// What is left of each path at some place in a value.
pub(super) struct Trail<'p>(Vec<&'p [&'p str]>);

impl<'p> Paths<'p> {
    pub(super) fn new(paths: &'p [String]) -> Self {
        let members = |path: &'p String| {
            let mut members: Vec<&str> = path.split('.').collect();
            members.dedup_by(|next, last| *next == ANY_NUMBER && *last == ANY_NUMBER);
            members
        };
        Self(paths.iter().map(members).collect())
    }

    /// The trail that begins at a value.
    pub(super) fn from(&self, root: &Json) -> Trail<'_> {
        // Arguments stay an object whatever is hidden of them, so what leads to all of it leads to each of them.
        let is_object = matches!(root, Json::Object(_));
        let whole = |path: &&[&str]| is_object && **path == [ANY_NUMBER];
        let paths = self.0.iter().map(Vec::as_slice);
        Trail(paths.map(|path| if whole(&path) { &[ANY] } else { path }).collect())
    }

    /// The beginning of a JSON pointer that one of the paths leads to: what comes after it, people do not get to see.
    pub(super) fn black_part<'t>(&self, pointer: &'t str) -> Option<&'t str> {
        let mut trail = Trail(self.0.iter().map(Vec::as_slice).collect());
        let mut end = 0;
        for token in pointer.split('/').skip(1) {
            trail = trail.after(&token.replace("~1", "/").replace("~0", "~"));
            end += 1 + token.len();
            if trail.ends() {
                return pointer.get(..end);
            }
        }
        None
    }
}

impl Trail<'_> {
    /// Whether a path leads here, or to something that this is part of.
    pub(super) fn ends(&self) -> bool {
        self.0.iter().any(|rest| matches!(*rest, [] | [ANY_NUMBER]))
    }

    /// Whether no path leads any further.
    pub(super) fn is_lost(&self) -> bool {
        self.0.is_empty()
    }

    /// What is left of it after one member.
    #[must_use]
    pub(super) fn after(&self, member: &str) -> Self {
        let fits = |step: &str| step == ANY || step == member;
        let mut left: Vec<&[&str]> = Vec::new();
        // Each once, or the number of ways to get somewhere would grow with every level.
        let mut keep = |rest| {
            if !left.contains(&rest) {
                left.push(rest);
            }
        };
        for rest in &self.0 {
            match **rest {
                // Whatever is part of something hidden is hidden.
                [] => keep(rest),
                [ANY_NUMBER, ref tail @ ..] => {
                    keep(rest);
                    if let [step, beyond @ ..] = tail
                        && fits(step)
                    {
                        keep(beyond);
                    }
                }
                [step, ref beyond @ ..] if fits(step) => keep(beyond),
                [_, ..] => {}
            }
        }
        Self(left)
    }

    /// The same after an item of a list.
    #[must_use]
    pub(super) fn after_item(&self, index: usize) -> Self {
        self.after(&index.to_string())
    }
}
