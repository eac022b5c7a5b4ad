//! Feeds every record of a view to the recount.

use super::encoding::{
    Held, LeftoverKey, decode, garbage_due, garbage_stripe, split_object_key, text,
};
use super::failure::unavailable;
use super::snapshot::Reading;
use super::table::View;
use crate::audit::Recount;
use crate::{Audit, CatalogError, Finding, Upload};
use redb::ReadableTableMetadata;
use ripstop_model::{FragmentId, NodeId, StripeId};

/// Most stripes whose holders are counted at once, at some 80 bytes each: of more, the catalog is gone
/// through several times.
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
        let stripes = self.stripes.len().map_err(unavailable)?;
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
        for entry in self.buckets.range::<&[u8]>(..).map_err(unavailable)? {
            let (name, record) = entry.map_err(unavailable)?;
            let what = || format!("bucket {}", shown(name.value()));
            read(&mut recount, what, decode(record.value()), |recount, bucket| {
                recount.bucket(&bucket);
            });
        }
        for entry in self.objects.range::<&[u8]>(..).map_err(unavailable)? {
            let (key, record) = entry.map_err(unavailable)?;
            reading.go_on().map_err(stopped)?;
            reading.add_record();
            let what = || format!("object {}", shown(key.value()));
            let found = split_object_key(key.value())
                .and_then(|place| decode(record.value()).map(|object| (place, object)));
            read(&mut recount, what, found, |recount, ((bucket, key), object)| {
                recount.object(&bucket, &key, &object);
            });
        }
        self.recount_uploads(&mut recount)?;
        match self.usage_rows() {
            Ok(rows) => rows.iter().for_each(|(bucket, usage)| recount.usage(bucket, *usage)),
            Err(error) => unreadable(&mut recount, format!("what buckets hold: {error}")),
        }
        Ok(recount.finish())
    }

    fn recount_stripes(&self, recount: &mut Recount) -> Result<(), CatalogError> {
        for entry in self.stripes.range::<u128>(..).map_err(unavailable)? {
            let (id, record) = entry.map_err(unavailable)?;
            let id = StripeId(id.value());
            let what = || format!("stripe {id}");
            read(recount, what, decode::<Held>(record.value()), |recount, held| {
                recount.stripe(id, &held.stripe, held.holders);
            });
        }
        for entry in self.garbage.range::<u128>(..).map_err(unavailable)? {
            let (id, record) = entry.map_err(unavailable)?;
            let id = StripeId(id.value());
            let found = garbage_due(record.value()).and_then(|(_, stripe)| garbage_stripe(stripe));
            let what = || format!("garbage {id}");
            read(recount, what, found, |recount, _| recount.garbage(id));
        }
        self.recount_leftovers(recount)
    }

    fn recount_leftovers(&self, recount: &mut Recount) -> Result<(), CatalogError> {
        for entry in self.leftovers.range::<LeftoverKey>(..).map_err(unavailable)? {
            let (id, index, node) = entry.map_err(unavailable)?.0.value();
            let Some(record) = self.stripes.get(id).map_err(unavailable)? else { continue };
            let place = decode::<Held>(record.value()).ok().map(|held| held.stripe);
            let place = place.and_then(|stripe| stripe.node(index.into()));
            if place == Some(NodeId(node)) {
                let name = FragmentId { stripe: StripeId(id), index };
                let reason = format!("fragment {name} is where it is a leftover");
                unreadable(recount, reason);
            }
        }
        Ok(())
    }

    fn recount_uploads(&self, recount: &mut Recount) -> Result<(), CatalogError> {
        for entry in self.uploads.range::<&[u8]>(..).map_err(unavailable)? {
            let (id, record) = entry.map_err(unavailable)?;
            let what = || format!("upload {}", shown(id.value()));
            let found = decode::<Upload>(record.value());
            if let Ok(upload) = &found {
                let place = (upload.bucket.as_bytes(), upload.key.as_bytes(), id.value());
                if self.uploads_by_key.get(place).map_err(unavailable)?.is_none() {
                    unreadable(recount, format!("{} has no place", what()));
                }
            }
            read(recount, what, found, |recount, upload| recount.upload(&upload));
        }
        let (places, uploads) = (self.uploads_by_key.len(), self.uploads.len());
        if places.map_err(unavailable)? != uploads.map_err(unavailable)? {
            unreadable(recount, "places of uploads and uploads differ in number".into());
        }
        for entry in self.parts.range::<(&[u8], u16)>(..).map_err(unavailable)? {
            let (place, record) = entry.map_err(unavailable)?;
            let (upload, number) = place.value();
            let what = || format!("part {number} of upload {}", shown(upload));
            let found = text(upload).and_then(|id| decode(record.value()).map(|part| (id, part)));
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
    recount.find(Finding::Unreadable { reason });
}

fn shown(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}
