//! The routes about people: the API for administrators, and the pages.

use axum::http::Method;
use banksman_core::wire::{LinkView, List, PersonBody, PersonView, RightsBody, StandingBody};

use super::console::{form, page};
use super::{Route, route};
use crate::Access::{Admin, Public};
use crate::console::{account, join, people as pages, provider, sign_in};
use crate::openapi::{Operation, Parameter};
use crate::problem::Code;
use crate::routes::people;

/// `/v1/people`.
pub(super) fn api() -> Vec<Route> {
    let about = |id, summary| {
        Operation::new(id, summary).fails(&[Code::NotFound, Code::NotYours, Code::InvalidRequest])
    };
    vec![
        route(
            Method::GET,
            "/v1/people",
            Admin,
            people::list,
            Operation::new("listPeople", "Everyone, also those who were removed")
                .answers::<List<PersonView>>(200, "All of them"),
        ),
        route(
            Method::POST,
            "/v1/people",
            Admin,
            people::add,
            Operation::new("addPerson", "Add someone and invite them; the link is shown this once")
                .takes::<PersonBody>()
                .answers::<LinkView>(201, "Added")
                .fails(&[Code::InvalidRequest]),
        ),
        route(
            Method::GET,
            "/v1/people/{id}",
            Admin,
            people::show,
            Operation::new("getPerson", "One person, without what they sign in with")
                .answers::<PersonView>(200, "The person")
                .fails(&[Code::NotFound]),
        ),
        route(
            Method::POST,
            "/v1/people/{id}/invitation",
            Admin,
            people::invite,
            about("invitePerson", "Another invitation, in place of the one before")
                .answers::<LinkView>(200, "Invited"),
        ),
        route(
            Method::POST,
            "/v1/people/{id}/reset",
            Admin,
            people::reset,
            about("resetPerson", "Take every way in from someone, tokens too, and invite them anew")
                .answers::<LinkView>(200, "Invited anew"),
        ),
        route(
            Method::POST,
            "/v1/people/{id}/confirmation",
            Admin,
            people::confirm,
            about(
                "confirmPerson",
                "Say that someone is a person of their own, and not whoever brought them in",
            )
            .answers::<PersonView>(200, "Confirmed"),
        ),
        route(
            Method::POST,
            "/v1/people/{id}/rights",
            Admin,
            people::change_rights,
            about(
                "changeRights",
                "Change what someone may; their browsers are signed out, their tokens give no more",
            )
            .takes::<RightsBody>()
            .answers::<PersonView>(200, "Changed"),
        ),
        route(
            Method::POST,
            "/v1/people/{id}/standing",
            Admin,
            people::change_standing,
            about("changeStanding", "Lock someone out, let them in again, or remove them for good")
                .takes::<StandingBody>()
                .answers::<PersonView>(200, "Changed"),
        ),
    ]
}

/// A page or a form for administrators.
fn admins(route: Route) -> Route {
    Route { operation: route.operation.fails(&[Code::NotYours]), ..route }
}

/// A form for those who are at the door.
fn door(id: &'static str, summary: &'static str) -> Operation {
    Operation::new(id, summary)
        .answers_nothing(303, "Signed in")
        .answers_with(403, "Not signed in, and why", "text/html")
        .fails(&[Code::TooManyAttempts, Code::InvalidRequest])
}

