//! What the answer of a service means for a message.

use banksman_core::visible::{Visible, brief};
use banksman_outward::{Answer, CallError};
use http::StatusCode;

use crate::{SendError, Trouble};

/// No more of what a service says about its troubles.
const WORDS: usize = 200;

/// There was no answer.
pub(crate) fn failed(error: CallError) -> SendError {
    let why = brief(&Visible(&error.to_string()).to_string(), WORDS);
    match error {
        _ if error.is_lasting() => SendError::never(why),
        // It was on its way: whoever hung up, or thought for too long, may have taken it first.
        CallError::Broken { .. } | CallError::TooSlow { .. } => SendError::unsure(why),
        _ => SendError::later(why),
    }
}

/// Whether the service took it.
pub(crate) fn settled(answer: &Answer) -> Result<(), SendError> {
    let status = answer.status;
    if status.is_success() {
        return Ok(());
    }
    let why = if status.is_redirection() {
        format!("answered {status}: redirects are not followed; configure the address that it points to")
    } else {
        format!("answered {status}: {}", words(&answer.body))
    };
    let may_change = status.is_server_error()
        || matches!(
            status,
            StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_EARLY | StatusCode::TOO_MANY_REQUESTS
        );
    if may_change {
        Err(put_off(answer, status == StatusCode::TOO_MANY_REQUESTS, why))
    } else {
        Err(SendError::never(why))
    }
}

/// The service wants it later. If it has too much to do and says until when, that is nobody's failure.
pub(crate) fn put_off(answer: &Answer, has_too_much: bool, why: String) -> SendError {
    let after = answer.retry_after();
    let trouble = if has_too_much && after.is_some() { Trouble::Busy } else { Trouble::NotTaken };
    SendError::Later { trouble, after, why }
}

/// The start of what a service said, harmless wherever it is shown.
pub(crate) fn words(body: &[u8]) -> String {
    brief(&Visible(String::from_utf8_lossy(body).trim()).to_string(), WORDS)
}
