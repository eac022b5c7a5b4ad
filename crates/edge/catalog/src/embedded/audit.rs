//! Feeds every record of a view to the recount.

use super::kinds::LIVE;
use super::snapshot::Reading;
use super::table::View;
use crate::audit::Recount;
use crate::key::{object_key, split_object_key, text};
use crate::{Audit, AuditFinding, CatalogError};
use ripstop_model::{FragmentId, NodeId, StripeId};

/// Most stripes whose holders are counted at once, at some 80 bytes each: of more, the catalog is
/// gone through several times.
const COUNTED_MAX: u64 = 1 << 20;

impl View {
    /// Recounts everything; tells `reading` of each record.
    pub(super) fn audit(&self, reading: &Reading) -> Result<Audit, CatalogError> {
        self.audit_by(COUNTED_MAX, reading)
    }

    pub(super) fn audit_by(
        &self,
        counted_max: u64,
        reading: &Reading,
    ) -> Result<Audit, CatalogError> {
        let stripes = self.stripes.len()?;
        let shares = stripes.div_ceil(counted_max).max(1);
        let mut audit = self.recount(Recount::of_share(0, shares), reading)?;
        for share in 1..shares {
            audit.take(self.recount(Recount::of_share(share, shares), reading)?);
        }
        Ok(audit)
    }

    fn recount(&self, mut recount: Recount, reading: &Reading) -> Result<Audit, CatalogError> {
        let stopped = |error: std::io::Error| CatalogError::Unavailable(Box::new(error));
        self.recount_stripes(&mut recount)?;
        reading.go_on().map_err(stopped)?;
        for entry in self.buckets.all()? {
            let entry = entry?;
            let what = || format!("bucket {}", shown(entry.key()));
            read(&mut recount, what, entry.read(), |recount, bucket| {
                recount.bucket(&bucket);
            });
        }
        for entry in self.objects.all()? {
            let entry = entry?;
            reading.go_on().map_err(stopped)?;
            reading.add_record();
            let what = || format!("object {}", shown(entry.key()));
            let found = split_object_key(entry.key())
                .and_then(|place| entry.read().map(|object| (place, object)));
            read(&mut recount, what, found, |recount, ((bucket, key), object)| {
                recount.object(&bucket, &key, &object);
            });
        }
        self.recount_tellings(&mut recount)?;
        self.recount_uploads(&mut recount)?;
        self.recount_numbers(&mut recount)?;
        match self.usage_rows() {
            Ok(rows) => rows.iter().for_each(|(bucket, usage)| recount.usage(bucket, *usage)),
            Err(error) => unreadable(&mut recount, format!("what buckets hold: {error}")),
        }
        Ok(recount.finish())
    }

    fn recount_stripes(&self, recount: &mut Recount) -> Result<(), CatalogError> {
        let is_live_known = !self.cursors.has(&LIVE)?;
        for entry in self.stripes.all()? {
            let entry = entry?;
            let id = StripeId(entry.key());
            let what = || format!("stripe {id}");
            read(recount, what, entry.read(), |recount, held| {
                recount.stripe(id, &held, is_live_known);
            });
        }
        for entry in self.garbage.all()? {
            let entry = entry?;
            let id = StripeId(entry.key());
            let what = || format!("garbage {id}");
            read(recount, what, entry.read(), |recount, _| recount.garbage(id));
        }
        self.recount_leftovers(recount)
    }

    /// Nobody counts these; each must be readable.
    fn recount_numbers(&self, recount: &mut Recount) -> Result<(), CatalogError> {
        for entry in self.facts.all()? {
            let entry = entry?;
            let what = || format!("the fact \"{}\"", shown(entry.key()));
            read(recount, what, entry.read(), |_, _| {});
        }
        for entry in self.nodes.all()? {
            let entry = entry?;
            let what = || format!("the number of node {}", shown(entry.key()));
            read(recount, what, entry.read(), |_, _| {});
        }
        for entry in self.watermarks.all()? {
            let entry = entry?;
            let what = || format!("the watermark of session {}", entry.key());
            read(recount, what, entry.read(), |_, _| {});
        }
        for entry in self.gateways.all()? {
            let entry = entry?;
            let what = || format!("gateway {:016x}", entry.key());
            read(recount, what, entry.read(), |_, _| {});
        }
        for entry in self.leases.all()? {
            let entry = entry?;
            let what = || format!("the lease \"{}\"", shown(entry.key()));
            read(recount, what, entry.read(), |_, _| {});
        }
        for entry in self.sessions.all()? {
            let entry = entry?;
            let what = || format!("the reservation of session {}", entry.key());
            read(recount, what, entry.read(), |_, _| {});
        }
        Ok(())
    }

