//! The postman of a channel: takes what is due, looks whether it still matters, and sends it.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use banksman_core::audit::{Event, Fact};
use banksman_core::{Actor, Case, DeliveryStatus, Purpose, State, Timestamp};
use banksman_engine::EngineError;
use banksman_notify::{Card, Channel, Message, SendError, Sent, Showing};
use banksman_store::{Attempt, Delivery, DeliveryQuery, Post};
use futures_util::StreamExt as _;

use crate::Outbox;
use crate::outbox::chance;

/// How many deliveries are taken at a time, and how many recipients are served at once. A channel takes half a minute
/// for a message at the worst, so all of them are done well within the lease.
const AT_A_TIME: usize = 64;
const AT_ONCE: usize = 8;
const LEASE: Duration = Duration::from_secs(600);

/// How often to look for what another node has left behind.
const LOOK: Duration = Duration::from_secs(15);

const AFTER_FAILURE: Duration = Duration::from_secs(1);

/// Most cards in one message; the console shows the rest.
const DIGEST: usize = 20;

/// What policy only wants known is worth knowing for this long.
const NEWS: Duration = Duration::from_secs(24 * 3600);

/// One message: the deliveries that it is made of, each with its action.
struct Bundle {
    parts: Vec<(Delivery, Arc<Case>)>,
    purpose: banksman_notify::Purpose,
    earlier: Option<String>,
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
    /// If the store cannot be used. What was sent and could not be written down is sent again, under the same number.
    pub async fn carry_once(&self, channel: &str) -> Result<usize, EngineError> {
        let Some(carrier) = self.channels.get(channel) else { return Ok(0) };
        let due = self.engine.take_deliveries(channel, AT_A_TIME, LEASE).await?;
        let count = due.len();
        let mut by_recipient: BTreeMap<String, Vec<Delivery>> = BTreeMap::new();
        for delivery in due {
            by_recipient.entry(delivery.recipient.clone()).or_default().push(delivery);
        }
        let rounds = by_recipient.into_iter().map(|(recipient, due)| self.serve(&**carrier, recipient, due));
        let mut served = futures_util::stream::iter(rounds).buffer_unordered(AT_ONCE);
        while let Some(result) = served.next().await {
            result?;
        }
        Ok(count)
    }

    /// Serves one recipient.
    async fn serve(
        &self,
        carrier: &dyn Channel,
        name: String,
        due: Vec<Delivery>,
    ) -> Result<(), EngineError> {
        let now = self.engine.now();
        let mut unsent = Vec::new();
        let mut parts = Vec::new();
        for delivery in due {
            let case = self.engine.case(delivery.action).await?;
            match self.fate(&delivery, &case, now) {
                Fate::Send => parts.push((delivery, case)),
                Fate::Wait(until) => unsent.push(put_off(&delivery, until, now)),
                Fate::Skip(why) => unsent.push(ended(&delivery, DeliveryStatus::Skipped, why, now)),
                Fate::Fail(why) => unsent.push(ended(&delivery, DeliveryStatus::Failed, why, now)),
            }
        }
        let (updates, mut news): (Vec<_>, Vec<_>) =
            parts.into_iter().partition(|(delivery, _)| delivery.purpose == Purpose::Settled);
        if let Some((delivery, _)) = news.first()
            && let Some(until) = self.too_much(delivery, now).await?
        {
            unsent.extend(news.drain(..).map(|(delivery, _)| put_off(&delivery, until, now)));
        }
        let failed = unsent.iter().filter(|attempt| attempt.status == DeliveryStatus::Failed);
        let failed: Vec<i64> = failed.map(|attempt| attempt.id).collect();
        if !failed.is_empty() {
            tracing::warn!(recipient = ?name, deliveries = ?failed, "messages cannot be sent");
        }
        if !unsent.is_empty() {
            self.engine.record_post(Post { attempts: unsent, ..Post::default() }, Vec::new()).await?;
        }
        for bundle in self.bundles(news, updates).await? {
            self.send(carrier, &name, bundle).await?;
        }
        Ok(())
    }