/// The pages: the ways in, one's own account, and everyone for administrators.
pub(super) fn pages() -> Vec<Route> {
    vec![
        route(
            Method::GET,
            "/sign-in",
            Public,
            sign_in::ask_how,
            Operation::new(
                "signInPage",
                "The ways in. With a code it asks for a click, because mail scanners follow links",
            )
            .with(Parameter::query("code", "the one-time code of a sign-in link"))
            .with(Parameter::query("next", "the page to go to then"))
            .answers_with(200, "A page", "text/html"),
        ),
        route(
            Method::POST,
            "/sign-in",
            Public,
            sign_in::by_link,
            door("signIn", "Turns a one-time code into a session").takes_form::<sign_in::SignInCode>(),
        ),
        route(
            Method::POST,
            "/sign-in/password",
            Public,
            sign_in::by_password,
            door("signInWithPassword", "Turns a password and a code into a session")
                .takes_form::<sign_in::PasswordForm>(),
        ),
        route(
            Method::POST,
            "/sign-in/passkey",
            Public,
            sign_in::by_passkey,
            door("signInWithPasskey", "Turns what a passkey signed into a session")
                .takes_form::<sign_in::PasskeyForm>(),
        ),
        route(
            Method::GET,
            "/join",
            Public,
            join::ask,
            Operation::new("joinPage", "Accept an invitation")
                .with(Parameter::query("code", "the one-time code of the invitation"))
                .answers_with(200, "A page", "text/html")
                .answers_with(403, "The invitation does not work any more", "text/html"),
        ),
        route(
            Method::POST,
            "/join/password",
            Public,
            join::with_password,
            door("joinWithPassword", "Accept an invitation with a password and an authenticator app")
                .takes_form::<join::JoinWithPassword>()
                .answers_with(200, "The recovery codes", "text/html")
                .answers_with(409, "What was set up does not do", "text/html"),
        ),
        route(
            Method::POST,
            "/join/passkey",
            Public,
            join::with_passkey,
            door("joinWithPasskey", "Accept an invitation with a passkey")
                .takes_form::<join::JoinWithPasskey>()
                .answers_with(409, "What was set up does not do", "text/html"),
        ),
        route(
            Method::GET,
            "/sign-in/provider",
            Public,
            provider::begin,
            Operation::new(
                "signInAtProvider",
                "Sends the browser to the identity provider, if one is configured",
            )
            .with(Parameter::query("next", "the page to go to then"))
            .answers_nothing(303, "Go there")
            .answers_with(403, "The provider cannot be reached", "text/html")
            .fails(&[Code::NotFound, Code::TooManyAttempts]),
        ),
        route(
            Method::GET,
            "/sign-in/provider/callback",
            Public,
            provider::callback,
            Operation::new("signInFromProvider", "Where the identity provider sends the browser back to")
                .with(Parameter::query("code", "what the provider gives for a token"))
                .with(Parameter::query("state", "which sign-in it answers"))
                .with(Parameter::query("iss", "which provider answers"))
                .with(Parameter::query("error", "why it does not"))
                .answers_nothing(303, "Signed in")
                .answers_with(403, "Not signed in, and why", "text/html")
                .fails(&[Code::NotFound, Code::TooManyAttempts]),
        ),
        form("/sign-out", sign_in::sign_out, "signOut", "Ends the session"),
        page("/account", account::show, "accountPage", "One's own ways to sign in"),
        form("/account/passkeys", account::add_passkey, "addPasskey", "Set up another passkey"),
        form("/account/passkeys/remove", account::remove_passkey, "removePasskey", "Give up a passkey"),
        form(
            "/account/password",
            account::set_password,
            "setPassword",
            "Set a password and an authenticator app",
        ),
        form("/account/password/remove", account::remove_password, "removePassword", "Give up the password"),
        form("/account/recovery-codes", account::renew_codes, "renewRecoveryCodes", "New recovery codes"),
        form("/account/sessions/{id}/end", account::end_session, "endSession", "Sign out another browser"),
        form(
            "/account/sign-out-everywhere",
            account::sign_out_everywhere,
            "signOutEverywhere",
            "Sign out every browser",
        ),
        admins(page("/people", pages::show, "peoplePage", "Everyone, for administrators")),
        admins(form("/people", pages::add, "addPersonFromPage", "Add someone and invite them")),
        admins(form("/people/{id}/invite", pages::invite, "inviteFromPage", "Another invitation")),
        admins(form(
            "/people/{id}/reset",
            pages::reset,
            "resetFromPage",
            "Take every way to sign in, and invite anew",
        )),
        admins(form(
            "/people/{id}/confirm",
            pages::confirm,
            "confirmFromPage",
            "Say that someone is a person of their own",
        )),
        admins(form(
            "/people/{id}/rights",
            pages::change_rights,
            "changeRightsFromPage",
            "Change what someone may",
        )),
        admins(form(
            "/people/{id}/standing",
            pages::change_standing,
            "changeStandingFromPage",
            "Lock, unlock or remove",
        )),
    ]
}
