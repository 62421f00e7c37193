//! Policies to start from.

/// A policy to start from, with the cases that it is tested with.
#[derive(Debug, Clone, Copy)]
pub struct Template {
    /// What it is called.
    pub name: &'static str,
    /// What it is for, in a line.
    pub summary: &'static str,
    /// The policy.
    pub policy: &'static str,
    /// Its cases.
    pub cases: &'static str,
}

macro_rules! template {
    ($name:literal, $summary:literal) => {
        Template {
            name: $name,
            summary: $summary,
            policy: include_str!(concat!("../templates/", $name, ".yaml")),
            cases: include_str!(concat!("../templates/", $name, ".test.yaml")),
        }
    };
}

impl Template {
    /// Every template.
    pub const ALL: [Self; 5] = [
        template!(
            "coding-agent",
            "reads, edits and tests by itself; what leaves the repository or destroys work is seen"
        ),
        template!("support-desk", "looking up is free; mail needs one person, money more the larger it is"),
        template!("finance", "nothing moves without people; large sums need two roles; hard limits"),
        template!("read-only", "look, do not touch: whatever changes anything is blocked"),
        template!("ci-lockdown", "nobody watches: what is named runs, everything else is refused at once"),
    ];

    /// A template by its name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|template| template.name == name)
    }
}
