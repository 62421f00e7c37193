//! People: who there is and what they may, for administrators.

use banksman_core::visible::VisibleJson;
use banksman_core::wire::PersonView;
use banksman_core::{PrincipalKind, Standing};
use banksman_review::reads_like;
use maud::{Markup, html};

use crate::frame::{Frame, Place};
use crate::moment::moment;
use crate::parts::{hidden, line};
use crate::text::Foreign;

/// The page of everyone.
#[derive(Debug, Clone)]
pub struct PeoplePage<'a> {
    /// Everyone.
    pub people: &'a [PersonView],
    /// A link that was just made, for whom, and what it is for. It is shown this once.
    pub link: Option<(&'a str, &'a str)>,
}

impl PeoplePage<'_> {
    /// The page.
    #[must_use]
    pub fn render(&self, frame: &Frame<'_>) -> String {
        let csrf = hidden("csrf", frame.viewer.csrf);
        frame.page(
            Place::People,
            "People",
            &html! {
                h1 { "People" }
                @if let Some((name, link)) = self.link {
                    section.panel.link role="status" {
                        h2 { "The invitation for " (Foreign(name)) }
                        p { "Send it to them yourself. It works once, within three days, and is shown only now:" }
                        p { code.secret data-link { (link) } }
                    }
                }
                table.list {
                    thead { tr { th { "Name" } th { "May" } th { "Signs in with" } th { "Standing" } th { span.away { "Change" } } } }
                    tbody { @for person in self.people { (row(person, frame.viewer.name, &csrf)) } }
                }
                section.panel aria-label="Add someone" {
                    h2 { "Add someone" }
                    form method="post" action="/people" {
                        (csrf)
                        (line("name", "Name, for signing in", "", "such as: ann"))
                        (line("display_name", "Full name", "", ""))
                        (line("roles", "Roles", "", "such as: finance, lead"))
                        label.check { input type="checkbox" name="admin" value="yes"; " Administrator" }
                        button.approve { "Add and invite" }
                    }
                }
            },
        )
    }
}

fn ways(person: &PersonView) -> Markup {
    let mut ways = Vec::new();
    if person.has_password {
        ways.push("password and app".to_owned());
    }
    match person.passkeys.len() {
        0 => {}
        1 => ways.push("1 passkey".to_owned()),
        several => ways.push(format!("{several} passkeys")),
    }
    if person.provider.is_some() {
        ways.push("identity provider".to_owned());
    }
    html! {
        @if ways.is_empty() { span.quiet { "nothing yet" } } @else { (ways.join(", ")) }
        @if let Some(until) = person.link_expires_at { span.quiet { ", link until " (moment(until)) } }
    }
}

fn row(person: &PersonView, viewer: &str, csrf: &Markup) -> Markup {
    let post = |what: &str, button: &str, value: Option<(&str, &str)>| {
        html! {
            form.inline method="post" action=(format!("/people/{}/{what}", person.id)) {
                (csrf) @if let Some((name, value)) = value { (hidden(name, value)) }
                button.plain aria-label=(VisibleJson(&format!("{button} {}", person.name)).to_string()) { (button) }
            }
        }
    };
    // What is not easily undone takes a second click, with or without scripts.
    let confirmed = |what: &str, button: &str, value: Option<(&str, &str)>, meaning: &str| {
        html! {
            details.confirm {
                summary { (button) span.away { " " (Foreign(&person.name)) } }
                form method="post" action=(format!("/people/{}/{what}", person.id)) {
                    (csrf) @if let Some((name, value)) = value { (hidden(name, value)) }
                    p { (meaning) }
                    button.deny { (button) " " (Foreign(&person.name)) }
                }
            }
        }
    };
    let remove = || {
        let meaning = "They are signed out at once, and never sign in again under this name.";
        confirmed("standing", "Remove", Some(("standing", Standing::Removed.as_str())), meaning)
    };
    let standing = |to: Standing| Some(("standing", to.as_str()));
    html! {
        tr {
            td data-label="Name" {
                b { (Foreign(&person.name)) } @if let Some(name) = &person.display_name { " " span.quiet { (Foreign(name)) } }
                @for name in [Some(&person.name), person.display_name.as_ref()].into_iter().flatten() {
                    @if let Some(like) = reads_like(name) { p.caution { "Look closely: spelled to look like " code { (Foreign(&like)) } } }
                }
            }
            td data-label="May" { (person.kind.as_str()) @if !person.roles.is_empty() { ": " (Foreign(&person.roles.join(", "))) } }
            td data-label="Signs in with" { (ways(person)) }
            td data-label="Standing" {
                (person.standing.as_str())
                @if let Some(by) = &person.brought_by { " " span.quiet { "brought in by " (Foreign(by)) ", not confirmed" } }
            }
            td data-label="Change" {
                @if person.name == viewer { span.quiet { "you" } }
                @else {
                    @match person.standing {
                        Standing::Active => {
                            @if !person.has_password && person.passkeys.is_empty() && person.provider.is_none() { (post("invite", "Invite", None)) }
                            @if person.brought_by.as_deref().is_some_and(|by| by != viewer) { (post("confirm", "Confirm", None)) }
                            (post("standing", "Lock", standing(Standing::Locked)))
                            (confirmed("reset", "Reset", None, "All of their ways to sign in are taken away, their browsers are signed out, and they need a new invitation."))
                            (remove())
                            (rights(person, csrf))
                        }
                        Standing::Locked => { (post("standing", "Unlock", standing(Standing::Active))) (remove()) }
                        Standing::Removed => {}
                    }
                }
            }
        }
    }
}

fn rights(person: &PersonView, csrf: &Markup) -> Markup {
    html! {
        details {
            summary { "Rights" span.away { " of " (Foreign(&person.name)) } }
            form method="post" action=(format!("/people/{}/rights", person.id)) {
                (csrf)
                (line("roles", "Roles", &person.roles.join(", "), ""))
                label.check { input type="checkbox" name="admin" value="yes" checked[person.kind == PrincipalKind::Admin]; " Administrator" }
                button { "Change" }
                p.quiet { "Their browsers are signed out." }
            }
        }
    }
}
