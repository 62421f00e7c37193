//! What credentials give at one moment: never more than the person behind them may.

use std::collections::HashMap;

use banksman_core::{Principal, PrincipalKind, Standing, Timestamp, TokenId};
use banksman_store::{Credential, Person};

/// What everyone may under the house rules of an epoch.
#[derive(Default)]
pub(crate) struct Rights {
    epoch: u64,
    held: HashMap<TokenId, Held>,
    /// The roles of people, by name.
    roles: HashMap<String, Vec<HeldRoles>>,
    behind: Behind,
}

/// What one credential gives, and until when.
struct Held {
    kind: PrincipalKind,
    until: Option<Timestamp>,
}

/// What one credential lets a person approve, and until when.
struct HeldRoles {
    roles: Vec<String>,
    until: Option<Timestamp>,
}

/// Whom a credential makes of whoever shows it. For the credential of a person of the house, that is what they may now: what
/// was taken from them is taken from all that they hold.
pub(crate) fn limited(credential: &Credential, person: Option<&Person>) -> Option<Principal> {
    let principal = credential.principal();
    let person = match person {
        Some(person) if principal.kind.decides() => person,
        Some(_) | None => return Some(principal),
    };
    if person.standing != Standing::Active {
        return None;
    }
    let kind = match person.kind {
        PrincipalKind::Admin => principal.kind,
        PrincipalKind::Reviewer | PrincipalKind::Agent => PrincipalKind::Reviewer,
    };
    let mut roles = principal.roles;
    roles.retain(|role| person.roles.contains(role));
    Some(Principal { kind, roles, ..principal })
}

/// What stands for a person of this house where they show no credential: live as long as they are active.
pub(crate) fn standing_for(person: &Person) -> TokenId {
    TokenId::from_bytes(person.id.to_bytes())
}

impl Rights {
    /// All of it, from what is stored. `epoch` was read before that.
    pub(crate) fn of(epoch: u64, credentials: &[Credential], people: &[Person], now: Timestamp) -> Self {
        let by_name: HashMap<&str, &Person> =
            people.iter().map(|person| (person.name.as_str(), person)).collect();
        let mut held = HashMap::new();
        let mut roles: HashMap<String, Vec<HeldRoles>> = HashMap::new();
        for credential in credentials.iter().filter(|credential| credential.is_live(now)) {
            let person = by_name.get(credential.name.as_str()).copied();
            let Some(principal) = limited(credential, person) else { continue };
            let until = credential.expires_at;
            held.insert(credential.id, Held { kind: principal.kind, until });
            if principal.kind.decides() && person.is_none() {
                let own = HeldRoles { roles: principal.roles, until };
                roles.entry(principal.name).or_default().push(own);
            }
        }
        // People have their roles also while no browser of theirs is signed in.
        for person in people.iter().filter(|person| person.standing == Standing::Active) {
            held.insert(standing_for(person), Held { kind: person.kind, until: None });
            let own = HeldRoles { roles: person.roles.clone(), until: None };
            roles.insert(person.name.clone(), vec![own]);
        }
        Self { epoch, held, roles, behind: Behind::of(people) }
    }

    /// Whether someone still has all that they came in with. Only a yes is an answer: a credential may be newer than
    /// what is known here.
    pub(crate) fn cover(&self, principal: &Principal, epoch: u64, now: Timestamp) -> bool {
        let Some(held) = self.held.get(&principal.token) else { return false };
        let kind = held.kind == principal.kind
            || (held.kind == PrincipalKind::Admin && principal.kind == PrincipalKind::Reviewer);
        let own = || self.roles_of(&principal.name, now).unwrap_or_default();
        self.epoch >= epoch
            && kind
            && held.until.is_none_or(|end| now < end)
            && (principal.roles.is_empty() || {
                let own = own();
                principal.roles.iter().all(|role| own.contains(role))
            })
    }

    /// The roles that a person has of their own, by any of their live credentials; nothing if there is no such person.
    pub(crate) fn roles_of(&self, name: &str, now: Timestamp) -> Option<Vec<String>> {
        let mut held = self
            .roles
            .get(name)?
            .iter()
            .filter(|held| held.until.is_none_or(|end| now < end))
            .map(|held| &held.roles)
            .peekable();
        held.peek()?;
        let mut roles: Vec<String> = held.flatten().cloned().collect();
        roles.sort();
        roles.dedup();
        Some(roles)
    }

