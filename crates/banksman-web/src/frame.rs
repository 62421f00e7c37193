//! What every page has around it.

use banksman_core::visible::VisibleJson;
use banksman_core::{ActionId, Mode, Timestamp};
use maud::{DOCTYPE, Markup, html};

use crate::assets::address;
use crate::parts::hidden;
use crate::settings::Preferences;
use crate::text::Foreign;

/// Who looks.
#[derive(Debug, Clone, Copy)]
pub struct Viewer<'a> {
    /// Their name.
    pub name: &'a str,
    /// Whether they administer.
    pub is_admin: bool,
    /// What our own forms carry and no other page can know.
    pub csrf: &'a str,
}

/// How the house stands, for the bar and the warnings above every page.
#[derive(Debug, Clone, Copy)]
pub struct House {
    /// The operating mode.
    pub mode: Mode,
    /// Whether policy only observes.
    pub observes: bool,
    /// Whether everything is frozen.
    pub frozen: bool,
    /// How many freezes there are.
    pub freezes: usize,
    /// How many actions wait.
    pub pending: u64,
    /// The place of the newest audit event: live updates go on from there.
    pub newest: u64,
}

/// Where the reader is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is a page of that name")]
pub enum Place {
    Inbox,
    Action,
    Overview,
    Grants,
    Delegations,
    Freezes,
    Mode,
    Audit,
    Policy,
    Settings,
    People,
    Account,
}

/// What a page says first.
#[derive(Debug, Clone)]
pub enum Notice {
    /// Something was done.
    Done {
        /// What.
        said: Said,
        /// About which action.
        about: Option<ActionId>,
    },
    /// Something was not done, and why.
    Refused(String),
}

macro_rules! said {
    ($($variant:ident => $code:literal, $words:literal;)+) => {
        /// What was done: a fixed set, because it travels in an address that anyone can write.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[expect(missing_docs, reason = "the words are beside each")]
        pub enum Said { $($variant),+ }

        impl Said {
            /// As it travels.
            #[must_use]
            pub fn code(self) -> &'static str {
                match self { $(Self::$variant => $code),+ }
            }

            /// What travelled, if it is one of ours.
            #[must_use]
            pub fn from_code(code: &str) -> Option<Self> {
                match code { $($code => Some(Self::$variant),)+ _ => None }
            }

            fn words(self) -> &'static str {
                match self { $(Self::$variant => $words),+ }
            }
        }
    };
}

said! {
    CameByLink => "came-by-link", "Welcome. The link that brought you here is used up: under Account, set up a way to come back.";
    Approved => "approved", "Approved: it may run once.";
    Recorded => "recorded", "Recorded. It stays held until everyone who is needed has approved.";
    Denied => "denied", "Denied. It will not run.";
    Responded => "responded", "Denied, and the agent gets your words.";
    Cancelled => "cancelled", "Taken back. It will not run.";
    Granted => "granted", "Granted.";
    GrantRevoked => "grant-revoked", "The grant is revoked, at once.";
    Delegated => "delegated", "Delegated.";
    DelegationRevoked => "delegation-revoked", "The delegation has ended.";
    Frozen => "frozen", "Frozen, at once.";
    FrozenUnseen => "frozen-unseen", "Frozen, at once. But nothing that waits or was answered lately has this name: is it spelled exactly so?";
    SettingsSaved => "settings-saved", "Saved, for this browser.";
    GuideDismissed => "guide-dismissed", "The guide is put away. The settings lead to it.";
    SampleMade => "sample-made", "This is a sample: nobody will run it. Decide as you like.";
    Unfrozen => "unfrozen", "The freeze is lifted.";
    ModeChanged => "mode-changed", "The mode is changed.";
    FellBack => "fell-back", "Fallen back: the demands of both modes hold now.";
    BatchDecided => "batch-decided", "Decided as chosen.";
    PasskeyAdded => "passkey-added", "The passkey is set up.";
    PasskeyRemoved => "passkey-removed", "The passkey does not work any more.";
    PasswordRemoved => "password-removed", "The password does not work any more.";
    SessionEnded => "session-ended", "That browser is signed out.";
    RightsChanged => "rights-changed", "Changed. They have to sign in again.";
    StandingChanged => "standing-changed", "Changed, at once.";
    PersonConfirmed => "person-confirmed", "Confirmed: they count as a person of their own.";
}

/// What every page has around it.
#[derive(Debug, Clone)]
pub struct Frame<'a> {
    /// Who looks.
    pub viewer: Viewer<'a>,
    /// How the house stands.
    pub house: House,
    /// How they like the pages.
    pub preferences: Preferences,
    /// The time.
    pub now: Timestamp,
    /// What to say first.
    pub notice: Option<Notice>,
    /// Whether the page answers a form. Loading such a page again would send the form again.
    pub answers_form: bool,
}

const PLACES: &[(Place, &str, &str)] = &[
    (Place::Inbox, "/", "Inbox"),
    // Where a phone shows it without scrolling: whoever needs it has no time to look for it.
    (Place::Freezes, "/freezes", "Freeze"),
    (Place::Overview, "/overview", "Overview"),
    (Place::Audit, "/audit", "Audit"),
    (Place::Grants, "/grants", "Grants"),
    (Place::Delegations, "/delegations", "Delegations"),
    (Place::Mode, "/mode", "Mode"),
    (Place::Policy, "/policy", "Policy"),
    (Place::People, "/people", "People"),
];

