//! What a form of ours sent.

use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use banksman_core::{ActionId, Digest};
use banksman_web::{FormField, Notice, Said};

use super::session::{Session, csrf, secret};
use crate::App;
use crate::body::FormBody;
use crate::problem::{Code, ProblemError};

/// A form of one of our pages: which fields there are depends on the action that it is about.
#[derive(utoipa::ToSchema)]
#[expect(dead_code, reason = "documents what every form carries")]
pub(crate) struct PageForm {
    /// What the page carries and no other page knows.
    csrf: String,
}

/// Someone who signed in, and a form that is from this session.
pub(crate) struct Signed {
    pub(crate) session: Session,
    pub(crate) fields: Fields,
}

/// The fields of a form.
pub(crate) struct Fields(Vec<FormField>);

impl FromRequest<App> for Signed {
    type Rejection = ProblemError;

    async fn from_request(request: Request, app: &App) -> Result<Self, Self::Rejection> {
        let (mut parts, body) = request.into_parts();
        // Who asks comes first: strangers learn nothing about forms.
        let session = Session::from_request_parts(&mut parts, app).await?;
        let FormBody(fields) = FormBody::from_request(Request::from_parts(parts, body), app).await?;
        let fields = Fields(fields);
        session.check(fields.text("csrf")?)?;
        Ok(Self { session, fields })
    }
}

impl Fields {
    /// A field that every form of ours has.
    pub(crate) fn text(&self, name: &str) -> Result<&str, ProblemError> {
        self.given(name).ok_or_else(not_ours)
    }

    /// The same, as a value.
    pub(crate) fn parsed<T: std::str::FromStr>(&self, name: &str) -> Result<T, ProblemError> {
        self.text(name)?.parse().map_err(|_| not_ours())
    }

    /// A field that may be missing.
    pub(crate) fn given(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// A field that someone wrote something into.
    pub(crate) fn written(&self, name: &str) -> Option<String> {
        self.given(name).filter(|text| !text.trim().is_empty()).map(str::to_owned)
    }

    /// The fields whose names begin so, without that beginning.
    pub(crate) fn beginning<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.0.iter().filter_map(move |(name, value)| Some((name.strip_prefix(prefix)?, value.as_str())))
    }

    pub(crate) fn all(&self) -> &[FormField] {
        &self.0
    }
}

pub(crate) fn not_ours() -> ProblemError {
    ProblemError::new(
        Code::InvalidRequest,
        "this page is out of date: load it again, and send the form from there",
    )
}

/// What an address says was done before it was opened. Our own redirects seal it with what only this session knows, so that
/// no link, wherever it comes from, puts words into our mouth.
pub(crate) struct Told(pub(crate) Option<Notice>);

/// A page of ours, with what to say there to the session of these forms.
pub(super) fn telling(csrf: &str, path: &str, said: Said, about: Option<ActionId>) -> String {
    let about_text = about.map(|id| format!("&about={id}")).unwrap_or_default();
    let and = if path.contains('?') { '&' } else { '?' };
    format!("{path}{and}said={}{about_text}&seal={}", said.code(), seal(csrf, said, about))
}

fn seal(csrf: &str, said: Said, about: Option<ActionId>) -> String {
    let about = about.map(|id| id.to_string()).unwrap_or_default();
    let digest = Digest::of(format!("said:{csrf}:{}:{about}", said.code()).as_bytes());
    digest.as_bytes().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

impl FromRequestParts<App> for Told {
    type Rejection = ProblemError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Self::Rejection> {
        let query = parts.uri.query().unwrap_or_default();
        let value = |name: &str| query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
        let Some(said) = value("said").and_then(Said::from_code) else { return Ok(Self(None)) };
        let about = value("about").and_then(|id| id.parse().ok());
        let sealed = secret(parts, app).map(|secret| seal(&csrf(&secret), said, about));
        let is_ours = sealed.is_some_and(|sealed| value("seal") == Some(sealed.as_str()));
        Ok(Self(is_ours.then_some(Notice::Done { said, about })))
    }
}
