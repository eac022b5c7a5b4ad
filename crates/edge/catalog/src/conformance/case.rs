//! Facts with names. Each is put to a new, empty catalog.

mod bucket;
mod fragment;
mod gateway;
mod listing;
mod object;
mod session;
mod telling;
mod upload;
mod usage;
mod version;

use super::make;
use super::make::{object, stripe};
use crate::{Applied, Audited, CatalogError, Change, Condition, Quota, Stripe};
use futures::future::BoxFuture;
use ripstop_model::StripeId;

/// One fact; panics where it does not hold.
pub type Case = for<'a> fn(&'a dyn Audited) -> BoxFuture<'a, ()>;

macro_rules! listed {
    ($(#[$doc:meta])* $list:ident: $($kind:ident { $($name:ident)* })*) => {
        $(#[$doc])*
        pub fn $list() -> Vec<(&'static str, Case)> {
            vec![$($((stringify!($name), |catalog| Box::pin($kind::$name(catalog))),)*)*]
        }
    };
}

listed! {
    /// What is asked only of catalogs that take keys of any length, with names.
    cases_of_long_keys:
    listing {
        a_key_longer_than_a_page_is_on_a_page
    }
}

listed! {
    /// Every case with its name.
    cases:
    object {
        an_overwritten_object_leaves_its_stripes_to_the_garbage
        a_stripe_of_two_objects_stays_until_both_are_gone
        a_stripe_named_by_many_extents_is_held_once
        a_copy_onto_itself_keeps_its_stripes
        a_copy_of_what_is_gone_is_refused
        the_name_of_garbage_is_not_used_again
        objects_of_one_pack_may_each_bring_it
        conditions_are_checked_against_the_present_object
        a_refused_change_leaves_no_trace_among_its_neighbours
        one_of_many_writers_that_want_an_absent_key_wins
        only_an_empty_bucket_is_removed
    }
    upload {
        a_part_replaced_lets_its_stripes_go
        completing_moves_the_stripes_of_used_parts_and_drops_the_rest
        completing_with_a_part_that_changed_changes_nothing
        an_ended_upload_is_no_more
        uploads_of_one_key_are_paged_by_id
    }
    listing {
        a_rolled_up_prefix_is_given_once_over_all_pages
        a_start_inside_a_rolled_up_prefix_still_shows_it
        delimiters_may_be_long_or_inside_the_prefix
        no_room_gives_an_empty_last_page
        next_is_given_exactly_when_there_is_more
        a_page_ends_where_its_keys_are_long
    }
    fragment {
        garbage_waits_until_it_is_due_and_is_forgotten
        fragments_are_placed_in_stripes_in_force_only
        a_fragment_moves_only_from_where_it_was_read
        a_leftover_waits_until_it_is_due_and_is_forgotten
        nodes_keep_the_numbers_they_were_given
    }
    telling {
        a_put_that_a_conditional_one_overtook_must_be_told_again
        a_put_that_was_overtaken_in_its_session_is_as_if_it_had_come_before
        a_put_that_is_behind_another_session_or_has_a_condition_is_refused
        completing_what_was_overtaken_ends_the_upload
        objects_of_a_pack_may_be_overtaken_one_by_one
        what_was_replaced_is_outlived_until_its_fragments_are_forgotten
        a_deletion_leaves_a_tombstone_while_something_is_outlived
        a_put_lets_go_of_the_tombstone
        a_later_deletion_of_what_is_deleted_takes_over_its_tombstone
        a_deletion_that_is_behind_is_overtaken_or_refused
        deletions_of_one_stripe_may_each_bring_it
        a_stripe_that_tells_a_version_and_its_end_needs_no_tombstone
        a_deleted_bucket_leaves_a_tombstone_too
        what_outlives_what_is_known_from_what_was_told
        a_deletion_that_was_told_is_buried_again
        a_stripe_that_tells_what_is_so_again_is_believed
        live_bytes_are_those_that_holders_name
        changes_of_one_commit_see_those_before_them
    }
    bucket {
        a_bucket_that_is_set_is_told_again_and_outlives_what_told_it
    }
    session {
        a_session_reserves_names_and_never_gives_one_back
        what_is_vouched_for_later_replaces_what_was
        a_lease_is_renewed_by_its_holder_and_taken_over_when_it_is_over
        a_lease_that_is_given_back_is_free_at_once
        what_is_done_under_a_lease_that_another_took_over_changes_nothing
        the_least_watermark_is_of_those_that_are_alive
        a_session_that_was_given_up_brings_nothing
    }
    gateway {
        a_gateway_has_another_epoch_in_each_of_its_lives
        gateways_that_tell_nothing_are_forgotten
    }
    version {
        a_version_stays_when_another_is_put
        the_null_version_is_one_among_others
        conditions_are_judged_by_the_latest_version
        what_a_key_stands_for_and_what_it_does_not_can_be_conditions
        a_version_that_was_overtaken_takes_its_place
        a_bucket_of_versions_is_not_empty
        a_version_that_was_deleted_leaves_a_tombstone_of_its_own
    }
    usage {
        usage_follows_every_change
        completing_counts_bytes_once
        a_quota_refuses_growth_only
        a_quota_is_looked_at_after_conditions_and_before_stripes
        of_changes_that_come_together_those_that_fit_are_applied
        what_all_buckets_hold_is_told_by_name
    }
}

async fn applied(catalog: &dyn Audited, change: Change) -> Applied {
    catalog.commit_one(5, change).await.expect("the change is applied")
}

async fn refused(catalog: &dyn Audited, change: Change) -> CatalogError {
    catalog.commit_one(5, change).await.expect_err("the change is refused")
}

fn brought(stripes: &[u128]) -> Vec<(StripeId, Stripe)> {
    stripes.iter().map(|id| (StripeId(*id), stripe())).collect()
}

fn create(name: &str, told_by: u128) -> Change {
    Change::CreateBucket { bucket: make::bucket(name, told_by), stripes: brought(&[told_by]) }
}

/// Puts an object that brings `new` stripes and names `named`, told by the first.
fn put(key: &str, named: &[u128], new: &[u128]) -> Change {
    Change::PutObject {
        bucket: "b".into(),
        key: key.into(),
        object: object("e", named, named[0]),
        stripes: brought(new),
        condition: Condition::None,
        quota: Quota::NONE,
    }
}

fn delete(key: &str) -> Change {
    Change::DeleteObject {
        release: crate::Release::default(),
        bucket: "b".into(),
        key: key.into(),
        condition: Condition::None,
        tombstone: None,
        stripes: vec![],
    }
}

/// Ids in force, ids in the garbage; and the audit is clean.
async fn tables(catalog: &dyn Audited) -> (Vec<u128>, Vec<u128>) {
    let audit = catalog.audit().await.expect("the audit runs");
    assert!(audit.is_clean(), "{:?}", audit.findings);
    let stripes = catalog.stripes_after(StripeId(0), 1000).await.expect("stripes");
    let garbage = catalog.garbage(u64::MAX, StripeId(0), 1000).await.expect("garbage");
    let ids = |found: Vec<(StripeId, Stripe)>| found.iter().map(|(id, _)| id.0).collect();
    (ids(stripes), ids(garbage))
}
