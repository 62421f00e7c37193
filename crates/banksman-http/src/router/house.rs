//! The house rules that people set: grants, freezes, delegations, the mode.

use banksman_core::wire::{
    DelegationBody, DelegationView, FallbackBody, FreezeBody, FreezeView, GrantBody, GrantView, List,
    ModeBody, ModeView,
};

use super::{Route, delete, get, post};
use crate::Access::{Anyone, Person};
use crate::openapi::Operation;
use crate::problem::Code;
use crate::routes::house;

pub(super) fn routes() -> Vec<Route> {
    vec![
        get(
            "/v1/grants",
            Person,
            house::grants,
            Operation::new("listGrants", "Remembered approvals")
                .answers::<List<GrantView>>(200, "All that are live"),
        ),
        post(
            "/v1/grants",
            Person,
            house::grant,
            Operation::new("createGrant", "Approve in advance, where policy allows remembering")
                .takes::<GrantBody>()
                .answers::<GrantView>(201, "Granted")
                .fails(&[Code::InvalidRequest, Code::RememberNotAllowed]),
        ),
        delete(
            "/v1/grants/{id}",
            Person,
            house::revoke_grant,
            Operation::new("revokeGrant", "Revoke a grant, at once")
                .answers_nothing(204, "Done")
                .fails(&[Code::NotFound]),
        ),
        get(
            "/v1/freezes",
            Person,
            house::freezes,
            Operation::new("listFreezes", "Freezes in force").answers::<List<FreezeView>>(200, "All of them"),
        ),
        post(
            "/v1/freezes",
            Person,
            house::freeze,
            Operation::new("createFreeze", "Freeze an agent, a tool or everything, at once")
                .takes::<FreezeBody>()
                .answers::<FreezeView>(201, "Frozen")
                .fails(&[Code::InvalidRequest]),
        ),
        delete(
            "/v1/freezes/{id}",
            Person,
            house::unfreeze,
            Operation::new("liftFreeze", "Lift a freeze")
                .answers_nothing(204, "Done")
                .fails(&[Code::NotFound]),
        ),
        get(
            "/v1/delegations",
            Person,
            house::delegations,
            Operation::new("listDelegations", "Whose roles others may use, now and later").answers::<List<
                DelegationView,
            >>(
                200,
                "All that are not over",
            ),
        ),
        post(
            "/v1/delegations",
            Person,
            house::delegate,
            Operation::new("delegate", "Let another person use your roles for a period")
                .takes::<DelegationBody>()
                .answers::<DelegationView>(201, "Delegated")
                .fails(&[Code::InvalidRequest, Code::MissingRole, Code::NotYours]),
        ),
        delete(
            "/v1/delegations/{id}",
            Person,
            house::revoke_delegation,
            Operation::new("revokeDelegation", "End a delegation, at once")
                .answers_nothing(204, "Done")
                .fails(&[Code::NotFound, Code::NotYours]),
        ),
        get(
            "/v1/mode",
            Anyone,
            house::mode,
            Operation::new("getMode", "The operating mode, and whether policy is enforced")
                .answers::<ModeView>(200, "How strict the house is"),
        ),
        post(
            "/v1/mode",
            Person,
            house::change_mode,
            Operation::new(
                "changeMode",
                "Change the operating mode, one step at a time: by an administrator, or as policy says",
            )
            .takes::<ModeBody>()
            .answers::<ModeView>(200, "The new mode")
            .fails(&[
                Code::IllegalModeChange,
                Code::MissingRole,
                Code::NotYours,
                Code::ReasonRequired,
            ]),
        ),
        post(
            "/v1/mode/fallback",
            Person,
            house::fall_back,
            Operation::new(
                "fallBack",
                "Something went wrong: fall back from production to shadow, with the demands of both",
            )
            .takes::<FallbackBody>()
            .answers::<ModeView>(200, "The mode, changed if it was production")
            .fails(&[Code::ReasonRequired]),
        ),
    ]
}
