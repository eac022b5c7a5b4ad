//! One transaction makes a pack's members visible, and each answers for itself.

use super::{Deed, Done, Member, PackDirectory, PackEntry, PackMark};
use crate::{Store, StoreError, deletion::Deletion, stripe::record_of};
use ripstop_catalog::{Change, Outcome, Quota, Refusal, Release, Stripe, Tombstone};
use ripstop_host::unix_ms;
use ripstop_model::StripeId;
use ripstop_runtime::Written;

/// A pack that is stored, and what it tells, by member.
pub(crate) struct Packed {
    pub(super) directory: PackDirectory,
    pub(super) mark: PackMark,
    pub(super) written: Written,
}

impl Packed {
    /// Bytes of its payload.
    pub(super) fn payload_len(&self) -> u32 {
        self.written.shape.payload_len()
    }
}

impl Store {
    /// The changes of a pack: one for each member, and then one for each that is an object: if it
    /// is refused, the pack tells what is not so, and is known to from the same moment on.
    fn changes(
        &self,
        directory: &PackDirectory,
        members: &[Member],
        stripe: &(StripeId, Stripe),
    ) -> Vec<Change> {
        let mut changes = Vec::with_capacity(2 * members.len());
        let as_of_ms = self.retention_now_ms();
        for (entry, member) in directory.entries.iter().zip(members) {
            let (bucket, key) = (entry.bucket().to_owned(), entry.key().to_owned());
            let condition = member.target.condition.clone();
            let stripes = vec![stripe.clone()];
            changes.push(match entry {
                PackEntry::Object { object, .. } => {
                    // What is told again brings nothing new, and a deletion is not refused for
                    // being counted.
                    let is_new = !member.deed.is_again() && !object.is_marker;
                    let quota = if is_new { self.quota(&bucket) } else { Quota::NONE };
                    let object = object.clone();
                    Change::PutObject { bucket, key, object, stripes, condition, quota }
                }
                PackEntry::Deletion(Deletion { stamp, .. }) => {
                    let (stamp, told_by) = (*stamp, directory.told_by);
                    let tombstone = Tombstone { stamp, told_by, ..Tombstone::default() };
                    if member.deed.is_again() {
                        Change::Bury { bucket, key, tombstone, stripes }
                    } else {
                        let tombstone = Some(tombstone);
                        let bypass = matches!(member.deed, Deed::Delete { bypass: true });
                        let release = Release::Judged { as_of_ms, bypass };
                        Change::DeleteObject { bucket, key, condition, release, tombstone, stripes }
                    }
                }
            });
        }
        for entry in &directory.entries {
            if let PackEntry::Object { bucket, key, .. } = entry {
                let (bucket, key, stripe) = (bucket.clone(), key.clone(), stripe.clone());
                changes.push(Change::Outlive { bucket, key, stripe });
            }
        }
        changes
    }

    /// Makes a pack's members visible that nothing refuses, and answers all.
    pub(super) async fn commit_pack(
        &self,
        packed: Packed,
        members: Vec<Member>,
    ) -> Vec<Result<Done, StoreError>> {
        let Packed { directory, mark, written } = packed;
        let mut stripe = (written.id, record_of(&written));
        mark.note(&mut stripe.1);
        let strays = self.inner.strays.of(std::slice::from_ref(&stripe));
        let changes = self.changes(&directory, &members, &stripe);
        let mut outcomes = match self.inner.catalog.commit(unix_ms(), changes).await {
            Ok(outcomes) => outcomes,
            // If it took effect all the same, the stripe is in force, and stays.
            Err(error) => {
                return StoreError::from(error)
                    .for_each_of(members.len())
                    .into_iter()
                    .map(Err)
                    .collect();
            }
        };
        outcomes.truncate(members.len());
        let is_applied = outcomes.iter().any(Result::is_ok);
        if is_applied {
            self.inner.strays.note(&strays);
            written.claim();
        } else {
            // Nobody ever sees it: it goes at once, with all that it tells.
            drop(written);
        }
        self.answer_pack(directory, members, outcomes, is_applied).await
    }

    async fn answer_pack(
        &self,
        directory: PackDirectory,
        members: Vec<Member>,
        outcomes: Vec<Outcome>,
        is_applied: bool,
    ) -> Vec<Result<Done, StoreError>> {
        let mut done = Vec::with_capacity(members.len());
        let (mut refused, mut refused_at, mut again) = (Vec::new(), Vec::new(), Vec::new());
        let told = directory.entries.into_iter().zip(members);
        for (at, ((entry, member), outcome)) in told.zip(outcomes).enumerate() {
            let why = match outcome {
                Ok(applied) => {
                    done.push(Ok(match entry {
                        PackEntry::Object { object, .. } => Done::Put(object),
                        PackEntry::Deletion(_) => Done::Deleted(applied.replaced),
                    }));
                    continue;
                }
                Err(why) => why,
            };
            if let Refusal::Behind { seen } = &why
                && !member.deed.is_again()
            {
                self.inner.lineage.observe(*seen);
                again.push((at, member));
            } else if let Refusal::Retired { session } = &why {
                self.inner.lineage.given_up(*session);
            } else {
                refused.push(entry);
                refused_at.push(at);
            }
            done.push(Err(why.into()));
        }
        if is_applied && let Err(error) = self.reassert(refused).await {
            let errors = error.for_each_of(refused_at.len());
            for (at, error) in refused_at.into_iter().zip(errors) {
                done[at] = Err(error);
            }
        }
        // Told again, later than what they were behind: as requests of their own.
        for (at, member) in again {
            done[at] = Box::pin(self.write_lone(member)).await;
        }
        done
    }
}
