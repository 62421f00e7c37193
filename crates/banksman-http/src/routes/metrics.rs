//! `/metrics`: numbers for Prometheus, in its text format.

use std::fmt::{Display, Write as _};

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;

use super::Answer;
use crate::App;
use crate::access::PersonCaller;

/// What Prometheus asks for, by its full name.
const FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8";

pub(crate) async fn metrics(State(app): State<App>, PersonCaller(_): PersonCaller) -> Answer {
    let house = app.engine.house_rules().await?;
    let pending = app.engine.pending_count().await?;
    let events = *app.engine.newest_event().borrow();
    let policy = app.engine.policy_in_force();
    let mut page = Page::default();
    page.gauge("banksman_info", "This program.", &[("version", env!("CARGO_PKG_VERSION"))], 1);
    page.gauge("banksman_actions_pending", "Actions that wait for people.", &[], pending);
    page.gauge(
        "banksman_clients_waiting",
        "Requests at this node that wait for people.",
        &[],
        app.engine.waiting(),
    );
    page.gauge("banksman_audit_events", "Events in the audit log.", &[], events);
    page.gauge("banksman_freezes", "Freezes in force.", &[], house.freezes.len());
    page.gauge("banksman_grants", "Grants that were given and not revoked.", &[], house.grants.len());
    page.gauge("banksman_mode_info", "The operating mode.", &[("mode", house.mode.as_str())], 1);
    let digest = policy.digest.to_string();
    page.gauge("banksman_policy_info", "The policy in force.", &[("digest", &digest)], 1);
    #[expect(clippy::cast_precision_loss, reason = "a double holds microseconds for centuries")]
    let loaded = policy.loaded_at.as_micros() as f64 / 1e6;
    page.gauge("banksman_policy_loaded_timestamp_seconds", "Since when it is in force.", &[], loaded);
    page.gauge(
        "banksman_policy_refused",
        "1 if a changed policy could not be used and the old one stays in force.",
        &[],
        u8::from(policy.refused.is_some()),
    );
    page.counter("banksman_policy_loads_total", "Policies that were put in force.", policy.loads);
    page.counter("banksman_policy_refusals_total", "Policies that could not be used.", policy.refusals);
    Ok(([(CONTENT_TYPE, FORMAT)], page.text).into_response())
}

/// A page of metrics, each with what it means.
#[derive(Default)]
struct Page {
    text: String,
}

impl Page {
    fn gauge(&mut self, name: &str, help: &str, labels: &[(&str, &str)], value: impl Display) {
        self.metric("gauge", name, help, labels, value);
    }

    fn counter(&mut self, name: &str, help: &str, value: u64) {
        self.metric("counter", name, help, &[], value);
    }

    fn metric(&mut self, kind: &str, name: &str, help: &str, labels: &[(&str, &str)], value: impl Display) {
        let labels: Vec<String> =
            labels.iter().map(|(label, value)| format!("{label}=\"{}\"", escaped(value))).collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name}{labels} {value}");
    }
}

/// A label's value: what would end it early is escaped.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_cannot_end_early() {
        let mut page = Page::default();
        page.gauge("m", "What.", &[("l", "a\"b\\c\nd")], 1);
        assert_eq!(page.text, "# HELP m What.\n# TYPE m gauge\nm{l=\"a\\\"b\\\\c\\nd\"} 1\n");
    }
}
