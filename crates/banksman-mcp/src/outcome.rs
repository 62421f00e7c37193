//! What is written down of a server's answer.

use banksman_core::Outcome;
use banksman_core::json::CanonicalJson;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::raw::Members;
use crate::upstream::reply::{Final, Reply};

/// How much of an error is written down.
const ERROR_CHARS: usize = 500;

/// Whether a result is kept. What is too long is passed on to whoever waits all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    /// Its client has it.
    No,
    /// Someone may come for it, unless it has more bytes than this.
    UpTo(usize),
}

impl Keep {
    /// As much as this server keeps.
    pub(crate) const HERE: Self = Self::UpTo(4 * 1024 * 1024);

    /// As much as can be reported to a server over its API: 1 MiB, less what is around the result.
    pub(crate) const REPORTED: Self = Self::UpTo(1024 * 1024 - 16 * 1024);
}

/// What of a result matters here.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Facts<'a> {
    #[serde(default, rename = "isError")]
    pub(crate) is_error: Option<bool>,
    #[serde(default, rename = "resultType")]
    pub(crate) result_type: Option<String>,
    #[serde(borrow, default, rename = "requestState")]
    pub(crate) request_state: Option<&'a RawValue>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
}

/// What is written down of an answer.
pub(crate) fn outcome(answer: &Final, keep: Keep) -> Outcome {
    let Some(reply) = Reply::read(&answer.message) else {
        let error = Some(format!("refused with HTTP {}", answer.status.as_u16()));
        return Outcome::Failed { error, result: None };
    };
    let kept = |text: &str| match keep {
        // What cannot be read strictly cannot be kept: the next reader might see something else in it.
        Keep::UpTo(most) => {
            // Numbers may be longer in the canonical form.
            let fits = |kept: &CanonicalJson| kept.as_str().len() <= most;
            (text.len() <= most).then(|| CanonicalJson::parse(text.as_bytes()).ok()).flatten().filter(fits)
        }
        Keep::No => None,
    };
    if let (Some(error), Some(written)) = (reply.rpc_error(), reply.error) {
        let result = kept(&format!(r#"{{"error":{}}}"#, written.get()));
        let error = Some(shortened(&format!("{} (error {})", error.message, error.code)));
        return Outcome::Failed { error, result };
    }
    let result = reply.result.map(RawValue::get).unwrap_or("{}");
    let facts: Facts<'_> = serde_json::from_str(result).unwrap_or_default();
    let kept = kept(result);
    if facts.is_error == Some(true) {
        return Outcome::Failed { error: Some(first_words(facts.content)), result: kept };
    }
    Outcome::Succeeded { result: kept }
}

/// The error that a server answered with instead of a result, as JSON, from what was written down of a call that failed.
/// A result of a tool that failed says so in `isError`; an error alone stands for itself.
pub(crate) fn kept_error(failed: &CanonicalJson) -> Option<String> {
    let members = Members::read(failed.as_str())?;
    if members.get("isError").is_some() {
        return None;
    }
    members.get("error").map(str::to_owned)
}

fn first_words(content: Option<&RawValue>) -> String {
    #[derive(Deserialize)]
    struct Item {
        #[serde(default)]
        text: Option<String>,
    }
    let items: Vec<Item> =
        content.and_then(|content| serde_json::from_str(content.get()).ok()).unwrap_or_default();
    let text = items.into_iter().find_map(|item| item.text);
    shortened(&text.unwrap_or_else(|| "the tool says that it failed".to_owned()))
}

fn shortened(text: &str) -> String {
    text.chars().filter(|c| *c != '\0').take(ERROR_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, StatusCode};

    use super::*;

    fn read(message: &str, keep: Keep) -> Outcome {
        outcome(&Final::alone(StatusCode::OK, HeaderMap::new(), message.to_owned()), keep)
    }

    #[test]
    fn what_is_written_down_of_an_answer() {
        let ok = r#"{"id":1,"result":{"content":[{"type":"text","text":"42"}]}}"#;
        assert!(matches!(read(ok, Keep::No), Outcome::Succeeded { result: None }));
        assert!(matches!(read(ok, Keep::HERE), Outcome::Succeeded { result: Some(_) }));
        let wrong = r#"{"id":1,"result":{"isError":true,"content":[{"type":"image"},{"type":"text","text":"no such file"}]}}"#;
        let Outcome::Failed { error, result: Some(_) } = read(wrong, Keep::HERE) else { panic!() };
        assert_eq!(error.as_deref(), Some("no such file"));
        let refused = r#"{"id":1,"error":{"code":-32602,"message":"bad"}}"#;
        assert!(matches!(read(refused, Keep::No), Outcome::Failed { result: None, .. }));
        let Outcome::Failed { error, result: Some(kept) } = read(refused, Keep::HERE) else { panic!() };
        assert_eq!(error.as_deref(), Some("bad (error -32602)"));
        assert_eq!(kept_error(&kept).as_deref(), Some(r#"{"code":-32602,"message":"bad"}"#));
        let named = br#"{"content":[],"error":{"code":1},"isError":true}"#;
        assert_eq!(kept_error(&CanonicalJson::parse(named).unwrap()), None, "a tool's own result");
        let Outcome::Succeeded { result: None } = read(ok, Keep::UpTo(10)) else { panic!() };
        // What cannot be written down does not keep the rest from it.
        let nul = r#"{"id":1,"error":{"code":1,"message":"a\u0000b"}}"#;
        let Outcome::Failed { error, result: None } = read(nul, Keep::HERE) else { panic!() };
        assert_eq!(error.as_deref(), Some("ab (error 1)"));
        // Not strict: it went to the client as it came, and is not kept.
        let twice = r#"{"id":1,"result":{"content":[],"x":1,"x":2}}"#;
        assert!(matches!(read(twice, Keep::HERE), Outcome::Succeeded { result: None }));
    }
}
