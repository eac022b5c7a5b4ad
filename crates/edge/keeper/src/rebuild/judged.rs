//! Judges every stripe of a survey; sorts what is told of buckets and keys by name.

use super::{
    error::RebuildError,
    packs::{Asked, PACKS_AT_ONCE},
    report::RebuildReport,
    roster::Roster,
    scratch::{Records, Scratch, ScratchError},
    sighting::{Digest, Kept, Sighting},
    sorting::{Sorted, Sorter},
    survey::{Survey, Testimony},
    telling::{Name, Standing, Told, ToldRecord},
    verdict::{Believed, Verdict, judge, needed_by},
};
use redb::{
    Database, ReadOnlyTable, ReadableDatabase as _, Table, TableDefinition, backends::FileBackend,
};
use ripstop_catalog::{Stamp, Stripe};
use ripstop_form::Unreadable;
use ripstop_model::{NodeId, StripeId};
use ripstop_runtime::Layout;
use ripstop_store::{PackDirectory, PackEntry, PackMark, Telling, stripe_record};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::Arc,
};
use tokio::sync::{mpsc, oneshot};

/// Stripe → [`Standing`].
const STRIPES: TableDefinition<u128, &[u8]> = TableDefinition::new("stripes");
/// Bytes of the pages of that table that are in memory.
const STRIPES_CACHE: usize = 32 << 20;
/// Different things that one fragment's headers are heard to say.
const SAID_MAX: usize = 2;

/// What is believed of the stripes, and what they tell, by name.
#[derive(Debug)]
pub(super) struct Judged {
    witnesses: Witnesses,
    stripes: ReadOnlyTable<u128, &'static [u8]>,
    _database: Database,
    pub(super) tellings: Sorted,
    records: Records,
    /// The latest stamp that anything has, believed or not.
    pub(super) latest: Option<Stamp>,
}

/// Who was asked, and what came of it.
#[derive(Debug)]
struct Witnesses {
    roster: Arc<Roster>,
    nodes: BTreeMap<NodeId, Testimony>,
    store: u64,
}

impl Witnesses {
    /// Whether a node of a pool may have lost a fragment of a stripe.
    fn may_have_lost(&self, node: NodeId, stripe: StripeId) -> bool {
        self.nodes.get(&node).is_none_or(|node| node.may_have_lost(self.store, stripe))
    }

    /// Whether a stripe may ever have had as many fragments as it needs, given those at nodes of
    /// its pool that list some.
    fn may_have_been(
        &self,
        stripe: StripeId,
        pool: usize,
        needed: usize,
        seen: &[Sighting],
    ) -> bool {
        let pool = &self.roster.pools[pool];
        let listing: BTreeSet<NodeId> = seen.iter().map(|sighting| sighting.node).collect();
        let lossy = |node: &NodeId| self.may_have_lost(*node, stripe);
        let others = pool.nodes.iter().map(|node| node.id).filter(|id| !listing.contains(id));
        let lossy = others.filter(lossy).count();
        match pool.layout {
            Layout::Spread => listing.len() + lossy >= needed,
            // Where one node has all, it may have lost some and kept others.
            Layout::Shared | Layout::Unique => {
                let fragments: BTreeSet<u8> = seen.iter().map(|it| it.name.index).collect();
                let own = listing.iter().any(|node| self.may_have_lost(*node, stripe));
                fragments.len() >= needed || lossy > 0 || own
            }
        }
    }

    /// The same of a stripe that no node lists.
    fn may_be_gone(&self, stripe: StripeId) -> bool {
        let mut pools = 0..self.roster.pools.len();
        pools.any(|pool| self.may_have_been(stripe, pool, needed_by(&self.roster, pool), &[]))
    }
}