    /// Whether a delivery still matters, and may be sent now.
    fn fate(&self, delivery: &Delivery, case: &Case, now: Timestamp) -> Fate {
        let Some(contact) = self.directory.contact(&delivery.recipient) else {
            return Fate::Fail("the configuration no longer knows the recipient");
        };
        if !contact.addresses.contains_key(&delivery.channel) {
            return Fate::Fail("the recipient no longer has an address on this channel");
        }
        match delivery.purpose {
            // A message that is there is changed without a sound, whatever the hour.
            Purpose::Settled => return Fate::Send,
            Purpose::Told if now.since(delivery.created_at) > NEWS => return Fate::Skip("it is old news"),
            Purpose::Told => {}
            Purpose::Ask | Purpose::Again | Purpose::Escalated => match &case.state {
                State::Pending { deadline, .. } if *deadline <= now => return Fate::Skip("it has expired"),
                State::Pending { .. } if case.version != delivery.version => {
                    return Fate::Skip("it has been edited since");
                }
                State::Pending { .. } => {}
                State::Expired { .. } => return Fate::Skip("it has expired"),
                _ => return Fate::Skip("it has been settled"),
            },
        }
        let awake = contact.not_before(now, case.submission.verdict.risk);
        if awake > now { Fate::Wait(awake) } else { Fate::Send }
    }

    /// Until when a recipient is to be left alone, if they were sent too much lately.
    async fn too_much(&self, delivery: &Delivery, now: Timestamp) -> Result<Option<Timestamp>, EngineError> {
        let limits = self.directory.limits;
        let window = i64::try_from(limits.within.as_micros()).unwrap_or(i64::MAX);
        let since = Timestamp::from_micros(now.as_micros().saturating_sub(window));
        let told = self.engine.told(&delivery.channel, &delivery.recipient, since).await?;
        // What gathers meanwhile goes in one message.
        let share = limits.within / u32::try_from(limits.messages.max(1)).unwrap_or(u32::MAX);
        Ok((told >= limits.messages).then(|| now.after(share.max(Duration::from_secs(1)))))
    }

    /// The messages to make of it: several at once become one, and each message that is there is changed by itself.
    async fn bundles(
        &self,
        mut news: Vec<(Delivery, Arc<Case>)>,
        updates: Vec<(Delivery, Arc<Case>)>,
    ) -> Result<Vec<Bundle>, EngineError> {
        use banksman_notify::Purpose as Shown;
        let mut bundles = Vec::new();
        if news.len() > self.directory.limits.digest_above {
            while !news.is_empty() {
                let parts = news.drain(..news.len().min(DIGEST)).collect();
                bundles.push(Bundle { parts, purpose: Shown::Digest, earlier: None });
            }
        }
        for (delivery, case) in news {
            let purpose = match delivery.purpose {
                Purpose::Ask | Purpose::Told => Shown::Ask,
                Purpose::Again => Shown::Again,
                Purpose::Escalated => Shown::Escalated,
                Purpose::Settled => Shown::Settled,
            };
            bundles.push(Bundle { parts: vec![(delivery, case)], purpose, earlier: None });
        }
        for (delivery, case) in updates {
            let query =
                DeliveryQuery { message: Some(delivery.round), limit: DIGEST, ..DeliveryQuery::default() };
            let earlier = self.engine.deliveries(query).await?.into_iter().find_map(|sent| sent.provider_id);
            bundles.push(Bundle { parts: vec![(delivery, case)], purpose: Shown::Settled, earlier });
        }
        Ok(bundles)
    }

    /// Sends one message, and writes down what came of it.
    async fn send(&self, carrier: &dyn Channel, name: &str, bundle: Bundle) -> Result<(), EngineError> {
        let Some((first, _)) = bundle.parts.first() else { return Ok(()) };
        let (id, channel) = (first.id, first.channel.clone());
        let Some(to) = self.directory.recipient(name, &channel) else { return Ok(()) };
        let message = Message {
            delivery: id,
            attempt: first.attempt + 1,
            purpose: bundle.purpose,
            to,
            cards: self.cards(&bundle, &channel).await?,
            earlier: bundle.earlier.clone(),
        };
        let answer = carrier.send(&message).await;
        let now = self.engine.now();
        if answer.is_ok() {
            self.note_working(&channel, now);
        }
        let attempts: Vec<Attempt> =
            bundle.parts.iter().map(|(delivery, _)| self.concluded(delivery, id, &answer, now)).collect();
        let events = bundle
            .parts
            .iter()
            .zip(&attempts)
            .filter_map(|((delivery, _), attempt)| event(delivery, attempt));
        let events = events.collect();
        self.engine.record_post(Post { attempts, ..Post::default() }, events).await
    }

