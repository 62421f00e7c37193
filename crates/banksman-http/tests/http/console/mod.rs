//! The review console, as a browser without scripts uses it.

mod account;
mod batch;
mod decide;
mod guide;
mod house;
mod key;
mod overview;
mod pages;
mod passkeys;
mod people;
mod policy;
mod refused;
mod sign_in;
mod step_up;

use serde_json::Value;

use crate::client::{Request, Response};
use crate::server::{Server, id};

/// Someone who signed in with a browser: the cookie, and what the forms carry.
pub(crate) struct Browser {
    pub(crate) cookie: String,
    pub(crate) csrf: String,
}

impl Browser {
    pub(crate) async fn sign_in(server: &Server, name: &str) -> Self {
        let code = server.sign_in_code(name).await;
        let answer = server.send(Request::form("/sign-in", &[("code", &code)])).await;
        assert_eq!(answer.status, 303, "{}", answer.text());
        Self::with(server, cookie_of(&answer)).await
    }

    /// With a cookie that someone just got.
    pub(crate) async fn with(server: &Server, cookie: String) -> Self {
        let mut browser = Self { cookie, csrf: String::new() };
        browser.csrf = hidden(&browser.page(server).await.text(), "csrf");
        browser
    }

    pub(crate) async fn page(&self, server: &Server) -> Response {
        self.open(server, "/").await
    }

    pub(crate) async fn open(&self, server: &Server, path: &str) -> Response {
        server.send(Request::get(path).header("Cookie", &self.cookie)).await
    }

    /// A form of one of our pages, sent as a browser would.
    pub(crate) async fn form(&self, server: &Server, path: &str, fields: &[(&str, &str)]) -> Response {
        let fields = [&[("csrf", self.csrf.as_str())], fields].concat();
        self.submit(server, path, &fields).await
    }

    /// The fields that bind a form to what the page showed of an action.
    pub(crate) async fn about(
        &self,
        server: &Server,
        path: &str,
        action: &Value,
        more: &[(&str, &str)],
    ) -> Response {
        let version = action["version"].to_string();
        let digest = action["digest"].as_str().unwrap();
        let binding = [("id", id(action)), ("version", version.as_str()), ("digest", digest)];
        self.form(server, path, &[&binding, more].concat()).await
    }

    pub(crate) async fn submit(&self, server: &Server, path: &str, fields: &[(&str, &str)]) -> Response {
        let origin = format!("http://{}", server.address);
        server.send(Request::form(path, fields).header("Cookie", &self.cookie).header("Origin", origin)).await
    }

    pub(crate) async fn decide(&self, server: &Server, action: &Value, decision: &str) -> Response {
        self.about(server, "/decide", action, &[("decision", decision), ("reason", "seen")]).await
    }
}

/// The cookie of the session that an answer begins.
pub(crate) fn cookie_of(answer: &Response) -> String {
    let cookies = answer.cookies();
    let session = cookies.iter().find(|cookie| cookie.contains("banksman_session="));
    (*session.unwrap_or_else(|| panic!("no session: {answer:?}"))).to_owned()
}

/// Where an answer leads and what it has said there; the seal differs from session to session.
pub(crate) fn told(answer: &Response) -> Option<&str> {
    let (told, seal) = answer.header("location")?.split_once("&seal=")?;
    assert!(seal.len() == 32 && seal.bytes().all(|byte| byte.is_ascii_hexdigit()), "{seal}");
    Some(told)
}

/// The value of a hidden field.
pub(crate) fn hidden(page: &str, name: &str) -> String {
    let start = format!("name=\"{name}\" value=\"");
    let (_, rest) = page.split_once(&start).unwrap_or_else(|| panic!("no {name} in {page}"));
    rest.split('"').next().unwrap().to_owned()
}
