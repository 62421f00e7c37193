//! What every page is drawn with: who looks, how the house stands, and the time.

use banksman_core::{FreezeScope, PrincipalKind, Timestamp};
use banksman_web::{Frame, House, Notice, Viewer};

use super::session::Session;
use crate::App;
use crate::problem::ProblemError;

pub(super) struct Desk<'a> {
    pub(super) session: &'a Session,
    house: House,
    pub(super) now: Timestamp,
}

impl<'a> Desk<'a> {
    pub(super) async fn of(app: &App, session: &'a Session) -> Result<Self, ProblemError> {
        // The number before the picture: what happens in between is told twice rather than not at all.
        let newest = *app.engine.newest_event().borrow();
        let control = app.engine.house_rules().await?;
        let house = House {
            mode: control.mode,
            observes: app.engine.mode_of(&control).observes,
            frozen: control.freezes.iter().any(|freeze| freeze.scope == FreezeScope::Everything),
            freezes: control.freezes.len(),
            pending: app.engine.pending_count().await?,
            newest,
        };
        Ok(Self { session, house, now: app.engine.now() })
    }

    pub(super) fn pending(&self) -> u64 {
        self.house.pending
    }

    pub(super) fn frame(&self, notice: Option<Notice>) -> Frame<'_> {
        let person = &self.session.person;
        let viewer = Viewer {
            name: &person.name,
            is_admin: person.kind == PrincipalKind::Admin,
            csrf: &self.session.csrf,
        };
        let Session { preferences, sent_form, .. } = *self.session;
        Frame { viewer, house: self.house, preferences, now: self.now, notice, answers_form: sent_form }
    }
}
