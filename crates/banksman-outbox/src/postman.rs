//! The postman of a channel: takes what is due, looks whether it still matters, and sends it.

mod fate;
mod outcome;
mod parcel;

use std::collections::BTreeMap;
use std::pin::pin;
use std::time::Duration;

use banksman_core::{Case, DeliveryStatus, Purpose, Timestamp};
use banksman_engine::EngineError;
use banksman_notify::{Card, Channel, Message};
use banksman_store::{Attempt, Delivery, Post};
use futures_util::StreamExt as _;

use crate::Outbox;
use crate::outbox::chance;

use fate::{of_bundle, of_message};
use outcome::{Try, event, put_off};
use parcel::{Parcel, pack};

/// How many deliveries are taken at a time, and how many recipients are served at once. The slowest channel, mail, takes
/// 67 seconds for a message at the worst, so 64 recipients are served within the lease. What one of them has left when it
/// might not be is for the next round, or another node would send it at the same time.
const AT_A_TIME: usize = 64;
const AT_ONCE: usize = 8;
const LEASE: Duration = Duration::from_secs(600);
const BEGUN_WITHIN: Duration = Duration::from_secs(530);

/// How often to look for what another node has left behind.
const LOOK: Duration = Duration::from_secs(15);

const AFTER_FAILURE: Duration = Duration::from_secs(1);

/// What is due for one recipient.
#[derive(Default)]
struct Round {
    /// Messages that were made before, and may have been taken.
    made: Vec<Parcel>,
    /// What goes in no message yet.
    fresh: Vec<Delivery>,
    /// What is not to be sent now, each with what is to be written down.
    unsent: Vec<(Delivery, Attempt)>,
}

fn is_news(delivery: &Delivery) -> bool {
    delivery.purpose != Purpose::Settled
}

fn all_put_off(
    deliveries: impl IntoIterator<Item = Delivery>,
    until: Timestamp,
    now: Timestamp,
) -> impl Iterator<Item = (Delivery, Attempt)> {
    let not_now = move |delivery| {
        let attempt = put_off(&delivery, until, now);
        (delivery, attempt)
    };
    deliveries.into_iter().map(not_now)
}

impl Outbox {
    pub(crate) async fn keep_carrying(&self, channel: &str) {
        loop {
            // Before looking: what is planned while we look rings all the same.
            let mut rung = pin!(self.planned.notified());
            rung.as_mut().enable();
            match self.carry_once(channel).await {
                Ok(0) => {
                    let next = self.engine.next_delivery(channel).await.unwrap_or(None);
                    let until = next.map_or(LOOK, |due| due.since(self.engine.now()).min(LOOK));
                    let _ = tokio::time::timeout(until, rung).await;
                }
                Ok(_) => {}
                Err(error) => {
                    tracing::error!(channel, %error, "messages could not be taken or settled; trying again");
                    tokio::time::sleep(AFTER_FAILURE).await;
                }
            }
        }
    }

    /// Sends what a channel has to send by now. Says how many deliveries that were.
    ///
    /// # Errors
    /// If the store cannot be used. What was sent and could not be written down is sent again, under the same name.
    pub async fn carry_once(&self, channel: &str) -> Result<usize, EngineError> {
        let Some(carrier) = self.channels.get(channel) else { return Ok(0) };
        let begin_until = self.engine.now().after(BEGUN_WITHIN);
        let due = self.engine.take_deliveries(channel, AT_A_TIME, LEASE).await?;
        let count = due.len();
        let mut by_recipient: BTreeMap<String, Vec<Delivery>> = BTreeMap::new();
        for delivery in due {
            by_recipient.entry(delivery.recipient.clone()).or_default().push(delivery);
        }
        let rounds = by_recipient
            .into_iter()
            .map(|(recipient, due)| self.serve(&**carrier, recipient, due, begin_until));
        let served = futures_util::stream::iter(rounds).buffer_unordered(AT_ONCE);
        // What fails for one is no reason to leave off in the middle of what is sent to others.
        let results: Vec<Result<(), EngineError>> = served.collect().await;
        results.into_iter().collect::<Result<(), _>>().map(|()| count)
    }

    /// Serves one recipient.
    async fn serve(
        &self,
        carrier: &dyn Channel,
        name: String,
        due: Vec<Delivery>,
        begin_until: Timestamp,
    ) -> Result<(), EngineError> {
        let Round { mut made, fresh, unsent } = self.sorted(due).await?;
        let failed: Vec<i64> = unsent
            .iter()
            .filter(|(_, attempt)| attempt.status == DeliveryStatus::Failed)
            .map(|(delivery, _)| delivery.id)
            .collect();
        if !failed.is_empty() {
            tracing::warn!(recipient = ?name, deliveries = ?failed, "messages cannot be sent");
        }
        let new = pack(fresh, self.directory.limits.digest_above);
        let bundles = new.iter().flat_map(Parcel::bundles).collect();
        self.record(unsent, bundles).await?;
        made.extend(new);
        let mut result = Ok(());
        for parcel in made {
            if self.engine.now() > begin_until {
                break;
            }
            let sent = self.send(carrier, &name, parcel).await;
            result = result.and(sent);
        }
        result
    }

