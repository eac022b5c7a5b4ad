//! A rebuild finds what the catalog holds.

use crate::{session::Stage, watch::NODE_PREFIX, world::World};
use anyhow::{Context as _, Result, ensure};
use ripstop_assembly::{config::PoolConfig, note_keys, number_nodes, pool_id, reading_seals};
use ripstop_block::Blocks;
use ripstop_catalog::{
    Attributes, Audited as _, Catalog, CatalogSettings, Embedded, ListingRequest, Object, Place,
    PowerCutDisk,
};
use ripstop_host::{Host, rehearse};
use ripstop_keeper::{RebuildProgress, SurveyedNode, SurveyedPool, rebuild};
use ripstop_node::{MemoryNode, Node as _};
use std::{collections::BTreeMap, sync::Arc};

/// More buckets, or versions, than a drill has.
const ALL: usize = 1000;

/// What a catalog holds: by bucket and key; a bucket under the empty key, as if it were an object
/// whose tags are what is configured of it.
type HeldObjects = BTreeMap<(String, String), Object>;

async fn held(catalog: &dyn Catalog) -> Result<HeldObjects> {
    let mut held = HeldObjects::new();
    for bucket in catalog.buckets("", ALL).await? {
        let request =
            ListingRequest { bucket: bucket.name.clone(), max: ALL, ..Default::default() };
        for listed in catalog.versions(&request).await?.versions {
            let place = Place::of_version(&bucket.name, &listed.key, listed.version).into_owned();
            let found = catalog.object(&place.bucket, &place.key).await?;
            let found = found.context("what is listed is there")?;
            held.insert((place.bucket.into_owned(), place.key.into_owned()), found.object);
        }
        let mut tags = bucket.documents.pairs().to_vec();
        tags.push(("versioning".into(), format!("{:?}", bucket.versioning)));
        let attributes = Attributes { tags, ..Attributes::default() };
        // Who finds a bucket as it is wanted may have told so again.
        let like = Object { attributes, ..Object::default() };
        held.insert((bucket.name, String::new()), like);
    }
    Ok(held)
}

/// Compares what is a catalog for several gateways with what a rebuild finds.
pub(crate) fn compare_with(stage: &Stage, catalog: &dyn Catalog) -> Result<()> {
    rehearse(async {
        let host = Host::with_threads(stage.plan.seed, stage.world.wall());
        host.run(found(stage, Some(catalog))).await
    })
    .map(drop)
}

/// Compares the catalog with what a rebuild finds; which takes its place if that is lost.
pub(crate) fn compare(stage: &Stage, is_lost: bool) -> Result<()> {
    // A judge asks while it holds its thread; who answers it does nothing else meanwhile.
    let content = rehearse(async {
        let host = Host::with_threads(stage.plan.seed, stage.world.wall());
        host.run(found(stage, None)).await
    })?;
    if is_lost {
        stage.world.set_disk(content);
    }
    Ok(())
}

/// The nodes of a pool, each with what it holds in the world.
async fn nodes_of(again: &Embedded, pool: &PoolConfig, world: &World) -> Result<Vec<SurveyedNode>> {
    let numbered = number_nodes(again, pool, None, &Blocks::default()).await?;
    let mut nodes = Vec::new();
    for one in numbered {
        let node = MemoryNode::new(1 << 30);
        let number = one.name.strip_prefix(NODE_PREFIX).and_then(|number| number.parse().ok());
        let fragments = world.held(number.context("a node's name")?).fragments.clone();
        for (name, fragment) in fragments {
            node.put(name, vec![fragment.bytes]).await?;
        }
        nodes.push(SurveyedNode { id: one.id, name: one.name, node: Arc::new(node) });
    }
    Ok(nodes)
}

/// What a rebuild finds, compared with a catalog; if none is told, with the one on the disk.
async fn found(stage: &Stage, catalog: Option<&dyn Catalog>) -> Result<Vec<u8>> {
    let Stage { world, config, .. } = stage;
    let disk = PowerCutDisk::new(Vec::new(), usize::MAX);
    let again = Embedded::open_on(disk.clone(), CatalogSettings::default())?;
    let mut pools = Vec::new();
    for pool in &config.pools {
        let id = pool_id(&again, pool).await?;
        let nodes = nodes_of(&again, pool, world).await?;
        let (name, code, layout) = (pool.name.clone(), pool.code, pool.layout);
        pools.push(SurveyedPool { id, name, code, layout, nodes });
    }
    let seals = reading_seals(config, false)?;
    let (progress, scratch) = (RebuildProgress::default(), config.data.join("scratch"));
    let report = rebuild(&again, pools, &scratch, &progress, &seals).await?;
    note_keys(config, &again).await?;
    let known = if let Some(catalog) = catalog {
        held(catalog).await?
    } else {
        let disk = PowerCutDisk::new(world.disk(), usize::MAX);
        held(&Embedded::open_on(disk, CatalogSettings::default())?).await?
    };
    let (held, found) = (known, held(&again).await?);
    for name in held.keys().chain(found.keys()) {
        let (held, found) = (held.get(name), found.get(name));
        ensure!(
            held == found,
            "{name:?}\nthe catalog holds {held:?}\na rebuild finds {found:?}\n{report:?}"
        );
    }
    let audit = again.audit().await?;
    ensure!(audit.is_clean(), "of what a rebuild found the audit finds {:?}", audit.findings);
    drop(again);
    Ok(disk.seen())
}