impl Place {
    /// Where to read it again.
    fn path(self) -> &'static str {
        match self {
            Self::Settings => "/settings",
            Self::Account => "/account",
            _ => PLACES.iter().find(|(place, ..)| *place == self).map_or("/", |(_, path, _)| path),
        }
    }
}

impl Frame<'_> {
    /// A page.
    pub(crate) fn page(&self, here: Place, title: &str, body: &Markup) -> String {
        self.page_at(here, here.path(), title, body)
    }

    /// A page that is to be read again at an address of its own.
    pub(crate) fn page_at(&self, here: Place, path: &str, title: &str, body: &Markup) -> String {
        let House { mode, observes, frozen, freezes, pending, newest } = self.house;
        let count = if pending > 0 { format!("({pending}) ") } else { String::new() };
        html! {
            (DOCTYPE)
            html lang="en" data-theme=[self.preferences.theme_name()] {
                (head(&format!("{count}{title} · Banksman")))
                body data-newest=(newest) data-now=(self.now.as_millis()) data-here=[self.answers_form.then_some(path)] {
                    a.skip href="#main" { "Skip to the content" }
                    header.bar {
                        a.brand href="/" { span.signal aria-hidden="true" {} "Banksman" }
                        nav aria-label="Pages" {
                            ul {
                                @for (place, path, name) in PLACES.iter().filter(|(place, ..)| *place != Place::People || self.viewer.is_admin) {
                                    li {
                                        a href=(path) aria-current=[(*place == here).then_some("page")] class=(if *place == Place::Freezes { "danger" } else { "" }) {
                                            (name)
                                            @if *place == Place::Inbox { " " span.count data-count { (pending) } }
                                            @if *place == Place::Freezes && freezes > 0 { " " span.count { (freezes) } }
                                        }
                                    }
                                }
                            }
                        }
                        form.person method="post" action="/sign-out" {
                            (hidden("csrf", self.viewer.csrf))
                            button.key.scripted type="button" data-help title="Keyboard" aria-label="Keyboard shortcuts" { "?" }
                            a.who href="/settings" aria-current=[(here == Place::Settings).then_some("page")] { span.away { "Settings of " } (Foreign(self.viewer.name)) @if self.viewer.is_admin { span.quiet { " admin" } } }
                            a.account href="/account" aria-current=[(here == Place::Account).then_some("page")] { "Account" }
                            button.plain { "Sign out" }
                        }
                    }
                    @if frozen {
                        p.banner.frozen role="status" { strong { "Everything is frozen." } " Nothing runs until the freeze is lifted. " a href="/freezes" { "See freezes" } }
                    }
                    @if observes {
                        p.banner.observing role="status" { strong { "Policy only observes." } " What it would hold runs at once, on the record." }
                    }
                    main #main tabindex="-1" {
                        (self.notice_markup())
                        (body)
                    }
                    footer { "Mode " strong { (mode.as_str()) } " · page made " (crate::moment::moment(self.now)) }
                    (live())
                    (help())
                }
            }
        }
        .into_string()
    }

    fn notice_markup(&self) -> Markup {
        html! {
            @match &self.notice {
                None => {}
                Some(Notice::Done { said, about }) => {
                    p.notice.done role="status" {
                        (said.words())
                        @if let Some(id) = about { " " a href=(format!("/actions/{id}")) { "See the action" } }
                    }
                }
                Some(Notice::Refused(why)) => {
                    p.notice.refused role="alert" { strong { "Not done: " } (Foreign(why)) }
                }
            }
        }
    }
}

/// A page for someone who has not signed in, or for a problem.
pub(crate) fn bare(title: &str, body: &Markup) -> String {
    html! {
        (DOCTYPE)
        html lang="en" {
            (head(&format!("{title} · Banksman")))
            body.bare {
                main #main {
                    p.brand { span.signal aria-hidden="true" {} "Banksman" }
                    (body)
                }
            }
        }
    }
    .into_string()
}

fn head(title: &str) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            title { (VisibleJson(title).to_string()) }
            link rel="icon" href=(address("icon.svg")) type="image/svg+xml";
            link rel="stylesheet" href=(address("base.css"));
            link rel="stylesheet" href=(address("review.css"));
            script type="module" src=(address("console.js")) {}
        }
    }
}

/// Where scripts say that something new is there: over the page, so that nothing under a finger moves.
fn live() -> Markup {
    html! {
        div #live role="status" hidden {
            span data-live-words {} " "
            button type="button" data-reload { "Show" }
        }
        div #line role="status" hidden {
            "Not live: this page hears of nothing new. "
            button type="button" data-reload { "Reload" }
        }
    }
}

fn help() -> Markup {
    html! {
        dialog #help aria-labelledby="help-title" {
            h2 #help-title { "Keyboard" }
            dl.keys {
                @for (key, does) in [
                    ("j / k", "next, previous"), ("Enter or o", "open"), ("a", "go to Approve; in a batch, choose it"), ("d", "go to Deny, likewise"),
                    ("s", "go to Decide as chosen, in a batch"), ("e", "edit"), ("r", "answer the agent"), ("/", "search"), ("i", "inbox"), ("?", "this help"),
                ] {
                    dt { kbd { (key) } } dd { (does) }
                }
            }
            p.quiet { "A key only moves to a button. Enter presses it." }
            form method="dialog" {
                label.check { input type="checkbox" data-keys-off; " Turn single keys off" }
                button { "Close" }
            }
        }
    }
}
