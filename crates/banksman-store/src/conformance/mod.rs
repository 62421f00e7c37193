//! The suite that every store has to pass.
//!
//! A store names itself by a [`Harness`] and gets one test for each property:
//!
//! ```ignore
//! struct Sqlite(tempfile::TempDir);
//!
//! impl banksman_store::conformance::Harness for Sqlite { /* … */ }
//!
//! banksman_store::conformance_suite!(Sqlite);
//! ```
//!
//! Each property starts with an empty store of its own and ends with the checks of `Bench::finish`: as many audit
//! events as revisions, a log without gaps, and everything still there after closing and opening again.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a property that cannot go on has failed; this is test code that other crates' tests call"
)]

mod bench;
mod database;
mod fixture;

pub mod reading_back;

pub mod atomicity;
pub mod guards;
pub mod limits;
pub mod meters;

pub mod hostile;
pub mod house;
pub mod ledger;
pub mod lists;
pub mod log;
pub mod outbox;
pub mod people;
pub mod post;
pub mod time;

use std::sync::Arc;

pub use database::Database;

use crate::Store;

/// How the suite gets at a store.
pub trait Harness: Sized + Send + Sync + 'static {
    /// A place for a store, where none was before. It is cleared away when this is dropped.
    fn fresh() -> impl Future<Output = Self> + Send;

    /// Opens the store at this place, with whatever was stored there before.
    ///
    /// The suite drops the last one before it asks for the next. Dropping it must close it, so that what is read
    /// afterwards comes from where it was stored and not from memory.
    fn open(&self) -> impl Future<Output = Arc<dyn Store>> + Send;
}

/// One test for each property, for the store of a [`Harness`].
///
/// The crate that calls it needs `tokio` with the features `macros` and `rt-multi-thread`.
#[macro_export]
macro_rules! conformance_suite {
    ($harness:ty) => {
        $crate::conformance_suite! { @tests $harness;
            reading_back {
                every_state_is_read_back
                every_member_of_a_submission_is_read_back
                reviews_are_read_back_in_order
                an_edit_is_read_back_whole
                a_batch_is_read_back_in_order
                an_empty_store_is_empty
            }
            guards {
                a_stale_revision_writes_nothing
                what_comes_too_late_writes_nothing
                an_unknown_action_cannot_move
                one_of_many_moves_of_a_revision_succeeds
                an_action_is_claimed_once
                moved_house_rules_write_nothing
                one_of_many_changes_of_an_epoch_succeeds
                what_waits_is_joined_whatever_else_is_asked
                equal_proposals_at_once_are_one
                only_open_questions_of_the_same_agent_are_joined
                an_edit_into_what_waits_is_refused
                a_used_key_leads_to_its_first_use
                keys_belong_to_their_agent
                one_of_many_requests_with_a_key_succeeds
            }
            limits {
                an_agents_limit_is_exact_in_a_rush
                the_total_limit_is_exact_in_a_rush
                what_waits_for_nobody_does_not_count
                a_full_queue_writes_nothing
                several_at_once_count_together
                every_way_out_frees_a_place
                a_refused_move_does_not_count
            }
            atomicity {
                a_laden_commit_happens_whole
                one_failed_guard_fails_the_whole
                what_cannot_be_written_fails_whole
                bad_commits_do_not_harm_good_ones_in_a_rush
            }
            log {
                numbers_follow_the_order_of_commits
                what_can_wait_is_written_with_what_comes_next
                a_reader_in_a_rush_never_misses_an_event
                events_keep_their_bytes
                every_filter_of_the_log_finds_what_it_says
                any_place_in_the_log_can_be_followed
            }
            lists {
                every_list_finds_what_it_says
                the_most_urgent_come_first
                every_status_can_be_listed
                pages_hold_still_while_the_list_moves
                what_is_pending_is_counted
                what_is_pending_comes_in_any_order
                words_are_found
                words_are_looked_for_a_stretch_at_a_time
                history_is_looked_through_within_bounds
                what_is_pending_is_counted_by_what_it_is
                earlier_versions_stay
            }
            time {
                due_means_from_that_very_moment
                the_most_overdue_come_first
                what_has_moved_is_due_at_its_new_moment
            }
            outbox {
                notices_come_in_order_until_settled
                a_notice_without_an_event_is_refused
                places_in_the_outbox_are_not_used_again
            }
            post {
                a_delivery_is_planned_once
                deliveries_are_taken_when_they_are_due
                an_overtaken_attempt_changes_nothing
                a_failed_delivery_can_be_sent_again
                what_goes_together_stays_together
                messages_are_counted_by_recipient_and_time
                deliveries_settle_with_their_notice
                an_action_has_one_job
                a_dropped_job_stays_dropped
                what_a_provider_tells_is_seen_once
                one_of_many_readers_reads_on
                hostile_names_reach_nobody_else
            }
            meters {
                a_meter_shows_what_was_added_within_its_window
                different_values_are_counted_once
                a_meter_that_moved_writes_nothing
                one_of_many_that_read_the_same_succeeds
                what_never_ran_is_given_back
                an_edit_replaces_what_was_added
                what_is_too_old_to_matter_goes
                what_can_be_joined_is_found
            }
            house {
                freezes_are_read_back_until_lifted
                grants_are_read_back_until_revoked
                a_used_grant_is_read_back_with_what_is_left
                delegations_are_read_back_until_revoked
                a_fallback_is_remembered_until_the_mode_is_set
                the_mode_is_what_was_set_last
                credentials_are_found_by_their_hash
                a_revocation_is_kept
                every_change_raises_the_epoch_and_nothing_else_does
                changes_at_once_all_happen
                a_secret_belongs_to_one_credential
            }
            people {
                people_are_as_they_were_put_last
                a_name_belongs_to_one_person
                one_of_many_changes_of_a_person_succeeds
                signing_in_does_not_move_the_house_rules
                what_was_used_cannot_be_used_again
                sessions_that_are_over_go
            }
            ledger {
                pages_and_checkpoints_are_read_back
                what_was_sealed_stays_as_it_was
            }
            hostile {
                hostile_texts_survive
                a_megabyte_survives
                numbers_survive_exactly
                look_alikes_are_not_the_same
            }
        }
    };
    (@tests $harness:ty; $($group:ident { $($property:ident)+ })+) => {
        $(mod $group {
            // The harness is named where the suite is called.
            use super::*;

            $(#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn $property() {
                $crate::conformance::$group::$property::<$harness>().await;
            })+
        })+
    };
}

#[cfg(test)]
mod tests {
    /// A property that is written but not listed would never run.
    #[test]
    fn every_property_is_in_the_suite() {
        let suite = include_str!("mod.rs");
        for source in [
            include_str!("reading_back.rs"),
            include_str!("guards.rs"),
            include_str!("limits.rs"),
            include_str!("meters.rs"),
            include_str!("atomicity.rs"),
            include_str!("log.rs"),
            include_str!("lists.rs"),
            include_str!("time.rs"),
            include_str!("outbox.rs"),
            include_str!("post.rs"),
            include_str!("house.rs"),
            include_str!("ledger.rs"),
            include_str!("people.rs"),
            include_str!("hostile.rs"),
        ] {
            let properties = source.lines().filter_map(|line| line.strip_prefix("pub async fn "));
            for property in properties.filter_map(|line| line.split('<').next()) {
                assert!(suite.lines().any(|line| line.trim() == property), "{property} is not in the suite");
            }
        }
    }
}
