//! Agents and reviewers who work at full speed, write down all that they asked and were told ([`book`]), and in the end
//! a checker that holds the book against what the servers say ([`checker`]).
//!
//! They do what real clients would: send again what may be sent again, look before they repeat the rest.

mod agents;
pub(crate) mod book;
pub(crate) mod checker;
mod reviewers;
pub(crate) mod site;
mod warden;

use std::sync::Arc;
use std::thread::JoinHandle;

use self::agents::{Agent, Desk};
use self::reviewers::Reviewer;
use self::site::{Line, Site};
use self::warden::Warden;
use crate::chance::Chance;

/// `steady` waits as long as it takes, `hasty` loses its authorisation and its lease within a second, `grave` needs
/// two people, `free` needs nobody.
pub(crate) const POLICY: &str = "\
version: 1
defaults: {timeout: 6h, claim_within: 6h, lease: 6h}
tools:
  steady: {risk: high, tier: approve}
  hasty: {risk: high, tier: approve, claim_within: 1s, lease: 1s}
  grave: {risk: critical, tier: escalate}
  free: {risk: low, tier: auto}
";

const AGENTS: [&str; 3] = ["riley", "robin", "rowan"];
const REVIEWERS: [&str; 3] = ["ann", "bob", "carla"];
const WARDEN: &str = "walt";

/// Everyone at work.
pub(crate) struct Crew(Vec<JoinHandle<()>>);

impl Crew {
    /// Agents, two threads for each so that they also race themselves, reviewers, and a warden. `token` gives a credential for a
    /// kind and a name.
    pub(crate) fn employ(
        site: &Arc<Site>,
        chance: &mut Chance,
        token: impl Fn(&str, &str) -> String,
    ) -> Self {
        let mut people = Vec::new();
        for (place, name) in (0..).zip(AGENTS) {
            let token = token("agent", name);
            let desk = Desk::new(place);
            for _ in 0..2 {
                let line = Line::new(site, &token, chance.fork());
                let agent = Agent::new(line, name, Arc::clone(&desk), chance.fork());
                people.push(std::thread::spawn(move || agent.work()));
            }
        }
        for name in REVIEWERS {
            let line = Line::new(site, &token("reviewer", name), chance.fork());
            let reviewer = Reviewer::new(line, name, chance.fork());
            people.push(std::thread::spawn(move || reviewer.work()));
        }
        let line = Line::new(site, &token("reviewer", WARDEN), chance.fork());
        let warden = Warden::new(line, WARDEN, chance.fork());
        people.push(std::thread::spawn(move || warden.work()));
        Self(people)
    }

    /// Everyone finishes what they are at; to be called when servers are up to answer them.
    pub(crate) fn go_home(self, site: &Site) {
        site.close();
        for person in self.0 {
            person.join().unwrap();
        }
    }
}