impl Judged {
    /// Judges what was surveyed. `store` is the number of the store whose stripes are wanted; what
    /// packs tell is asked for through `ask`.
    pub(super) fn new(
        survey: Survey,
        scratch: &Arc<Scratch>,
        store: u64,
        report: &mut RebuildReport,
        ask: mpsc::Sender<Asked>,
    ) -> Result<Self, RebuildError> {
        let Survey { roster, nodes, mut sightings, records } = survey;
        let path = scratch.path("stripes");
        let failed = |error: redb::Error| table_error(&path, error);
        let file = Scratch::create_file(&path)?;
        let mut builder = Database::builder();
        builder.set_cache_size(STRIPES_CACHE);
        let file = FileBackend::new(file).map_err(|error| failed(error.into()))?;
        let database = builder.create_with_backend(file).map_err(|error| failed(error.into()))?;
        let mut txn = database.begin_write().map_err(|error| failed(error.into()))?;
        // It does not outlive the rebuild.
        txn.set_durability(redb::Durability::None).map_err(|error| failed(error.into()))?;
        let witnesses = Witnesses { roster, nodes, store };
        let (tellings, latest) = {
            let table = txn.open_table(STRIPES).map_err(|error| failed(error.into()))?;
            let tellings = Sorter::new(scratch, "told");
            let mut judging = Judging {
                witnesses: &witnesses,
                path: &path,
                table,
                tellings,
                records: &records,
                report,
                latest: None,
                ask,
                packs: Vec::new(),
            };
            judging.take(&mut sightings)?;
            judging.read_packs()?;
            (judging.tellings.finish()?, judging.latest)
        };
        txn.commit().map_err(|error| failed(error.into()))?;
        let view = database.begin_read().map_err(|error| failed(error.into()))?;
        let stripes = view.open_table(STRIPES).map_err(|error| failed(error.into()))?;
        Ok(Self { witnesses, stripes, _database: database, tellings, records, latest })
    }

    /// What is believed of a stripe that an object names.
    pub(super) fn standing(&self, stripe: StripeId) -> Result<Standing, RebuildError> {
        let found = self.stripes.get(stripe.0);
        match found.map_err(|error| table_error(Path::new("stripes"), error.into()))? {
            Some(found) => Standing::decode(found.value()),
            None if self.witnesses.may_be_gone(stripe) => Ok(Standing::Lost),
            None => Ok(Standing::Unfinished),
        }
    }

    /// What a stripe tells, once more.
    pub(super) fn telling(&self, record: ToldRecord) -> Result<Telling, RebuildError> {
        read(&self.records, record)?.map_err(|_| RebuildError::Scratch)
    }
}

/// What a record tells, if it can be read.
fn read(
    records: &Records,
    record: ToldRecord,
) -> Result<Result<Telling, Unreadable>, RebuildError> {
    Ok(match record {
        ToldRecord::Inline(record) => Telling::decode(&record),
        ToldRecord::Apart(at, len) => Telling::decode(&records.read(at, len)?),
        ToldRecord::Deletion => return Err(RebuildError::Scratch),
    })
}

fn table_error(path: &Path, error: redb::Error) -> RebuildError {
    let source =
        if let redb::Error::Io(source) = error { source } else { std::io::Error::other(error) };
    ScratchError::new(path, source).into()
}

/// The judging of one stripe after the other.
struct Judging<'a> {
    witnesses: &'a Witnesses,
    path: &'a Path,
    table: Table<'a, u128, &'static [u8]>,
    tellings: Sorter,
    records: &'a Records,
    report: &'a mut RebuildReport,
    latest: Option<Stamp>,
    ask: mpsc::Sender<Asked>,
    /// Believed, and not asked yet what they tell.
    packs: Vec<(StripeId, Stripe, PackMark)>,
}

