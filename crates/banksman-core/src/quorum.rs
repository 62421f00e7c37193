//! How many different people have to agree, and of which roles.

use serde::{Deserialize, Serialize};

/// So many approvals by different people, some of them by people of certain roles.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(try_from = "Unchecked")]
pub struct Quorum {
    /// How many different people; at least one, and at least one for each role.
    count: u32,
    /// One approval by a person of each of these roles ("one support lead and one finance").
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    roles: Vec<String>,
}

/// A quorum as it is read: one of fewer people than it has roles, or of nobody, would be met too easily.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Unchecked {
    count: u32,
    #[serde(default)]
    roles: Vec<String>,
}

impl TryFrom<Unchecked> for Quorum {
    type Error = &'static str;

    fn try_from(read: Unchecked) -> Result<Self, Self::Error> {
        let Unchecked { count, roles } = read;
        let quorum = Self::new(count, roles.clone());
        if quorum.count == count && quorum.roles == roles {
            Ok(quorum)
        } else {
            Err("a quorum needs at least one person, one for each role, and at most sixteen roles")
        }
    }
}

/// Beyond this a policy is a mistake, and matching people to roles would get slow.
const MAX_ROLES: usize = 16;

impl Quorum {
    /// `count` different people, one of each of `roles` among them.
    ///
    /// A count below one or below the number of roles is raised to it, and roles beyond sixteen are cut: the
    /// reader of policy files refuses both before they get here.
    #[must_use]
    pub fn new(count: u32, mut roles: Vec<String>) -> Self {
        roles.truncate(MAX_ROLES);
        let needed = u32::try_from(roles.len()).unwrap_or(u32::MAX);
        Self { count: count.max(1).max(needed), roles }
    }

    /// One person, of any role.
    #[must_use]
    pub fn one() -> Self {
        Self::new(1, Vec::new())
    }

    /// How many different people.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The roles of which one person each is needed.
    #[must_use]
    pub fn roles(&self) -> &[String] {
        &self.roles
    }

    /// A quorum that satisfies both.
    #[must_use]
    pub fn at_least(self, floor: &Quorum) -> Self {
        let mut roles = self.roles;
        for role in &floor.roles {
            let wanted = floor.roles.iter().filter(|other| *other == role).count();
            if roles.iter().filter(|other| *other == role).count() < wanted {
                roles.push(role.clone());
            }
        }
        Self::new(self.count.max(floor.count), roles)
    }

    /// How far the approvals of these people, given by their roles, get: at most [`Quorum::count`].
    ///
    /// Each role needs a person of its own, so this is the largest matching of people to roles, plus whoever
    /// is left over for the places that any reviewer may fill.
    #[must_use]
    pub fn progress(&self, people: &[&[String]]) -> u32 {
        let mut place_of: Vec<Option<usize>> = vec![None; self.roles.len()];
        let matched = (0..people.len())
            .filter(|person| self.seat(*person, people, &mut place_of, &mut Vec::new()))
            .count();
        let free_places = usize::try_from(self.count).unwrap_or(usize::MAX) - self.roles.len();
        let spare_people = people.len() - matched;
        u32::try_from(matched + spare_people.min(free_places)).unwrap_or(u32::MAX)
    }

    /// Gives `person` the place of a role, moving others to another role of theirs if need be.
    fn seat(
        &self,
        person: usize,
        people: &[&[String]],
        place_of: &mut [Option<usize>],
        tried: &mut Vec<usize>,
    ) -> bool {
        let Some(roles) = people.get(person) else { return false };
        for (place, role) in self.roles.iter().enumerate() {
            if tried.contains(&place) || !roles.contains(role) {
                continue;
            }
            tried.push(place);
            let sitting = place_of.get(place).copied().flatten();
            if sitting.is_none_or(|other| self.seat(other, people, place_of, tried)) {
                if let Some(slot) = place_of.get_mut(place) {
                    *slot = Some(person);
                }
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roles(names: &[&str]) -> Vec<String> {
        names.iter().map(ToString::to_string).collect()
    }

    fn met(quorum: &Quorum, people: &[&[&str]]) -> bool {
        let people: Vec<Vec<String>> = people.iter().map(|names| roles(names)).collect();
        quorum.progress(&people.iter().map(Vec::as_slice).collect::<Vec<_>>()) >= quorum.count()
    }

    #[test]
    fn nobody_is_never_enough() {
        assert_eq!(Quorum::new(0, Vec::new()).count(), 1);
        assert!(!met(&Quorum::new(0, Vec::new()), &[]));
    }

    #[test]
    fn one_of_each_role() {
        let quorum = Quorum::new(2, roles(&["support", "finance"]));
        assert!(met(&quorum, &[&["support"], &["finance"]]));
        assert!(!met(&quorum, &[&["support"], &["support"]]));
        assert!(!met(&quorum, &[&["support", "finance"]]), "one person is not two");
        assert!(met(&quorum, &[&["support", "finance"], &["support"]]), "the first takes finance");
        assert!(!met(&quorum, &[&["support", "finance"], &["intern"]]));
    }

    #[test]
    fn free_places_take_anyone() {
        let quorum = Quorum::new(3, roles(&["finance"]));
        assert!(met(&quorum, &[&[], &["finance"], &[]]));
        assert!(!met(&quorum, &[&[], &[], &[]]));
    }

    #[test]
    fn what_is_read_is_a_quorum_or_refused() {
        for text in [r#"{"count":1}"#, r#"{"count":2,"roles":["a","b"]}"#, r#"{"count":3,"roles":["a"]}"#] {
            let quorum: Quorum = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&quorum).unwrap(), text);
        }
        for text in [r#"{"count":0}"#, r#"{"count":1,"roles":["a","b"]}"#, r#"{"count":1,"any":true}"#] {
            assert!(serde_json::from_str::<Quorum>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn combining_satisfies_both() {
        let both = Quorum::new(2, roles(&["a"])).at_least(&Quorum::new(1, roles(&["b"])));
        assert_eq!(both, Quorum::new(2, roles(&["a", "b"])));
        assert_eq!(Quorum::new(1, roles(&["a", "a"])).at_least(&Quorum::new(3, roles(&["a"]))).count(), 3);
    }
}
