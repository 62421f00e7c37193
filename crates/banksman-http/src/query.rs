//! Query parameters, turned into the engine's queries.

use banksman_core::audit::Fact;
use banksman_core::{ActionId, Status};
use banksman_store::{CaseQuery, EventQuery, Order, SortBy};
use serde::Deserialize;

use crate::problem::{Code, ProblemError};

const DEFAULT_LIMIT: usize = 50;
pub(crate) const MAX_LIMIT: usize = 500;

/// `GET /v1/actions`
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ActionsParams {
    status: Option<String>,
    tier: Option<String>,
    risk: Option<String>,
    tool: Option<String>,
    agent: Option<String>,
    cursor: Option<String>,
    limit: Option<String>,
    order: Option<String>,
}

/// `GET /v1/audit`
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct AuditParams {
    r#type: Option<String>,
    decision: Option<String>,
    risk: Option<String>,
    tool: Option<String>,
    agent: Option<String>,
    reviewer: Option<String>,
    action: Option<String>,
    observed: Option<String>,
    since: Option<String>,
    until: Option<String>,
    cursor: Option<String>,
    limit: Option<String>,
    order: Option<String>,
}

fn invalid(name: &str, error: impl std::fmt::Display) -> ProblemError {
    ProblemError::new(Code::InvalidRequest, format!("{name}: {error}"))
}

/// Reads a parameter. They all arrive as texts, so that one rule holds for each: an empty value says the same as
/// leaving it out.
pub(crate) fn parsed<T: std::str::FromStr<Err: std::fmt::Display>>(
    name: &str,
    value: Option<String>,
) -> Result<Option<T>, ProblemError> {
    value
        .filter(|text| !text.is_empty())
        .map(|text| text.parse().map_err(|error: T::Err| invalid(name, error)))
        .transpose()
}

/// How many to list, if that is a sensible number.
pub(crate) fn limited(limit: Option<String>) -> Result<usize, ProblemError> {
    match parsed("limit", limit)?.unwrap_or(DEFAULT_LIMIT) {
        limit @ 1..=MAX_LIMIT => Ok(limit),
        _ => Err(invalid("limit", format!("expected 1 to {MAX_LIMIT}"))),
    }
}

fn ordered(order: Option<String>, usual: Order, known: &str) -> Result<Order, ProblemError> {
    match order.as_deref() {
        None | Some("") => Ok(usual),
        Some("asc") => Ok(Order::Ascending),
        Some("desc") => Ok(Order::Descending),
        Some(_) => Err(invalid("order", format!("expected {known}"))),
    }
}

/// The type of an event. One that there is none of would look like a log in which nothing happened.
fn known_type(kind: Option<String>) -> Result<Option<String>, ProblemError> {
    match kind.filter(|text| !text.is_empty()) {
        Some(kind) if !Fact::TYPES.contains(&kind.as_str()) => {
            Err(invalid("type", format!("expected one of {}", Fact::TYPES.join(", "))))
        }
        known => Ok(known),
    }
}

/// Orders that only what is pending has.
fn sorted(order: Option<&str>) -> SortBy {
    match order {
        Some("urgency") => SortBy::Urgency,
        Some("deadline") => SortBy::Deadline,
        Some("risk") => SortBy::Risk,
        _ => SortBy::Age,
    }
}

impl ActionsParams {
    pub(crate) fn into_query(self) -> Result<CaseQuery, ProblemError> {
        let status: Option<Status> = parsed("status", self.status)?;
        // A queue is worked from its oldest end; history is read from its newest.
        let sort = sorted(self.order.as_deref());
        if sort != SortBy::Age && status != Some(Status::Pending) {
            return Err(invalid("order", "only what is pending is ordered so: add status=pending"));
        }
        let usual = if status == Some(Status::Pending) { Order::Ascending } else { Order::Descending };
        Ok(CaseQuery {
            status,
            tier: parsed("tier", self.tier)?,
            risk: parsed("risk", self.risk)?,
            tool: self.tool.filter(|text| !text.is_empty()),
            agent: self.agent.filter(|text| !text.is_empty()),
            after: parsed::<ActionId>("cursor", self.cursor)?,
            order: ordered(
                self.order.filter(|_| sort == SortBy::Age),
                usual,
                "asc or desc, or of what is pending urgency, deadline or risk",
            )?,
            sort,
            ..CaseQuery::newest(limited(self.limit)?)
        })
    }
}

impl AuditParams {
    /// What was typed into the form of the audit page, to be shown there again.
    pub(crate) fn as_typed(&self) -> banksman_web::AuditFilter {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        banksman_web::AuditFilter {
            kind: text(&self.r#type),
            decision: text(&self.decision),
            risk: text(&self.risk),
            tool: text(&self.tool),
            agent: text(&self.agent),
            reviewer: text(&self.reviewer),
            action: text(&self.action),
            since: text(&self.since),
            until: text(&self.until),
        }
    }

    pub(crate) fn into_query(self) -> Result<EventQuery, ProblemError> {
        let text = |text: Option<String>| text.filter(|text| !text.is_empty());
        Ok(EventQuery {
            after: parsed("cursor", self.cursor)?,
            order: ordered(self.order, Order::Descending, "asc or desc")?,
            limit: limited(self.limit)?,
            kind: known_type(self.r#type)?,
            action: parsed("action", self.action)?,
            agent: text(self.agent),
            tool: text(self.tool),
            risk: parsed("risk", self.risk)?,
            decision: parsed("decision", self.decision)?,
            actor: text(self.reviewer),
            since: parsed("since", self.since)?,
            until: parsed("until", self.until)?,
            resolutions_only: false,
            observed_only: parsed("observed", self.observed)?.unwrap_or(false),
        })
    }
}
