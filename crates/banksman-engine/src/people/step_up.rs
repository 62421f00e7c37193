//! Step-up: a decision that a passkey signs.

use banksman_core::wire::DecisionRequest;
use banksman_core::{ActionId, Assertion, Case, Decision, Digest, Principal, Refusal, Signed, StepUp};
use banksman_identity::{Site, WebauthnError, assertion_challenge, to_base64url};
use std::sync::Arc;

use super::passkeys::{PasskeyAnswer, PasskeyQuestion, counted, decoded, not_proved};
use super::{Amendment, By};
use crate::edit::edited_digest;
use crate::{Engine, EngineError};

/// What a page asks the browser of someone who decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepUpQuestion {
    /// The question, whose challenge stands for this decision and no other.
    pub question: PasskeyQuestion,
    /// What goes into the challenge besides the decision.
    pub nonce: String,
    /// What would run; for an edit, after it.
    pub digest: Digest,
    /// Its version; for an edit, the one that it makes.
    pub version: u32,
}

fn purpose(reviewer: &Principal) -> String {
    format!("a decision of {}", reviewer.name)
}

impl Engine {
    /// What to ask the passkey of someone who decides.
    ///
    /// # Errors
    /// If they have no passkey for this site, or what they decide about is not what is on the table.
    pub async fn ask_to_sign(
        &self,
        reviewer: &Principal,
        site: &Site,
        id: ActionId,
        request: &DecisionRequest,
    ) -> Result<StepUpQuestion, EngineError> {
        let case = self.fetch(id).await?;
        let person = self.oneself(reviewer).await?;
        let passkeys: Vec<String> = person
            .iter()
            .flat_map(|person| &person.passkeys)
            .filter(|passkey| passkey.rp_id == site.rp_id)
            .map(|passkey| passkey.id.clone())
            .collect();
        if passkeys.is_empty() {
            return Err(EngineError::refused(Refusal::StepUpRequired, &case));
        }
        let nonce = self.fresh_challenge(&purpose(reviewer))?;
        let signed = about(&case, request, &reviewer.name)?;
        let challenge = to_base64url(signed.challenge(&nonce).as_bytes());
        Ok(StepUpQuestion {
            question: PasskeyQuestion { challenge, rp_id: site.rp_id.clone(), passkeys },
            nonce,
            digest: signed.digest,
            version: signed.version,
        })
    }

    /// Takes a decision that a passkey signed.
    ///
    /// # Errors
    /// As [`Engine::decide`]; or if the signature is not this person's, or not over this decision.
    pub async fn decide_signed(
        &self,
        reviewer: &Principal,
        site: &Site,
        id: ActionId,
        request: DecisionRequest,
        nonce: String,
        answer: PasskeyAnswer,
    ) -> Result<Arc<Case>, EngineError> {
        if self.identity.challenges.recognise(&purpose(reviewer), &nonce, self.clock.now()).is_none() {
            return Err(EngineError::NotProved(
                "the question is too old, or was another's; decide again".into(),
            ));
        }
        let person = self.oneself(reviewer).await?.ok_or(EngineError::Unauthenticated)?;
        let of_site =
            |passkey: &&banksman_store::Passkey| passkey.id == answer.id && passkey.rp_id == site.rp_id;
        let passkey = person
            .passkeys
            .iter()
            .find(of_site)
            .ok_or_else(|| EngineError::NotProved("this passkey is not yours".into()))?;
        let claimed = assertion_challenge(&decoded(&answer.client_data)?).map_err(not_proved)?;
        let challenge: [u8; 32] =
            decoded(&claimed)?.try_into().map_err(|_| not_proved(WebauthnError::WrongChallenge))?;
        let count = self.check_answer(site, &claimed, passkey, &answer)?;
        if count != 0 {
            self.count_signature(reviewer, &passkey.id, count).await?;
        }
        let assertion = Assertion {
            passkey: answer.id,
            nonce,
            authenticator_data: answer.authenticator_data,
            client_data: answer.client_data,
            signature: answer.signature,
        };
        let step_up = StepUp { assertion, challenge: Digest::from_bytes(challenge) };
        self.decide_via(None, reviewer, id, request, Some(step_up)).await
    }

    /// Remembers how many signatures a passkey counts, before its signature counts: a copy that is one ahead is noticed.
    async fn count_signature(&self, reviewer: &Principal, id: &str, count: u32) -> Result<(), EngineError> {
        self.amend_people(By::Person(reviewer), |folk| {
            let person = folk.active(&reviewer.name)?;
            let known = person
                .passkeys
                .iter()
                .find(|passkey| passkey.id == id)
                .ok_or(EngineError::Unauthenticated)?;
            if count <= known.count {
                return Err(not_proved(WebauthnError::Copied));
            }
            let people = vec![counted(person, id, count)];
            Ok(Amendment { people, control: Vec::new(), changes: Vec::new(), actor: None, answer: () })
        })
        .await
    }
}

/// What a decision is about: for an edit, what would run after it.
fn about<'a>(case: &Case, request: &DecisionRequest, by: &'a str) -> Result<Signed<'a>, EngineError> {
    let (digest, version) = match request.decision {
        Decision::Modify => (edited_digest(case, request.args.as_ref())?, request.version + 1),
        Decision::Approve | Decision::Deny | Decision::Respond => (request.digest, request.version),
    };
    Ok(Signed { action: case.id, digest, version, decision: request.decision, by })
}