    async fn cards(&self, bundle: &Bundle, channel: &str) -> Result<Vec<Card>, EngineError> {
        let card = |case: &Case| {
            let showing =
                Showing { console: &self.directory.console, may_decide: self.may_decide(channel, case) };
            Card::of(case, showing)
        };
        let [(delivery, case)] = bundle.parts.as_slice() else {
            return Ok(bundle.parts.iter().map(|(_, case)| card(case)).collect());
        };
        if delivery.purpose != Purpose::Settled {
            return Ok(vec![card(case)]);
        }
        // A message about several shows all of them still, each as it stands now.
        let query =
            DeliveryQuery { message: Some(delivery.round), limit: DIGEST, ..DeliveryQuery::default() };
        let mut together = self.engine.deliveries(query).await?;
        together.reverse();
        let mut cards = Vec::with_capacity(together.len());
        for sent in together {
            cards.push(card(&*self.engine.case(sent.action).await?));
        }
        Ok(cards)
    }

    /// What came of an attempt, for one of the deliveries that went together.
    fn concluded(
        &self,
        delivery: &Delivery,
        message: i64,
        answer: &Result<Sent, SendError>,
        now: Timestamp,
    ) -> Attempt {
        let base = Attempt {
            id: delivery.id,
            after: delivery.attempt,
            attempt: delivery.attempt.saturating_add(1),
            status: DeliveryStatus::Failed,
            next_at: None,
            message: None,
            provider_id: None,
            error: None,
            at: now,
        };
        match answer {
            Ok(Sent { provider_id, delivered }) => Attempt {
                status: if *delivered { DeliveryStatus::Delivered } else { DeliveryStatus::Sent },
                message: Some(message),
                provider_id: provider_id.clone(),
                ..base
            },
            Err(SendError::Never { why }) => Attempt { error: Some(why.clone()), ..base },
            Err(SendError::Later { after, why }) => {
                let retries = self.directory.limits.retries;
                // Tries count while the channel works. While it takes nothing from anyone, its messages wait for it:
                // what a provider's bad hour delays is sent when it is over, if it still matters.
                let spent = base.attempt >= retries.tries
                    && self.has_worked_since(&delivery.channel, delivery.created_at);
                let pause = retries.pause(base.attempt, chance()).max(after.unwrap_or_default());
                let error = Some(why.clone());
                if spent {
                    Attempt { error, ..base }
                } else {
                    Attempt {
                        status: DeliveryStatus::Retrying,
                        next_at: Some(now.after(pause)),
                        error,
                        ..base
                    }
                }
            }
        }
    }
}

/// What is to become of a delivery.
enum Fate {
    Send,
    Wait(Timestamp),
    Skip(&'static str),
    Fail(&'static str),
}

fn put_off(delivery: &Delivery, until: Timestamp, now: Timestamp) -> Attempt {
    Attempt {
        id: delivery.id,
        after: delivery.attempt,
        attempt: delivery.attempt,
        status: delivery.status,
        next_at: Some(until),
        message: None,
        provider_id: None,
        error: delivery.error.clone(),
        at: now,
    }
}

fn ended(delivery: &Delivery, status: DeliveryStatus, why: &str, now: Timestamp) -> Attempt {
    Attempt { status, next_at: None, error: Some(why.to_owned()), ..put_off(delivery, now, now) }
}

/// What the audit log says of an attempt: that someone was told, or never will be. Tries in between are in the row.
fn event(delivery: &Delivery, attempt: &Attempt) -> Option<Event> {
    let fact = Fact::Notified {
        about: delivery.action,
        delivery: delivery.id,
        purpose: delivery.purpose,
        channel: delivery.channel.clone(),
        recipient: delivery.recipient.clone(),
        outcome: attempt.status,
        error: attempt.error.clone(),
    };
    (!attempt.status.is_open()).then(|| Event::general(attempt.at, Actor::System, fact))
}
