//! New ids: the time from the clock, to the microsecond, the rest from the machine's entropy.

use std::cell::RefCell;

use banksman_core::Timestamp;

use crate::EngineError;

/// How many bits an id has besides its millisecond, in bytes.
const RANDOM: usize = 10;

thread_local! {
    /// Random bytes for the next ids. Asking the machine for each id is a hundredth of what a proposal costs; ids are no
    /// secrets, so theirs may be fetched ahead.
    static AHEAD: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// How many of them are random; those before say how late in its millisecond an id was made. Two proposals of one client
/// are often made in one, and lists that are in the order of ids are to be in theirs.
const RANDOM_BITS: u32 = 70;

/// 80 bits for an id made at `now`, ready for `from_parts`.
pub(crate) fn fresh(now: Timestamp) -> Result<(u64, u128), EngineError> {
    AHEAD.with_borrow_mut(|ahead| {
        if ahead.len() < RANDOM {
            let mut bytes = [0; 64 * RANDOM];
            fill(&mut bytes)?;
            ahead.extend_from_slice(&bytes);
        }
        // Taken out, so that no two ids ever share them.
        let taken = ahead.drain(ahead.len() - RANDOM..);
        let random = taken.fold(0, |bits: u128, byte| bits << 8 | u128::from(byte));
        let late = u128::from(now.as_micros().rem_euclid(1000).unsigned_abs());
        Ok((now.as_millis(), late << RANDOM_BITS | random & ((1 << RANDOM_BITS) - 1)))
    })
}

/// Random bytes, or no action at all: an id or a secret that can be guessed is worse than none.
pub(crate) fn fill(bytes: &mut [u8]) -> Result<(), EngineError> {
    getrandom::fill(bytes).map_err(|error| EngineError::Internal(format!("no entropy: {error}")))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_two_ids_share_their_random_bits_and_all_of_them_are_used() {
        let at = Timestamp::from_micros(5_000);
        let ids: Vec<(u64, u128)> = (0..1000).map(|_| fresh(at).unwrap()).collect();
        assert!(ids.iter().all(|(millis, random)| *millis == 5 && random >> RANDOM_BITS == 0));
        assert_eq!(ids.iter().collect::<HashSet<_>>().len(), 1000);
        assert_eq!(ids.iter().fold(0, |seen, (_, random)| seen | random), (1 << RANDOM_BITS) - 1);
    }

    #[test]
    fn ids_are_in_the_order_of_their_microseconds() {
        let ids: Vec<(u64, u128)> =
            (4_990..7_010).map(|micros| fresh(Timestamp::from_micros(micros)).unwrap()).collect();
        assert!(ids.is_sorted());
        assert!(ids.iter().all(|(_, bits)| bits >> 80 == 0));
    }
}
