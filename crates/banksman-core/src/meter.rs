//! Meters: how much of something happened lately, such as what a customer was refunded within the hour.
//!
//! Policy says what is metered and how much an action adds; stores add up. An amount is counted in millionths, as an
//! integer, so that ten times 0.1 is 1 and stays so in every store; a plain count is a million of them for each.

use crate::{ActionId, Digest, Timestamp};

/// What one is, in the unit of meters.
pub const ONE: i64 = 1_000_000;

/// One meter: a window of the policy together with what it is kept apart by, such as the customer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MeterId([u8; 16]);

impl MeterId {
    /// The meter behind a description that names it alone. Descriptions hold arguments, so only a digest is kept.
    #[must_use]
    pub fn of(description: &str) -> Self {
        let mut id = [0; 16];
        for (byte, whole) in id.iter_mut().zip(Digest::of(description.as_bytes()).as_bytes()) {
            *byte = *whole;
        }
        Self(id)
    }

    /// The bytes that stores keep.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

/// What an action adds to a meter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Charge {
    /// The meter.
    pub meter: MeterId,
    /// The action that adds to it. It does so once, at most.
    pub action: ActionId,
    /// When.
    pub at: Timestamp,
    /// How much, in millionths; never negative.
    pub amount: i64,
    /// Which of many, where different ones are counted.
    pub value: Option<Digest>,
    /// What is older than this no longer matters to this meter, and can go.
    pub forget_before: Timestamp,
}

/// What is asked of a meter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeterQuery {
    /// The meter.
    pub meter: MeterId,
    /// From this moment on, up to now.
    pub since: Timestamp,
    /// What is added up.
    pub measure: Measure,
    /// An action whose own charge is left out, because it is being judged anew.
    pub except: Option<ActionId>,
}

/// What is added up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Measure {
    /// Amounts.
    Sum,
    /// How many different values there are, besides these.
    Distinct {
        /// Not counted.
        besides: Vec<Digest>,
    },
}

/// What a meter showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// What was asked.
    pub query: MeterQuery,
    /// The answer, in millionths.
    pub total: i64,
}