    /// What is due, by what is to be done with it.
    async fn sorted(&self, due: Vec<Delivery>) -> Result<Round, EngineError> {
        let now = self.engine.now();
        let mut round = Round::default();
        let mut bundles: BTreeMap<i64, Vec<Delivery>> = BTreeMap::new();
        let mut loose = Vec::new();
        for delivery in due {
            match delivery.bundle {
                Some(first) => bundles.entry(first).or_default().push(delivery),
                None => loose.push(delivery),
            }
        }
        for (first, taken) in bundles {
            let mut open = self.engine.deliveries(of_bundle(first)).await?;
            open.retain(|delivery| delivery.status.is_open());
            match open.iter().find(|delivery| delivery.id == first).and_then(|first| first.next_at) {
                // Whoever has the first has them all.
                Some(_) if taken.iter().any(|delivery| delivery.id == first) => {
                    round.made.extend(Parcel::of(open));
                }
                Some(due) if due > now => round.unsent.extend(all_put_off(taken, due, now)),
                // Another node has it at this moment, and writes down what comes of it for all.
                Some(_) => {}
                None => loose.extend(taken),
            }
        }
        for delivery in loose {
            match self.fate(&delivery, now).await?.unsent(&delivery, now) {
                None => round.fresh.push(delivery),
                Some(attempt) => round.unsent.push((delivery, attempt)),
            }
        }
        let mut all = round.made.iter().map(|parcel| &parcel.first).chain(&round.fresh);
        if let Some(news) = all.find(|delivery| is_news(delivery))
            && let Some(until) = self.too_much(news, now).await?
        {
            let (news, updates): (Vec<_>, Vec<_>) = round.fresh.into_iter().partition(is_news);
            let (made, made_updates): (Vec<_>, Vec<_>) =
                round.made.into_iter().partition(|parcel| is_news(&parcel.first));
            (round.fresh, round.made) = (updates, made_updates);
            let made = made.iter().flat_map(Parcel::parts).cloned();
            round.unsent.extend(all_put_off(news.into_iter().chain(made), until, now));
        }
        Ok(round)
    }

    /// Sends one message, and writes down what came of it.
    async fn send(&self, carrier: &dyn Channel, name: &str, parcel: Parcel) -> Result<(), EngineError> {
        // Looked at after it was written down that this is about to be sent: whoever decides from here on has it
        // corrected, and what was decided before is seen here.
        let now = self.engine.now();
        let fates = self.fates(&parcel, now).await?;
        let unsent: Vec<_> = parcel
            .parts()
            .zip(fates)
            .filter_map(|(part, fate)| Some((part.clone(), fate.unsent(part, now)?)))
            .collect();
        let channel = &parcel.first.channel;
        let Some(to) = self.directory.recipient(name, channel).filter(|_| unsent.is_empty()) else {
            return self.record(unsent, Vec::new()).await;
        };
        let (cards, earlier) = self.content(&parcel).await?;
        let message = Message {
            id: parcel.name(),
            attempt: parcel.first.attempt.saturating_add(1),
            purpose: parcel.purpose(self.directory.limits.digest_above),
            to,
            cards,
            earlier,
        };
        let answer = carrier.send(&message).await;
        let now = self.engine.now();
        if answer.is_ok() {
            self.note_working(channel, now);
        }
        let tried = Try {
            message: parcel.first.id,
            answer: &answer,
            retries: self.directory.limits.retries,
            chance: chance(),
            worked: self.last_worked(channel),
            tells_repetition: carrier.tells_repetition(&message),
            now,
        };
        let outcomes = parcel.parts().map(|part| (part.clone(), tried.outcome(part))).collect();
        self.record(outcomes, Vec::new()).await
    }

    /// Writes down what came of deliveries and what goes together from now on, with what the audit log says of it.
    async fn record(
        &self,
        outcomes: Vec<(Delivery, Attempt)>,
        bundles: Vec<(i64, i64)>,
    ) -> Result<(), EngineError> {
        if outcomes.is_empty() && bundles.is_empty() {
            return Ok(());
        }
        let events = outcomes.iter().filter_map(|(delivery, attempt)| event(delivery, attempt)).collect();
        let attempts = outcomes.into_iter().map(|(_, attempt)| attempt).collect();
        self.engine.record_post(Post { attempts, bundles, ..Post::default() }, events).await
    }

    /// What a message shows, and what the provider calls the one that it changes.
    async fn content(&self, parcel: &Parcel) -> Result<(Vec<Card>, Option<String>), EngineError> {
        let mut shown: Vec<Delivery> = parcel.parts().cloned().collect();
        let mut earlier = None;
        if parcel.first.purpose == Purpose::Settled {
            // A message about several shows all of them still, each as it stands now.
            shown = self.engine.deliveries(of_message(parcel.first.round)).await?;
            earlier = shown.iter().find_map(|sent| sent.provider_id.clone());
            if shown.is_empty() {
                shown = self.engine.deliveries(of_bundle(parcel.first.round)).await?;
            }
            shown.sort_by_key(|delivery| delivery.id);
        }
        let mut cards = Vec::with_capacity(shown.len());
        for delivery in shown {
            match self.engine.case(delivery.action).await {
                Ok(case) => cards.push(self.card_of(&delivery, &case)),
                Err(EngineError::NotFound) => {}
                Err(error) => return Err(error),
            }
        }
        Ok((cards, earlier))
    }

    fn card_of(&self, delivery: &Delivery, case: &Case) -> Card {
        let card = self.card(&delivery.channel, case);
        if delivery.version == case.version { card } else { card.outdated() }
    }
}
