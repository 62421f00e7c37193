//! Banksman's review pages: values in, markup out.
//!
//! Pure: no clock, no sockets, no store. What is shown is what travels over HTTP ([`banksman_core::wire`]), so a page
//! cannot show what redaction took away. Our own words go through maud, which escapes; the words of others go through
//! [`text`], which also makes visible what would act or hide. There is no third way to the page.

mod text;

mod diff;
mod form;
mod marks;
mod values;

mod moment;
mod parts;
mod plot;

mod card;
mod frame;
mod guide;
mod passkey;
mod settings;

mod account;
mod action;
mod audit;
mod batch;
mod decide;
mod edit;
mod house;
mod inbox;
mod join;
mod overview;
mod people;
mod policy;
mod sign_in;
mod step_up;

mod assets;

pub use account::{AccountPage, OwnPasskey, OwnSession};
pub use action::{ActionPage, EarlierVersion, History, Kept};
pub use assets::{Asset, asset};
pub use audit::{AuditFilter, AuditPage, Entry};
pub use batch::{BatchPage, needs_own_page};
pub use edit::EditPage;
pub use form::{Draft, FormField, Misfit, args_of_form};
pub use frame::{Frame, House, Notice, Place, Said, Viewer};
pub use guide::guide;
pub use house::{FreezeDraft, delegations, freezes, grants, mode};
pub use inbox::{InboxFilter, InboxPage, Sort};
pub use join::{AppSecret, JoinPage, recovery_codes};
pub use overview::{OverviewPage, Waiting, Window};
pub use passkey::Ask;
pub use people::PeoplePage;
pub use policy::{LookedForRule, PolicyAnswer, PolicyPage, PolicyQuestion, PolicyRule, Say, looked_for};
pub use settings::{Preferences, Theme, settings};
pub use sign_in::{SignInPage, bad_code, problem, sign_in, signed_out};
pub use step_up::{Signs, StepUpPage};
pub use values::Extent;
