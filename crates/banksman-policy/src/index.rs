//! Which rules are worth asking for a tool.

use std::collections::{BTreeSet, HashMap};

use crate::condition::Condition;

/// Rules by the tools, or else the agents, that they name. Thousands of rules about other tools cost nothing.
#[derive(Debug, Default)]
pub(crate) struct Index {
    exact: HashMap<Box<str>, Vec<u32>>,
    /// By what comes before the first wildcard, and the lengths that occur.
    prefixes: HashMap<Box<str>, Vec<u32>>,
    lengths: BTreeSet<usize>,
    by_agent: HashMap<Box<str>, Vec<u32>>,
    rest: Vec<u32>,
}

impl Index {
    pub(crate) fn of<'c>(conditions: impl Iterator<Item = &'c Condition>) -> Self {
        let mut index = Self::default();
        for (number, condition) in (0..).zip(conditions) {
            index.add(number, condition);
        }
        index
    }

    fn add(&mut self, number: u32, condition: &Condition) {
        if !condition.names_tools() {
            let agents: Option<Vec<&str>> = condition.agent.iter().map(|agent| agent.exact()).collect();
            match agents {
                Some(agents) if !agents.is_empty() => {
                    for agent in agents {
                        self.by_agent.entry(agent.into()).or_default().push(number);
                    }
                }
                _ => self.rest.push(number),
            }
            return;
        }
        for tool in &condition.tool {
            match tool.exact() {
                Some(name) => self.exact.entry(name.into()).or_default().push(number),
                None => {
                    let prefix = tool.prefix();
                    self.lengths.insert(prefix.len());
                    self.prefixes.entry(prefix.into()).or_default().push(number);
                }
            }
        }
    }

    /// The rules to ask, in the order of the file, each once.
    pub(crate) fn candidates(&self, tool: &str, agent: &str) -> Vec<u32> {
        let mut found: Vec<u32> = self.rest.clone();
        found.extend(self.exact.get(tool).into_iter().flatten());
        found.extend(self.by_agent.get(agent).into_iter().flatten());
        for length in &self.lengths {
            if let Some(rules) = tool.get(..*length).and_then(|prefix| self.prefixes.get(prefix)) {
                found.extend(rules);
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}
