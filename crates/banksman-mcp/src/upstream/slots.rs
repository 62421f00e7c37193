//! How many programs run for each agent.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::SendError;

/// So many programs may run for sessions at a time, of one agent.
const PROGRAMS_OF_AN_AGENT: usize = 64;

/// The programs of all agents, counted from before they start until nothing is left of them: one that does not end when
/// its session does would else count for nothing.
#[derive(Clone, Default)]
pub(crate) struct Slots(Arc<Mutex<HashMap<String, usize>>>);

/// The right to one program, given back when it is dropped.
pub(crate) struct Slot {
    slots: Slots,
    agent: String,
}

impl Slots {
    /// Takes a slot for a program of this agent.
    ///
    /// # Errors
    /// If the agent has too many already.
    pub(crate) fn take(&self, agent: &str) -> Result<Slot, SendError> {
        let mut taken = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let of_agent = taken.entry(agent.to_owned()).or_default();
        if *of_agent >= PROGRAMS_OF_AN_AGENT {
            return Err(SendError::NotSent(format!("this agent has {of_agent} programs running already")));
        }
        *of_agent += 1;
        Ok(Slot { slots: self.clone(), agent: agent.to_owned() })
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut taken = self.slots.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(of_agent) = taken.get_mut(&self.agent) {
            *of_agent -= 1;
            if *of_agent == 0 {
                taken.remove(&self.agent);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_has_so_many_and_no_more_until_one_is_given_back() {
        let slots = Slots::default();
        let mut held: Vec<Slot> =
            (0..PROGRAMS_OF_AN_AGENT).map(|_| slots.take("riley").ok().unwrap()).collect();
        assert!(slots.take("riley").is_err());
        assert!(slots.take("sam").is_ok());
        held.pop();
        held.push(slots.take("riley").ok().unwrap());
        assert!(slots.take("riley").is_err());
        held.clear();
        assert!(slots.0.lock().unwrap().is_empty());
    }
}