    /// Who brought a person in, if nobody independent has confirmed them.
    pub(crate) fn behind(&self, name: &str) -> Option<String> {
        self.behind.get(name).map(str::to_owned)
    }
}

/// Who may be behind whom.
///
/// Whoever makes the link by which someone comes in could use it themselves; and whom they make so could make others. So
/// all who lead back to one person count as that person, until one of them is confirmed by somebody outside.
#[derive(Default)]
pub(crate) struct Behind(HashMap<String, String>);

impl Behind {
    pub(crate) fn of(people: &[Person]) -> Self {
        let brought: HashMap<&str, &str> = people
            .iter()
            .filter_map(|person| Some((person.name.as_str(), person.brought_by.as_deref()?)))
            .collect();
        let behind = brought.keys().map(|name| ((*name).to_owned(), origin(name, &brought).to_owned()));
        Self(behind.collect())
    }

    /// Who is behind this person, if it is not certain that they are themselves.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Whether two may be one.
    pub(crate) fn may_be_one(&self, one: &str, other: &str) -> bool {
        self.get(one).unwrap_or(one) == self.get(other).unwrap_or(other)
    }
}

/// Where a line of people who brought one another in begins. Two who brought each other in (each was reset by the other)
/// lead in a circle; then it is the first of them by name, for all of the circle alike.
fn origin<'a>(name: &'a str, brought: &HashMap<&'a str, &'a str>) -> &'a str {
    let mut line = vec![name];
    let mut last = name;
    while let Some(by) = brought.get(last) {
        if let Some(start) = line.iter().position(|known| known == by) {
            return line.iter().skip(start).min().copied().unwrap_or(last);
        }
        line.push(by);
        last = by;
    }
    last
}

#[cfg(test)]
mod tests {
    use banksman_core::PersonId;

    use super::*;

    fn people(brought: &[(&str, Option<&str>)]) -> Vec<Person> {
        let person = |(number, (name, by)): (u128, &(&str, Option<&str>))| Person {
            brought_by: by.map(Into::into),
            ..Person::new(
                PersonId::from_parts(0, number),
                (*name).into(),
                PrincipalKind::Reviewer,
                Vec::new(),
                Timestamp::from_micros(0),
            )
        };
        (1..).zip(brought).map(person).collect()
    }

    #[test]
    fn all_who_lead_back_to_one_person_count_as_one() {
        let house = [
            ("ada", None),
            ("bob", Some("ada")),
            ("carl", Some("bob")),
            ("dora", Some("ada")),
            ("eve", None),
            ("fred", Some("eve")),
            // Brought in by the holder of a token, who is no person here.
            ("gert", Some("boss")),
        ];
        let behind = Behind::of(&people(&house));
        for (one, other) in [
            ("ada", "bob"),
            ("ada", "carl"),
            ("bob", "carl"),
            ("carl", "dora"),
            ("eve", "fred"),
            ("boss", "gert"),
        ] {
            assert!(behind.may_be_one(one, other) && behind.may_be_one(other, one), "{one}, {other}");
        }
        for (one, other) in [("ada", "eve"), ("carl", "fred"), ("gert", "ada"), ("eve", "boss")] {
            assert!(!behind.may_be_one(one, other), "{one}, {other}");
        }
        // Once carl is confirmed, he is himself, and so is whoever he brings in.
        let confirmed = [("ada", None), ("bob", Some("ada")), ("carl", None), ("dan", Some("carl"))];
        let behind = Behind::of(&people(&confirmed));
        assert!(!behind.may_be_one("carl", "bob") && !behind.may_be_one("dan", "ada"));
        assert!(behind.may_be_one("dan", "carl"));
    }

    #[test]
    fn a_circle_ends_and_is_one() {
        let house =
            [("b", Some("c")), ("c", Some("d")), ("d", Some("b")), ("a", Some("c")), ("self", Some("self"))];
        let behind = Behind::of(&people(&house));
        for name in ["a", "b", "c", "d"] {
            assert_eq!(behind.get(name), Some("b"), "{name}");
        }
        assert!(!behind.may_be_one("self", "a"));
    }
}
