//! A message as it is sent: the deliveries that go in it. Values in, values out.
//!
//! What goes together is written down before it is sent, and stays so for as long as it may have been taken. So a try
//! that nobody answered, or that a crash left unrecorded, is repeated as the same message under the same name, and
//! whoever drops repetitions drops that one and no other. What is known not to have been taken goes with whatever else
//! there is to send by then.

use std::collections::BTreeMap;

use banksman_core::{Digest, Purpose};
use banksman_notify::{MessageId, Purpose as Shown};
use banksman_store::Delivery;

/// Most cards in one message; the console shows the rest.
pub(super) const DIGEST: usize = 20;

/// One message to one recipient.
#[derive(Debug, Clone)]
pub(super) struct Parcel {
    /// The delivery with the lowest number, which the message is called by.
    pub(super) first: Delivery,
    others: Vec<Delivery>,
}

impl Parcel {
    /// What goes together; `None` if that is nothing.
    pub(super) fn of(mut parts: Vec<Delivery>) -> Option<Self> {
        parts.sort_by_key(|part| part.id);
        let mut parts = parts.into_iter();
        let first = parts.next()?;
        Some(Self { first, others: parts.collect() })
    }

    pub(super) fn parts(&self) -> impl Iterator<Item = &Delivery> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// Why people hear of it, as the message says it.
    pub(super) fn purpose(&self, digest_above: usize) -> Shown {
        let count = self.others.len() + 1;
        match self.first.purpose {
            Purpose::Settled => Shown::Settled,
            Purpose::Ask | Purpose::Told | Purpose::Again | Purpose::Escalated
                if count > 1 || count > digest_above =>
            {
                Shown::Digest
            }
            Purpose::Ask | Purpose::Told => Shown::Ask,
            Purpose::Again => Shown::Again,
            Purpose::Escalated => Shown::Escalated,
        }
    }

    /// What names the message: the same for the same deliveries, and for no others.
    pub(super) fn name(&self) -> MessageId {
        let first = self.first.id;
        if self.others.is_empty() {
            return MessageId::new(first.to_string());
        }
        let all: Vec<String> = self.parts().map(|part| part.id.to_string()).collect();
        let digest = Digest::of(all.join(" ").as_bytes());
        let start: String = digest.as_bytes().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        MessageId::new(format!("{first}-{start}"))
    }

    /// Which deliveries go together, as it is written down.
    pub(super) fn bundles(&self) -> impl Iterator<Item = (i64, i64)> {
        self.parts().map(|part| (part.id, self.first.id))
    }
}

/// The messages to make of what was not tried before: many at once become one, and what changes one message that is
/// there changes it once.
pub(super) fn pack(fresh: Vec<Delivery>, digest_above: usize) -> Vec<Parcel> {
    let (updates, news): (Vec<_>, Vec<_>) =
        fresh.into_iter().partition(|delivery| delivery.purpose == Purpose::Settled);
    let together = if news.len() > digest_above { DIGEST } else { 1 };
    let mut by_message: BTreeMap<i64, Vec<Delivery>> = BTreeMap::new();
    for update in updates {
        by_message.entry(update.round).or_default().push(update);
    }
    let news = news.chunks(together).map(<[Delivery]>::to_vec);
    news.chain(by_message.into_values()).filter_map(Parcel::of).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use banksman_core::{ActionId, DeliveryStatus, Timestamp};
    use proptest::prelude::*;

    use super::*;

    fn delivery(id: i64, purpose: Purpose, round: i64) -> Delivery {
        Delivery {
            id,
            action: ActionId::from_parts(0, 1),
            version: 1,
            purpose,
            round,
            channel: "chat".into(),
            recipient: "ann".into(),
            status: DeliveryStatus::Queued,
            attempt: 0,
            next_at: Some(Timestamp::default()),
            message: None,
            provider_id: None,
            error: None,
            created_at: Timestamp::default(),
            updated_at: Timestamp::default(),
            bundle: None,
            strikes: 0,
        }
    }

    proptest! {
        #[test]
        fn every_delivery_goes_in_one_message_and_every_message_has_a_name_of_its_own(
            rounds in prop::collection::vec((any::<bool>(), 0_i64..4), 0..80),
            digest_above in 0_usize..6,
        ) {
            let numbered = (1..).zip(&rounds);
            let fresh: Vec<_> = numbered
                .map(|(id, (news, round))| delivery(id, if *news { Purpose::Ask } else { Purpose::Settled }, *round))
                .collect();
            let parcels = pack(fresh.clone(), digest_above);
            let mut packed: Vec<i64> = parcels.iter().flat_map(|parcel| parcel.parts().map(|part| part.id)).collect();
            packed.sort_unstable();
            prop_assert_eq!(packed, fresh.iter().map(|delivery| delivery.id).collect::<Vec<_>>());
            let names: BTreeSet<MessageId> = parcels.iter().map(Parcel::name).collect();
            prop_assert_eq!(names.len(), parcels.len());
            for parcel in &parcels {
                let settled = parcel.parts().filter(|part| part.purpose == Purpose::Settled).count();
                prop_assert!(settled == 0 || parcel.parts().all(|part| part.round == parcel.first.round));
                prop_assert!(settled == 0 || settled == parcel.parts().count());
                prop_assert!(settled > 0 || parcel.parts().count() <= DIGEST);
            }
        }

        #[test]
        fn a_message_is_named_by_what_goes_in_it_in_whatever_order(mut ids in prop::collection::hash_set(1_i64..1000, 2..20)) {
            let all: Vec<_> = ids.iter().map(|id| delivery(*id, Purpose::Ask, 0)).collect();
            let parcel = Parcel::of(all.clone()).unwrap();
            prop_assert_eq!(parcel.name(), Parcel::of(all.into_iter().rev().collect()).unwrap().name());
            let first = parcel.first.id;
            ids.remove(&first);
            let last = *ids.iter().next().unwrap();
            let fewer: Vec<_> = parcel.parts().filter(|part| part.id != last).cloned().collect();
            prop_assert_ne!(parcel.name(), Parcel::of(fewer).unwrap().name());
            prop_assert_ne!(parcel.name(), Parcel::of(vec![parcel.first.clone()]).unwrap().name());
        }
    }
}
