//! What a policy says about people: chains, remembering, who changes the mode, who works alone.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use banksman_config::{ConfigError, Seconds, Source};
use banksman_core::{Escalation, EscalationStep, Mode, RememberLimits, RememberScope, Tier};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde_saphyr::Spanned;

use crate::file::{Demand, ModeName};

/// Beyond this a chain is a mistake.
const MAX_STEPS: usize = 16;

/// A step of a chain, as it is written: `{after: 10m, notify: again}` or `{after: 30m, hand_to: finance-lead}`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "EscalationStep")]
pub struct WrittenStep {
    /// How long after the hold began.
    pub after: Seconds,
    /// Those who were told are told again.
    #[serde(default)]
    pub notify: Option<Again>,
    /// People of this role may answer in place of those that the rule names.
    #[serde(default)]
    pub hand_to: Option<String>,
}

/// `again`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Again {
    /// Once more.
    Again,
}

/// Whether, and how far, an approval may be remembered: `true`, `false` or bounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AllowRemember {
    /// It may not, whatever other rules say.
    No,
    /// It may, so far.
    Within(RememberLimits),
}

/// The bounds as they are written; what is left out is as `true` has it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "RememberBounds")]
struct WrittenLimits {
    /// How long.
    #[serde(default, rename = "for")]
    lasts: Option<Seconds>,
    /// How narrowly.
    #[serde(default)]
    #[schemars(length(min = 1))]
    scopes: Option<Vec<RememberScope>>,
    /// How often.
    #[serde(default)]
    #[schemars(range(min = 1))]
    uses: Option<u32>,
}

impl JsonSchema for AllowRemember {
    fn schema_name() -> Cow<'static, str> {
        "AllowRemember".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Whether, and how far, an approval may be remembered.",
            "anyOf": [{"type": "boolean"}, generator.subschema_for::<WrittenLimits>()],
        })
    }
}

/// By hand, because an untagged enum would not say which key it did not know.
impl<'de> Deserialize<'de> for AllowRemember {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Written;

        impl<'de> Visitor<'de> for Written {
            type Value = AllowRemember;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("true, false, or bounds such as {for: 8h, scopes: [exact, args], uses: 20}")
            }

            fn visit_bool<E: de::Error>(self, allowed: bool) -> Result<Self::Value, E> {
                Ok(if allowed { AllowRemember::Within(RememberLimits::default()) } else { AllowRemember::No })
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                let written = WrittenLimits::deserialize(de::value::MapAccessDeserializer::new(map))?;
                let usual = RememberLimits::default();
                if written.uses == Some(0) || written.scopes.as_ref().is_some_and(Vec::is_empty) {
                    return Err(de::Error::custom("bounds that let nothing through: say `false`"));
                }
                Ok(AllowRemember::Within(RememberLimits {
                    max_seconds: written.lasts.map_or(usual.max_seconds, |seconds| seconds.0),
                    scopes: written.scopes.unwrap_or(usual.scopes),
                    uses: written.uses,
                }))
            }
        }

        deserializer.deserialize_any(Written)
    }
}

/// Whether what policy demands is enforced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Enforcement {
    /// It is.
    Enforce,
    /// What would be held runs at once, on the record. Blocks and freezes hold all the same.
    Observe,
}

/// Who may change the operating mode, and when it falls back by itself.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Modes")]
pub struct WrittenModes {
    /// Who may change to a mode; administrators, where nothing is said.
    #[schemars(schema_with = "crate::file::keyed::<ModeName, ModeGate>")]
    pub change_to: BTreeMap<ModeName, Spanned<ModeGate>>,
    /// When production falls back to shadow.
    #[schemars(with = "Option<Fallback>")]
    pub fallback: Option<Spanned<Fallback>>,
}

/// Who may change to a mode.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ModeGate {
    /// People of any of these roles, instead of administrators.
    pub roles: Vec<String>,
    /// Whether they have to say why.
    pub require_reason: bool,
}

/// When production falls back to shadow: so many actions failed, or ended unknown, within so long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fallback {
    /// How many.
    pub failures: u32,
    /// Within how long.
    pub within: Seconds,
}

/// What a policy says about the house as a whole.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HousePolicy {
    /// Whether it only observes.
    pub observes: bool,
    /// The one person who may approve what they, or their own agent, proposed.
    pub solo_operator: Option<String>,
    /// When production falls back to shadow.
    pub fallback: Option<Fallback>,
    pub(crate) gates: Vec<(Mode, ModeGate)>,
}

impl HousePolicy {
    /// Enforced, by several people, with a mode that administrators change.
    #[must_use]
    pub const fn strict() -> Self {
        Self { observes: false, solo_operator: None, fallback: None, gates: Vec::new() }
    }

    /// Who may change to a mode, if policy says so.
    #[must_use]
    pub fn gate(&self, to: Mode) -> Option<&ModeGate> {
        self.gates.iter().find(|(mode, _)| *mode == to).map(|(_, gate)| gate)
    }

    /// What everyone should know who relies on this house.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.observes {
            warnings.push(
                "enforcement: observe: what people would be asked about runs without asking; only blocks and \
                 freezes hold"
                    .into(),
            );
        }
        if let Some(name) = &self.solo_operator {
            warnings.push(format!(
                "solo_operator: {name}: this person may approve what they or their own agents propose"
            ));
        }
        warnings
    }
}

/// The chain of a demand, with the roles that it hands over: those that the demand itself names.
pub(crate) fn chain(source: &Source, demand: &Spanned<Demand>) -> Result<Vec<EscalationStep>, ConfigError> {
    let written = &demand.value;
    if written.escalation.len() > MAX_STEPS {
        return Err(source.error_at(demand, "a chain has at most 16 steps"));
    }
    let mut chain: Vec<EscalationStep> = Vec::with_capacity(written.escalation.len());
    for place in &written.escalation {
        let fail = |problem: &str| Err(source.error_at(place, problem));
        if written.tier.is_some_and(|tier| !matches!(tier, Tier::Approve | Tier::Escalate)) {
            return fail("escalation goes only with tier approve or escalate: nothing else waits for people");
        }
        let step = &place.value;
        let after_seconds = step.after.0;
        if chain.last().is_some_and(|earlier| earlier.after_seconds >= after_seconds) {
            return fail("each step of a chain comes later than the one before it");
        }
        if written.timeout.is_some_and(|timeout| timeout.0 <= after_seconds) {
            return fail("this step would come when the hold has expired: give it a longer timeout");
        }
        let then = match (step.notify, &step.hand_to) {
            (Some(Again::Again), None) => Escalation::NotifyAgain,
            (None, Some(role)) if !role.trim().is_empty() => {
                Escalation::HandTo { role: role.clone(), instead_of: written.roles.clone() }
            }
            (None, Some(_)) => return fail("hand_to names a role"),
            (Some(_), Some(_)) | (None, None) => {
                return fail("a step says either `notify: again` or `hand_to: ROLE`");
            }
        };
        chain.push(EscalationStep { after_seconds, then });
    }
    Ok(chain)
}

/// What all who speak of it allow to be remembered; nothing if one says no, or none says yes.
pub(crate) fn remember_limits<'a>(voices: impl Iterator<Item = &'a AllowRemember>) -> Option<RememberLimits> {
    let mut all: Option<RememberLimits> = None;
    for voice in voices {
        match voice {
            AllowRemember::No => return None,
            AllowRemember::Within(limits) => {
                all = Some(all.map_or_else(|| limits.clone(), |so_far| so_far.within(limits)));
            }
        }
    }
    all.filter(|limits| !limits.scopes.is_empty())
}