impl Judging<'_> {
    fn take(&mut self, sightings: &mut Sorted) -> Result<(), RebuildError> {
        let mut seen: Vec<Sighting> = Vec::new();
        while let Some(item) = sightings.next()? {
            let sighting = Sighting::decode(item).ok_or(RebuildError::Scratch)?;
            if seen.first().is_some_and(|first| first.name.stripe != sighting.name.stripe) {
                self.close(&seen)?;
                seen.clear();
            }
            // A listing may name one fragment many times.
            let is_same =
                |other: &&Sighting| (other.node, other.name) == (sighting.node, sighting.name);
            let heard: Vec<&Sighting> = seen.iter().rev().take_while(is_same).collect();
            let digest = |one: &Sighting| one.said.as_ref().map(|said| said.digest);
            if heard.len() < SAID_MAX && heard.iter().all(|it| digest(it) != digest(&sighting)) {
                seen.push(sighting);
            }
        }
        if seen.is_empty() { Ok(()) } else { self.close(&seen) }
    }

    fn close(&mut self, seen: &[Sighting]) -> Result<(), RebuildError> {
        let id = seen[0].name.stripe;
        let (digest, standing) = match judge(&self.witnesses.roster, self.witnesses.store, seen) {
            Verdict::Foreign => {
                self.report.foreign += 1;
                return Ok(());
            }
            Verdict::Believed(believed) => {
                self.note_differing(seen, &believed.digest);
                (Some(believed.digest), Standing::Believed(self.record(&believed)))
            }
            Verdict::TooFew { digest, pool, needed } => {
                let may_be = self.witnesses.may_have_been(id, pool, needed, seen);
                (digest, if may_be { Standing::Lost } else { Standing::Unfinished })
            }
            Verdict::Disputed(why) => {
                let told = self.claimed(seen)?;
                self.report.disputed.note(|| format!("stripe {id}: {why}{told}"));
                (None, Standing::Disputed)
            }
        };
        self.stands(id, &standing)?;
        match digest {
            Some(digest) => self.tell(id, seen, &digest, standing),
            None => Ok(()),
        }
    }

    /// Notes what is believed of a stripe.
    fn stands(&mut self, id: StripeId, standing: &Standing) -> Result<(), RebuildError> {
        let bytes = standing.encode();
        let inserted = self.table.insert(id.0, bytes.as_slice());
        inserted.map(drop).map_err(|error| table_error(self.path, error.into()))
    }

    fn record(&self, believed: &Believed) -> Stripe {
        let Believed { facts, pool, nodes, .. } = believed;
        // Numbers of pools are the catalog's: in headers they are the lost one's.
        let pool = self.witnesses.roster.pools[*pool].id;
        stripe_record(pool, facts.shape, facts.cut, facts.header_len, facts.sealing, nodes)
    }

    fn note_differing(&mut self, seen: &[Sighting], believed: &Digest) {
        for sighting in seen {
            if sighting.said.as_ref().is_some_and(|said| said.digest != *believed) {
                let node = self.witnesses.roster.name_of(sighting.node);
                self.report.differing.note(|| format!("{} at node {node}", sighting.name));
            }
        }
    }

    /// Puts what a stripe tells where its name sorts.
    fn tell(
        &mut self,
        id: StripeId,
        seen: &[Sighting],
        digest: &Digest,
        standing: Standing,
    ) -> Result<(), RebuildError> {
        let Some(record) = record(seen, digest) else {
            if !matches!(standing, Standing::Believed(_)) {
                self.report.note(&standing, || format!("what stripe {id} told of"));
            }
            return Ok(());
        };
        if record.is_empty() {
            return Ok(());
        }
        let telling = match read(self.records, record.clone())? {
            Ok(telling) if telling.told_by() == id && telling.is_sound() => telling,
            Ok(_) => {
                self.report.damaged += 1;
                return Ok(());
            }
            Err(why) => {
                self.report.unreadable.note(|| format!("what stripe {id} tells: {why}"));
                return Ok(());
            }
        };
        let record = match telling {
            Telling::Deletions { .. } => ToldRecord::Deletion,
            Telling::Bucket(_) | Telling::Object { .. } => record,
            Telling::Pack(mark) => return self.take_pack(id, mark, standing),
        };
        let told = Told { standing, record };
        for (name, stamp) in Name::of(&telling) {
            self.latest = self.latest.max(Some(stamp));
            self.tellings.push(&told.encode(&name, stamp, id))?;
        }
        Ok(())
    }

    /// Asks what a pack tells, if it is believed, together with some others.
    fn take_pack(
        &mut self,
        id: StripeId,
        mark: PackMark,
        standing: Standing,
    ) -> Result<(), RebuildError> {
        self.latest = self.latest.max(Some(Stamp::of(id)));
        let Standing::Believed(mut stripe) = standing else {
            self.report.note_many(&standing, mark.members.into(), || pack_name(id, &mark));
            return Ok(());
        };
        mark.note(&mut stripe);
        self.stands(id, &Standing::Believed(stripe.clone()))?;
        self.packs.push((id, stripe, mark));
        if self.packs.len() < PACKS_AT_ONCE { Ok(()) } else { self.read_packs() }
    }

    /// Puts what packs tell where its names sort.
    fn read_packs(&mut self) -> Result<(), RebuildError> {
        let mut answers = Vec::with_capacity(self.packs.len());
        for (id, stripe, mark) in std::mem::take(&mut self.packs) {
            let (answer, answered) = oneshot::channel();
            let asked = Asked { id, stripe: stripe.clone(), mark, answer };
            // Who answers outlives who asks.
            self.ask.blocking_send(asked).map_err(|_| RebuildError::Scratch)?;
            answers.push((id, stripe, mark, answered));
        }
        for (id, stripe, mark, answered) in answers {
            let Ok(Some(PackDirectory { entries, .. })) = answered.blocking_recv() else {
                self.report.lost.note_many(mark.members.into(), || pack_name(id, &mark));
                continue;
            };
            for entry in entries {
                let (name, stamp) = (Name::of_entry(&entry), entry.stamp());
                let record = match entry {
                    PackEntry::Deletion(_) => ToldRecord::Deletion,
                    PackEntry::Object { bucket, key, object } => {
                        let telling = Telling::Object { bucket, key, object };
                        ToldRecord::Inline(telling.encode().to_vec())
                    }
                };
                let told = Told { standing: Standing::Believed(stripe.clone()), record };
                self.latest = self.latest.max(Some(stamp));
                self.tellings.push(&told.encode(&name, stamp, id))?;
            }
        }
        Ok(())
    }

    /// What disputed headers claim to tell of, for the operator.
    fn claimed(&self, seen: &[Sighting]) -> Result<String, RebuildError> {
        let mut names = BTreeSet::new();
        for said in seen.iter().filter_map(|sighting| sighting.said.as_ref()) {
            if let Some(found) = record(seen, &said.digest)
                && let Ok(telling) = read(self.records, found)?
            {
                names.extend(Name::of(&telling).iter().map(|(name, _)| name.to_string()));
            }
        }
        let names: Vec<String> = names.into_iter().collect();
        Ok(if names.is_empty() {
            String::new()
        } else {
            format!("; told of: {}", names.join(", "))
        })
    }
}

/// What a pack is called in reports: nobody knows any more what it told of.
fn pack_name(id: StripeId, mark: &PackMark) -> String {
    format!("{} keys that pack {id} told of", mark.members)
}

/// Where the record is of those that say this.
fn record(seen: &[Sighting], digest: &Digest) -> Option<ToldRecord> {
    let said = seen.iter().filter_map(|sighting| sighting.said.as_ref());
    said.filter(|said| said.digest == *digest).find_map(|said| match &said.kept {
        Kept::Inline(record) => Some(ToldRecord::Inline(record.clone())),
        Kept::Apart(at) => Some(ToldRecord::Apart(*at, said.facts.record_len)),
        Kept::Elsewhere => None,
    })
}
