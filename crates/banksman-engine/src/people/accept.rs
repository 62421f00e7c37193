//! Accepting an invitation: the first way to sign in, and the first session.

use banksman_core::{PersonChange, SignInMethod};
use banksman_identity::Site;
use banksman_store::{LinkPurpose, Passkey, Person};

use super::factors::{NewPassword, ReadyPassword};
use super::links::holder;
use super::passkeys::{PasskeyRegistration, given};
use super::sessions::NewSession;
use super::{Amendment, By};
use crate::{Engine, EngineError, IssuedToken};

/// What someone who was invited wants to sign in with.
#[derive(Debug, Clone)]
pub enum FirstFactor<'a> {
    /// A password and an authenticator app.
    Password(NewPassword),
    /// A passkey of this site.
    Passkey(&'a Site, PasskeyRegistration),
}

/// Someone who accepted their invitation.
#[derive(Debug, Clone)]
pub struct AcceptedInvitation {
    /// Their first session.
    pub session: IssuedToken,
    /// Their recovery codes, if they chose a password. Shown this once.
    pub recovery_codes: Vec<String>,
}

enum Ready {
    Password(ReadyPassword),
    Passkey(Passkey),
}

impl Engine {
    /// Accepts an invitation. Its link is used up only if everything is in order.
    ///
    /// # Errors
    /// If there is no such invitation any more, or what was set up does not do.
    pub async fn accept_invitation(
        &self,
        code: &str,
        factor: FirstFactor<'_>,
        browser: &str,
    ) -> Result<AcceptedInvitation, EngineError> {
        let person = self.invited(code).await?;
        let ready = match factor {
            FirstFactor::Password(new) => Ready::Password(self.ready_password(&person, new).await?),
            FirstFactor::Passkey(site, new) => Ready::Passkey(self.ready_passkey(site, &person, &new)?),
        };
        let session = NewSession::new(browser)?;
        self.amend_people(By::Operator, |folk| {
            let person = holder(folk, code, LinkPurpose::Invitation)?;
            let (changed, changes, method, recovery_codes) = match &ready {
                Ready::Password(ready) => (
                    ready.give(person),
                    ReadyPassword::changes().to_vec(),
                    SignInMethod::Password,
                    ready.recovery(),
                ),
                Ready::Passkey(passkey) => {
                    let (changed, change) = given(folk, person, passkey)?;
                    (changed, vec![change], SignInMethod::Passkey, Vec::new())
                }
            };
            let changed = Person { link: None, ..changed };
            let (control, signed_in, token) = session.begin(&changed, method, folk.now);
            let accepted = AcceptedInvitation { session: token, recovery_codes };
            let name = person.name.clone();
            let all = changes.into_iter().chain([signed_in]);
            let changes: Vec<(String, PersonChange)> = all.map(|change| (name.clone(), change)).collect();
            let amendment = Amendment {
                people: vec![changed],
                control: vec![control],
                changes,
                actor: None,
                answer: accepted,
            };
            Ok(amendment.by(person))
        })
        .await
    }
}
