//! Who can be reached where, and how they like it.

use std::collections::BTreeMap;
use std::time::Duration;

use banksman_config::TimeTest;
use banksman_core::{Case, Risk, Timestamp};
use banksman_notify::Recipient;
use banksman_policy::Leg;

use crate::timing::{Retries, after_quiet};

/// Who can be reached where, and how they like it.
#[derive(Debug, Clone, Default)]
pub struct Directory {
    /// Where the console is, for links.
    pub console: String,
    /// Reviewers, by the names of their credentials.
    pub people: BTreeMap<String, Contact>,
    /// Addresses that are nobody's in particular, by name: a Slack channel, a ticket queue.
    pub places: BTreeMap<String, Contact>,
    /// What may be done by each channel.
    pub channels: BTreeMap<String, ChannelRules>,
    /// How much, how often.
    pub limits: Limits,
}

/// Where someone is reached.
#[derive(Debug, Clone, Default)]
pub struct Contact {
    /// By channel.
    pub addresses: BTreeMap<String, String>,
    /// The channels that they prefer; all that they have an address for, if they say nothing.
    pub prefers: Vec<String>,
    /// When they are to be left alone.
    pub quiet_hours: Option<TimeTest>,
    /// By the clock of this place.
    pub time_zone: String,
    /// What is this risky wakes them all the same.
    pub wake_for: Option<Risk>,
}

/// What may be done by a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChannelRules {
    /// What is riskier is decided in the console: here, people are told of it. `None`: nothing is decided here.
    pub decide_up_to: Option<Risk>,
}

impl Default for ChannelRules {
    fn default() -> Self {
        Self { decide_up_to: Some(Risk::Critical) }
    }
}

/// How much, how often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Tries of each message.
    pub retries: Retries,
    /// So many messages to one recipient by one channel.
    pub messages: u64,
    /// Within so long.
    pub within: Duration,
    /// More than this many at once are one message.
    pub digest_above: usize,
    /// People are reminded so long after a hold began, where policy has no chain of its own.
    pub remind_after: Duration,
    /// And so many times.
    pub reminders: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            retries: Retries { tries: 3, first: Duration::from_secs(15), longest: Duration::from_secs(300) },
            messages: 20,
            within: Duration::from_secs(600),
            digest_above: 3,
            remind_after: Duration::from_secs(900),
            reminders: 1,
        }
    }
}

impl Directory {
    /// A person or a place, by name.
    #[must_use]
    pub fn contact(&self, name: &str) -> Option<&Contact> {
        self.people.get(name).or_else(|| self.places.get(name))
    }

    /// Where a recipient is reached by a channel.
    #[must_use]
    pub fn recipient(&self, name: &str, channel: &str) -> Option<Recipient> {
        let person = self.people.contains_key(name).then(|| name.to_owned());
        let address = self.contact(name)?.addresses.get(channel)?.clone();
        Some(Recipient { person, address })
    }

    /// The reviewer who has this address on a channel. A place is nobody, and decides nothing.
    #[must_use]
    pub fn reviewer(&self, channel: &str, address: &str) -> Option<&str> {
        let theirs = |(_, contact): &(&String, &Contact)| {
            contact.addresses.get(channel).is_some_and(|known| known == address)
        };
        self.people.iter().find(theirs).map(|(name, _)| name.as_str())
    }

    /// Whether an action may be decided by a channel, given the legs of its routes.
    #[must_use]
    pub fn may_decide(&self, channel: &str, case: &Case, legs: Option<&[Leg]>) -> bool {
        let Some(rules) = self.channels.get(channel) else { return false };
        rules.decide_up_to.is_some_and(|most| case.submission.verdict.risk <= most)
            && Leg::let_decide(legs.unwrap_or_default(), channel)
    }
}

impl Contact {
    /// The channels to use, of those that a route allows; none named means any.
    pub(crate) fn channels<'a>(&'a self, allowed: &'a [String]) -> impl Iterator<Item = &'a str> {
        let preferred =
            move |channel: &&str| self.prefers.is_empty() || self.prefers.iter().any(|name| name == channel);
        let allows = move |channel: &&str| allowed.is_empty() || allowed.iter().any(|name| name == channel);
        let reached = self.addresses.keys().map(String::as_str).filter(allows);
        // A route that leaves none of someone's favourites is followed all the same: they are to hear of it.
        let any = self.addresses.keys().map(String::as_str).filter(allows).any(|channel| preferred(&channel));
        reached.filter(move |channel| !any || preferred(channel))
    }

    /// When they may be told of something this risky.
    pub(crate) fn not_before(&self, now: Timestamp, risk: Risk) -> Timestamp {
        match &self.quiet_hours {
            Some(quiet) if self.wake_for.is_none_or(|from| risk < from) => {
                after_quiet(quiet, &self.time_zone, now)
            }
            Some(_) | None => now,
        }
    }
}
