//! From a notice to the messages that it makes: who, by which channel, not before when. Values in, values out.

use std::collections::BTreeSet;
use std::time::Duration;

use banksman_core::{Case, Escalation, Purpose, State, Timestamp};
use banksman_engine::Decider;
use banksman_policy::Leg;
use banksman_store::{NewDelivery, StoredNotice};

use crate::Directory;

/// Every message that one event makes has an id behind the event's own, so that planning twice plans the same.
pub(crate) const IDS_PER_EVENT: i64 = 4096;

/// The first of them are for what people are told because of it; those from here on for what they were told before and
/// is no longer true. An edit makes both.
pub(crate) const CORRECTIONS_FROM: i64 = 2048;

/// What a plan depends on besides the action.
#[derive(Debug, Clone, Copy)]
pub struct Situation<'a> {
    /// Who can be reached where.
    pub directory: &'a Directory,
    /// Who decides at this moment.
    pub people: &'a [Decider],
    /// Whom policy wants told. `None`: whoever can answer, however they like it.
    pub legs: Option<&'a [Leg]>,
    /// The time.
    pub now: Timestamp,
}

/// A recipient and a channel.
type Target<'a> = (&'a str, &'a str);

/// The messages that a notice makes.
#[must_use]
pub fn plan(notice: &StoredNotice, case: &Case, situation: &Situation<'_>) -> Vec<NewDelivery> {
    let Some((purpose, targets)) = told(notice, case, situation) else { return Vec::new() };
    let first = notice.id.saturating_mul(IDS_PER_EVENT);
    let now = situation.now;
    let round = if purpose == Purpose::Ask { 0 } else { notice.id };
    let mut deliveries = Vec::new();
    let mut add = |purpose: Purpose, round: i64, from: Timestamp| {
        for (recipient, channel) in &targets {
            let Some(contact) = situation.directory.contact(recipient) else { continue };
            deliveries.push(NewDelivery {
                id: 0,
                action: case.id,
                version: case.version,
                purpose,
                round,
                channel: (*channel).to_owned(),
                recipient: (*recipient).to_owned(),
                next_at: contact.not_before(from, case.submission.verdict.risk),
                at: now,
            });
        }
    };
    add(purpose, round, now);
    for (number, at) in reminders(purpose, case, situation) {
        add(Purpose::Again, number, at);
    }
    // There is room for a thousand people and their reminders; beyond that nobody is served by one more message.
    deliveries.truncate(usize::try_from(CORRECTIONS_FROM).unwrap_or(0));
    for (id, delivery) in (first..).zip(&mut deliveries) {
        delivery.id = id;
    }
    deliveries
}

/// Why people hear of it, and who. `None` if nobody needs to any more.
fn told<'a>(
    notice: &StoredNotice,
    case: &'a Case,
    situation: &Situation<'a>,
) -> Option<(Purpose, BTreeSet<Target<'a>>)> {
    let mut stepped_in = case.steps_taken().iter().filter_map(|step| match &step.then {
        Escalation::HandTo { role, .. } => Some(role.as_str()),
        Escalation::NotifyAgain => None,
    });
    let waits = matches!(case.state, State::Pending { deadline, .. } if situation.now < deadline);
    match notice.notice.as_str() {
        "held" | "reminder" | "handed_over" if !waits => None,
        "held" => Some((Purpose::Ask, asked(case, situation))),
        "reminder" => {
            let mut targets = asked(case, situation);
            stepped_in.for_each(|role| targets.extend(of_role(role, situation)));
            Some((Purpose::Again, targets))
        }
        "handed_over" => {
            let role = stepped_in.next_back()?;
            let targets = of_role(role, situation);
            // Nobody has that role, or nobody of it can be reached: then those who can be hear of it again.
            Some((Purpose::Escalated, if targets.is_empty() { asked(case, situation) } else { targets }))
        }
        // Whatever else a later version leaves here, people should know of.
        _ => Some((Purpose::Told, asked(case, situation))),
    }
}

/// Whoever the routes name; else whoever can answer; else, rather than nobody, everyone.
fn asked<'a>(case: &'a Case, situation: &Situation<'a>) -> BTreeSet<Target<'a>> {
    let directory = situation.directory;
    let mut targets = BTreeSet::new();
    match situation.legs {
        Some(legs) => {
            for leg in legs {
                let named = leg.people.iter().map(String::as_str);
                let of_roles = leg.roles.iter().flat_map(|role| holders(role, situation.people));
                if leg.roles.is_empty() && leg.people.is_empty() {
                    targets.extend(reach(directory, answerers(case, situation.people), &leg.channels));
                }
                targets.extend(reach(directory, named.chain(of_roles), &leg.channels));
            }
        }
        None => {
            targets.extend(reach(directory, answerers(case, situation.people), &[]));
            targets.extend(reach(directory, directory.places.keys().map(String::as_str), &[]));
        }
    }
    if targets.is_empty() {
        let everyone = situation.people.iter().map(|person| person.name.as_str());
        let places = directory.places.keys().map(String::as_str);
        targets.extend(reach(directory, everyone.chain(places), &[]));
    }
    targets
}

/// Those whose word would count: of the roles that are asked for, or anyone; but not the owner of the agent, who may
/// not approve it, if there are others.
fn answerers<'a>(case: &'a Case, people: &'a [Decider]) -> impl Iterator<Item = &'a str> {
    let quorum = &case.submission.verdict.quorum;
    let roles = quorum.roles();
    let anyone = usize::try_from(quorum.count()).unwrap_or(usize::MAX) > roles.len();
    let counts = move |person: &&Decider| anyone || person.roles.iter().any(|role| roles.contains(role));
    let is_owner = |person: &Decider| case.owner.as_deref() == Some(person.name.as_str());
    let others = people.iter().filter(counts).any(|person| !is_owner(person));
    people
        .iter()
        .filter(counts)
        .filter(move |person| !others || case.owner.as_deref() != Some(person.name.as_str()))
        .map(|person| person.name.as_str())
}

fn holders<'a>(role: &'a str, people: &'a [Decider]) -> impl Iterator<Item = &'a str> {
    let holds = move |person: &&Decider| person.roles.iter().any(|held| held == role);
    people.iter().filter(holds).map(|person| person.name.as_str())
}

fn of_role<'a>(role: &'a str, situation: &Situation<'a>) -> BTreeSet<Target<'a>> {
    reach(situation.directory, holders(role, situation.people), &[]).collect()
}

/// Where each of these is reached.
fn reach<'a>(
    directory: &'a Directory,
    names: impl Iterator<Item = &'a str>,
    channels: &'a [String],
) -> impl Iterator<Item = Target<'a>> {
    names
        .filter_map(|name| directory.contact(name).map(|contact| (name, contact)))
        .flat_map(move |(name, contact)| contact.channels(channels).map(move |channel| (name, channel)))
        .filter(|(_, channel)| directory.channels.contains_key(*channel))
}

/// When people are reminded of a hold for which policy has no chain, by number.
fn reminders(purpose: Purpose, case: &Case, situation: &Situation<'_>) -> Vec<(i64, Timestamp)> {
    let State::Pending { deadline, .. } = case.state else { return Vec::new() };
    let limits = situation.directory.limits;
    if purpose != Purpose::Ask || !case.submission.verdict.escalation.is_empty() {
        return Vec::new();
    }
    let at = |number: u32| situation.now.after(limits.remind_after.saturating_mul(number));
    let due = (1..=limits.reminders).map(|number| (i64::from(number), at(number)));
    due.take_while(|(_, at)| deadline.since(*at) > Duration::ZERO).collect()
}
