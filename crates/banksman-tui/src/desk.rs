//! Speaks to the server, beside the screen: a slow answer never keeps anyone from pressing a key.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, TrySendError, channel, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use banksman_client::{ActionsQuery, Client, ClientError};
use banksman_core::wire::{DecisionRequest, FreezeBody};
use banksman_core::{ActionId, FreezeId, Status};
use tokio::sync::mpsc::UnboundedSender;

use crate::message::{Answered, House, Message};

/// What is fetched at once; a person reads from the most urgent end.
const MOST: u32 = 500;
/// A busy house is looked at this often at most.
const BREATH: Duration = Duration::from_millis(200);

/// What can be asked of the server.
#[derive(Debug)]
pub(crate) enum Order {
    Decide(ActionId, Box<DecisionRequest>),
    Fetch(ActionId),
    Freeze(FreezeBody),
    Lift(FreezeId),
}

/// Two who work beside each other: one looks at the house, one carries out orders.
pub(crate) struct Desk {
    orders: Sender<Order>,
    look: SyncSender<()>,
}

impl Desk {
    pub(crate) fn open(client: &Arc<Client>, tell: &UnboundedSender<Message>) -> Self {
        let (orders, ordered) = channel();
        let (look, asked) = sync_channel(1);
        let (to, report) = (Arc::clone(client), tell.clone());
        thread::spawn(move || carry_out(&to, &ordered, &report));
        let (to, report) = (Arc::clone(client), tell.clone());
        thread::spawn(move || keep_looking(&to, &asked, &report));
        Self { orders, look }
    }

    pub(crate) fn order(&self, order: Order) {
        // Only after a panic over there, which ends the program anyway.
        let _ = self.orders.send(order);
    }

    /// Looks at the house soon. Asking twice before it happens is asking once.
    pub(crate) fn look(&self) {
        match self.look.try_send(()) {
            Ok(()) | Err(TrySendError::Full(()) | TrySendError::Disconnected(())) => {}
        }
    }
}

/// How the house stands now.
pub(crate) fn look_at(client: &Client) -> Result<House, ClientError> {
    let query = ActionsQuery {
        status: Some(Status::Pending),
        most_urgent_first: true,
        limit: Some(MOST),
        ..ActionsQuery::default()
    };
    let page = client.actions(&query)?;
    let freezes = client.freezes()?.items;
    Ok(House { pending: page.items, more: page.next_cursor.is_some(), freezes })
}

fn keep_looking(client: &Client, asked: &Receiver<()>, tell: &UnboundedSender<Message>) {
    while asked.recv().is_ok() {
        let began = Instant::now();
        let message = match look_at(client) {
            Ok(house) => Message::Loaded(Box::new(house)),
            Err(error) => Message::NotLoaded(error.to_string()),
        };
        if tell.send(message).is_err() {
            return;
        }
        // However slow the server is, most of its time is for others.
        thread::sleep(BREATH.max(began.elapsed() * 3));
    }
}

fn carry_out(client: &Client, orders: &Receiver<Order>, tell: &UnboundedSender<Message>) {
    while let Ok(order) = orders.recv() {
        let message = match order {
            Order::Decide(id, request) => Some(decide(client, id, &request)),
            // One that is gone for good is no news; one that could not be asked about is asked about again.
            Order::Fetch(id) => client.action(id).ok().map(|action| Message::Fetched(Box::new(action))),
            Order::Freeze(body) => Some(Message::House(
                client
                    .freeze(&body)
                    .map(|freeze| match freeze.name {
                        Some(name) => format!("Frozen: {} {name}.", freeze.scope),
                        None => format!("Frozen: {}.", freeze.scope),
                    })
                    .map_err(|error| error.to_string()),
            )),
            Order::Lift(id) => Some(Message::House(
                client.unfreeze(id).map(|()| "Lifted.".to_owned()).map_err(|error| error.to_string()),
            )),
        };
        if message.is_some_and(|message| tell.send(message).is_err()) {
            return;
        }
    }
}

fn decide(client: &Client, id: ActionId, request: &DecisionRequest) -> Message {
    let outcome = client.decide(id, request);
    // After a refusal, or no answer: who was faster, or whether it was done after all.
    let now = if outcome.is_err() { client.action(id).ok() } else { None };
    let outcome = outcome.map_err(|error| error.to_string());
    Message::Answered(Box::new(Answered { id, decision: request.decision, outcome, now }))
}