    /// Tombstones, and what is outlived.
    fn recount_tellings(&self, recount: &mut Recount) -> Result<(), CatalogError> {
        for entry in self.tombstones.all()? {
            let entry = entry?;
            let what = || format!("tombstone {}", shown(entry.key()));
            let found = split_object_key(entry.key())
                .and_then(|place| entry.read().map(|tombstone| (place, tombstone)));
            if self.objects.has(&entry.key())? {
                unreadable(recount, format!("{} is of an object that is there", what()));
            }
            read(recount, what, found, |recount, ((bucket, key), tombstone)| {
                if key.is_empty() && self.buckets.has(&bucket.as_bytes()).unwrap_or(false) {
                    unreadable(recount, format!("bucket {bucket} is there and deleted"));
                }
                recount.tombstone(&bucket, &key, &tombstone);
            });
        }
        for entry in self.outlived.all()? {
            let entry = entry?;
            let (id, bucket, key) = entry.key();
            let stripe = StripeId(id);
            let what = || format!("what stripe {stripe} told of {}/{}", shown(bucket), shown(key));
            read(recount, what, entry.read(), |_, _| {});
            if !self.stripes.has(&id)? && !self.garbage.has(&id)? {
                unreadable(recount, format!("{} is outlived, and the stripe is gone", what()));
            }
            // What cannot be read of these is named elsewhere.
            if self.teller(bucket, key).ok().flatten() == Some(stripe) {
                unreadable(recount, format!("{} is outlived and so", what()));
            }
            if !self.outlived_at.has(&(bucket, key, id))? {
                unreadable(recount, format!("{} has no place", what()));
            }
        }
        if self.outlived.len()? != self.outlived_at.len()? {
            unreadable(recount, "what is outlived and its places differ in number".into());
        }
        for entry in self.cursors.all()? {
            let entry = entry?;
            let what = || format!("how far \"{}\" are counted", shown(entry.key()));
            read(recount, what, entry.read(), |_, _| {});
        }
        Ok(())
    }

    /// The stripe that tells what stands at a place.
    fn teller(&self, bucket: &[u8], key: &[u8]) -> Result<Option<StripeId>, CatalogError> {
        let place = object_key(&text(bucket)?, key);
        let stands = if key.is_empty() {
            self.buckets.find(&bucket)?.map(|bucket| bucket.told_by)
        } else {
            self.objects.find(&place.as_slice())?.map(|object| object.told_by)
        };
        let tombstone = self.tombstones.find(&place.as_slice())?;
        Ok(stands.or(tombstone.map(|tombstone| tombstone.told_by)))
    }

    fn recount_leftovers(&self, recount: &mut Recount) -> Result<(), CatalogError> {
        for entry in self.leftovers.all()? {
            let entry = entry?;
            let (id, index, node) = entry.key();
            let name = FragmentId { stripe: StripeId(id), index };
            let what = || format!("leftover {name} at node {node}");
            read(recount, what, entry.read(), |_, _| {});
            // A stripe that cannot be read is named already.
            let held = self.stripes.find(&id).ok().flatten();
            if held.and_then(|held| held.stripe.node(index.into())) == Some(NodeId(node)) {
                unreadable(recount, format!("fragment {name} is where it is a leftover"));
            }
        }
        Ok(())
    }

    fn recount_uploads(&self, recount: &mut Recount) -> Result<(), CatalogError> {
        for entry in self.uploads.all()? {
            let entry = entry?;
            let what = || format!("upload {}", shown(entry.key()));
            let found = entry.read();
            if let Ok(upload) = &found {
                let place = (upload.bucket.as_bytes(), upload.key.as_bytes(), entry.key());
                match self.uploads_by_key.find(&place) {
                    Ok(Some(_)) => {}
                    Ok(None) => unreadable(recount, format!("{} has no place", what())),
                    Err(error) => unreadable(recount, format!("the place of {}: {error}", what())),
                }
            }
            read(recount, what, found, |recount, upload| recount.upload(&upload));
        }
        let (places, uploads) = (self.uploads_by_key.len()?, self.uploads.len()?);
        if places != uploads {
            unreadable(recount, "places of uploads and uploads differ in number".into());
        }
        for entry in self.parts.all()? {
            let entry = entry?;
            let (upload, number) = entry.key();
            let what = || format!("part {number} of upload {}", shown(upload));
            let found = text(upload).and_then(|id| entry.read().map(|part| (id, part)));
            read(recount, what, found, |recount, (id, part)| recount.part(&id, &part));
        }
        Ok(())
    }
}

fn read<T>(
    recount: &mut Recount,
    what: impl Fn() -> String,
    found: Result<T, CatalogError>,
    take: impl FnOnce(&mut Recount, T),
) {
    match found {
        Ok(record) => take(recount, record),
        Err(error) => unreadable(recount, format!("{}: {error}", what())),
    }
}

fn unreadable(recount: &mut Recount, reason: String) {
    recount.find(AuditFinding::Unreadable { reason });
}

fn shown(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}
