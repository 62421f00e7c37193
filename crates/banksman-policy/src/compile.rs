//! From policy files to a policy that can be asked.

use std::collections::BTreeMap;

use banksman_config::{ConfigError, Place, Source, Zone};
use banksman_core::redact::is_redaction_path;
use banksman_core::{Digest, EscalationStep, Mode, Quorum, Risk, Severity, Tier};
use banksman_risk::Assessor;
use serde_saphyr::Spanned;

use crate::budget::Budget;
use crate::condition::Condition;
use crate::draft::Draft;
use crate::file::Demand;
use crate::glob::Glob;
use crate::index::Index;
use crate::listing::ListedRule;
use crate::load;
use crate::people::{self, AllowRemember, HousePolicy};
use crate::preset::Preset;
use crate::route::Routes;
use crate::triage::TriagePlan;
use crate::window::Window;

/// The policy of a new installation: everything is held.
pub const DEFAULT_POLICY: &str = include_str!("default-policy.yaml");

/// A policy, compiled: what an action demands.
#[derive(Debug)]
pub struct Policy {
    pub(crate) preset: Preset,
    pub(crate) rules: Vec<CompiledRule>,
    pub(crate) index: Index,
    pub(crate) unknown: Effect,
    pub(crate) risks: BTreeMap<Risk, Effect>,
    pub(crate) severities: BTreeMap<Severity, Effect>,
    pub(crate) times: Times,
    pub(crate) review_above_usd: f64,
    pub(crate) cost_limits: Vec<(Mode, f64)>,
    pub(crate) windows: Vec<Window>,
    pub(crate) budgets: Vec<Budget>,
    pub(crate) zone: Zone,
    pub(crate) triage: Option<TriagePlan>,
    pub(crate) redact: Vec<String>,
    pub(crate) routes: Routes,
    pub(crate) house: HousePolicy,
    pub(crate) assessor: Assessor,
    pub(crate) digest: Digest,
    pub(crate) listing: Vec<ListedRule>,
}

#[derive(Debug)]
pub(crate) struct CompiledRule {
    pub(crate) id: String,
    pub(crate) place: Place,
    pub(crate) condition: Condition,
    pub(crate) accepts: Vec<Glob>,
    pub(crate) effect: Effect,
    /// The windows that have to be read before it can be asked, by number.
    pub(crate) windows: Vec<usize>,
}

/// What something demands. What it does not say, it leaves to others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Effect {
    pub(crate) risk: Option<Risk>,
    pub(crate) tier: Option<Tier>,
    pub(crate) quorum: Option<Quorum>,
    pub(crate) extra_people: u32,
    pub(crate) escalation: Vec<EscalationStep>,
    pub(crate) timeout: Option<u64>,
    pub(crate) claim_within: Option<u64>,
    pub(crate) lease: Option<u64>,
    pub(crate) require_reason: bool,
    pub(crate) require_passkey: bool,
    pub(crate) allow_remember: Option<AllowRemember>,
    pub(crate) message: Option<String>,
    pub(crate) route: Option<String>,
    pub(crate) redact: Vec<String>,
}

/// Time spans where nothing else is said, in seconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    pub(crate) timeout: u64,
    pub(crate) claim_within: u64,
    pub(crate) lease: u64,
}

impl Policy {
    /// Compiles a policy from one file or several.
    ///
    /// # Errors
    /// If any of it is not valid. A policy that was half understood would let the other half through.
    pub fn compile(sources: &[Source]) -> Result<Self, ConfigError> {
        let mut draft = Draft::default();
        for source in sources {
            draft.add(source, load::read(source)?)?;
        }
        draft.finish(sources)
    }

    /// Compiles a policy from one text.
    ///
    /// # Errors
    /// If it is not valid.
    pub fn parse(name: &str, text: &str) -> Result<Self, ConfigError> {
        Self::compile(&[Source::new(name, text)])
    }

    /// What reads actions, by the built-in rules and those of the policy.
    #[must_use]
    pub fn assessor(&self) -> &Assessor {
        &self.assessor
    }

    /// How many rules it has, the tools that it names included.
    #[must_use]
    pub fn rule_count(&self) -> usize {
        self.rules.len()
    }

    /// What it says about the house as a whole.
    #[must_use]
    pub fn house(&self) -> &HousePolicy {
        &self.house
    }

    /// The digest of its text, for the audit log.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.digest
    }
}

pub(crate) fn effect(source: &Source, demand: &Spanned<Demand>) -> Result<Effect, ConfigError> {
    let written = &demand.value;
    let usual = if written.tier == Some(Tier::Escalate) { 2 } else { 1 };
    let count = written.quorum.unwrap_or(usual);
    if !(1..=16).contains(&count) || written.roles.len() > 16 {
        return Err(source.error_at(demand, "a quorum is 1 to 16 people"));
    }
    if written.quorum.is_some_and(|count| (count as usize) < written.roles.len()) {
        let problem = "the quorum is smaller than the number of roles, each of which needs a person";
        return Err(source.error_at(demand, problem));
    }
    if let Some(path) = written.redact.iter().find(|path| !is_redaction_path(path)) {
        return Err(
            source.error_at(demand, format!("{path:?} is no path to arguments: write card or **.pin"))
        );
    }
    if written.extra_people > 16 {
        return Err(source.error_at(demand, "extra_people is at most 16"));
    }
    let may_remember = matches!(written.allow_remember, Some(AllowRemember::Within(_)));
    if may_remember && written.tier.is_some_and(|tier| tier != Tier::Approve) {
        return Err(source.error_at(demand, "allow_remember goes only with tier approve"));
    }
    if may_remember && written.require_passkey {
        return Err(
            source.error_at(demand, "a touch cannot be remembered: require_passkey forbids allow_remember")
        );
    }
    let says_quorum = written.quorum.is_some() || !written.roles.is_empty() || usual > 1;
    Ok(Effect {
        risk: written.risk,
        tier: written.tier,
        quorum: says_quorum.then(|| Quorum::new(count, written.roles.clone())),
        extra_people: written.extra_people,
        escalation: people::chain(source, demand)?,
        timeout: written.timeout.map(|seconds| seconds.0),
        claim_within: written.claim_within.map(|seconds| seconds.0),
        lease: written.lease.map(|seconds| seconds.0),
        require_reason: written.require_reason,
        require_passkey: written.require_passkey,
        allow_remember: written.allow_remember.clone(),
        message: written.message.clone(),
        route: written.route.as_ref().map(|route| route.value.clone()),
        redact: written.redact.clone(),
    })
}
