//! A store, put together from a configuration.

use crate::{
    config::{self, Config, NodeConfig, NodePlace, PoolConfig},
    object_keys::object_keys_of,
    opened_catalog::OpenedCatalog,
    store_key::{StoreKeys, keys_of},
    watch::{VERSION, Watch},
};
use anyhow::{Context as _, Result, bail};
use futures::StreamExt as _;
use ripstop_block::Blocks;
use ripstop_catalog::{Catalog, Change};
use ripstop_delay::{DelayModel, Preset, Recorded, Replay};
use ripstop_gateway::NodeSpec;
use ripstop_hot::{HotPool, HotTier};
use ripstop_keeper::{Keeper, LifecycleReader};
use ripstop_kms::Kms;
use ripstop_model::{NodeId, PoolId};
use ripstop_node::{
    AdmitError, BucketCredentials, BucketNode, BucketSettings, Delay, DelayFactor, Directory,
    DirectorySettings, Node, NodeMark, PutDurability,
};
use ripstop_recording::Beginning;
use ripstop_roster::{PoolGauges, PoolNames, Roster};
use ripstop_runtime::{Aftermaths, Memory, Origin, Pins, Pool, PoolNode, Seals, Spent, aftermaths};
use ripstop_s3::{LIFECYCLE_DOCUMENT, ObjectKeys, lifecycle_rules};
use ripstop_store::{POOL_NAME_PREFIX, Store, identity};
use std::{
    collections::BTreeMap,
    fs,
    path::PathBuf,
    sync::Arc,
    time::{Duration, UNIX_EPOCH},
};

/// Everything that serves, put together.
#[derive(Debug)]
pub struct Assembly {
    /// What is stored where.
    pub catalog: OpenedCatalog,
    /// Objects over all pools.
    pub store: Store,
    /// What is done beside requests, for as long as somebody has this.
    pub keeper: Keeper,
    /// The pools by name, in the order of the configuration.
    pub pools: Vec<(String, Pool)>,
    /// What is known of each pool, in the same order; lent to those that watch.
    pub rosters: Vec<Arc<Roster>>,
    /// What rosters look at, which they do not keep.
    _watched: Vec<Arc<(Pool, Keeper)>>,
    /// The one budget of strips.
    pub memory: Memory,
    /// Where time went.
    pub spent: Arc<Spent>,
    /// Of the nodes that are made slow, by name.
    pub delays: BTreeMap<String, DelayFactor>,
    /// Nodes that are folders, by name.
    pub directories: Vec<(String, Arc<Directory>)>,
    /// Memory tiers in which pools keep what is read often.
    pub tiers: Vec<HotTier>,
    /// What pools see of them.
    pub hot: Vec<HotPool>,
    /// Whether the file of the store's key was made just now.
    pub key_is_new: bool,
    /// What wraps the keys of encrypted objects.
    pub object_keys: ObjectKeys,
    /// Where named ones may be; nobody is asked until a gateway serves.
    pub kms: Kms,
    /// Whether their file was made just now.
    pub object_keys_are_new: bool,
}

impl Assembly {
    /// Waits until what was answered is all stored, and the memory of every stripe is free; for as
    /// long as `within` at most.
    pub async fn settle(&self, within: Duration) {
        const LOOK_EVERY: Duration = Duration::from_millis(5);
        let end = ripstop_host::now() + within;
        while !self.memory.is_free() && ripstop_host::now() < end {
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
}

impl Assembly {
    /// Refuses to begin a new catalog over nodes that hold fragments: they would be nobody's.
    pub async fn refuse_orphans(&self) -> Result<()> {
        // Of a database that is empty still, another gateway may have marked them.
        let own = self.directories.iter().filter(|_| !self.catalog.is_shared());
        for (name, directory) in own {
            if let Ok(Some(mark)) = directory.mark().await {
                bail!(
                    "the folder of node {name:?} is marked as {mark}, but the data folder has no catalog: put \
                     the catalog back, rebuild it with `ripstop rebuild`, or empty the nodes, `.ripstop-node` \
                     included"
                );
            }
        }
        for (name, pool) in &self.pools {
            for (_, node) in pool.nodes() {
                if let Some(Ok(found)) = node.list().next().await {
                    bail!(
                        "pool {name:?} holds fragments ({}), but the data folder has no catalog: put a backup \
                         back with `ripstop restore FILE`, rebuild it with `ripstop rebuild`, or empty the \
                         nodes",
                        found.name
                    );
                }
            }
        }
        Ok(())
    }
}

impl Assembly {
    /// Marks the folders of nodes as this store's; refuses to serve over one that is not for us to
    /// mark.
    pub async fn admit_nodes(&self) -> Result<()> {
        for (name, directory) in &self.directories {
            match directory.admit().await {
                Ok(()) => close_folders(name.clone(), directory.path().to_owned()),
                Err(foreign @ AdmitError::Foreign { .. }) => {
                    return Err(foreign).with_context(|| format!("node {name:?}"));
                }
                Err(AdmitError::Node(error)) => {
                    tracing::warn!(node = name, %error, "the node's folder cannot be used");
                }
            }
        }
        Ok(())
    }
}

/// Nodes with the numbers that the catalog gave their names.
pub struct NumberedNode {
    /// The number.
    pub id: NodeId,
    /// The name.
    pub name: String,
    /// Tasks that it serves at once.
    pub lanes: u16,
    /// The node.
    pub node: Arc<dyn Node>,
    /// The folder beneath it, if it is one.
    pub directory: Option<Arc<Directory>>,
    /// How slow it is made.
    pub delay: Option<DelayFactor>,
}

/// Puts a store together over the configured nodes. Nothing is kept in memory tiers: that is for
/// who serves.
pub async fn assemble(config: &Config, watch: &dyn Watch) -> Result<Assembly> {
    assemble_over(config, OpenedCatalog::open(config).await?, watch, Vec::new()).await
}

/// The same over a catalog that is open already, its pools keeping what is read often in these
/// tiers, where they are configured to.
pub async fn assemble_over(
    config: &Config,
    catalog: impl Into<OpenedCatalog>,
    watch: &dyn Watch,
    tiers: Vec<HotTier>,
) -> Result<Assembly> {
    let opened = catalog.into();
    let catalog = watch.catalog(opened.grouped());
    let (memory, pins, spent) =
        (Memory::new(config.strip_memory()), Pins::default(), Arc::default());
    ripstop_host::spawn(trim(memory.blocks().clone()));
    let (to, aftermath) = aftermaths();
    let StoreKeys { seals, is_new: key_is_new } = keys_of(config, &*catalog).await?;
    let (object_keys, object_keys_are_new) = object_keys_of(config, &*catalog).await?;
    let store = identity(&*catalog).await?;
    let (mut pools, mut rosters) = (Vec::new(), Vec::new());
    let (mut bucket_pools, mut delays) = (BTreeMap::new(), BTreeMap::new());
    let (mut directories, mut hot) = (Vec::new(), Vec::new());
    let mut settings = config.store.clone();
    for pool in &config.pools {
        let id = pool_id(&*catalog, pool).await?;
        let nodes = number_nodes(&*catalog, pool, Some(store), memory.blocks()).await?;
        let folder = |node: &NumberedNode| Some((node.name.clone(), node.directory.clone()?));
        directories.extend(nodes.iter().filter_map(folder));
        let slow = |node: &NumberedNode| Some((node.name.clone(), node.delay.clone()?));
        delays.extend(nodes.iter().filter_map(slow));
        let origin = Origin { store, pool: id };
        let shared =
            Shared { seals: &seals, memory: &memory, spent: &spent, pins: &pins, aftermath: &to };
        let seen = hot_pool(pool, &nodes, &tiers);
        let (built, roster) = build_pool(pool, origin, nodes, watch, &shared)?;
        let built = match &seen {
            Some(hot) => built.with_hot(Arc::new(hot.clone())),
            None => built,
        };
        hot.extend(seen);
        rosters.push(roster);
        settings.packs.insert(id, pool.packs.clone());
        settings.classes.extend(pool.storage_class.clone().map(|class| (class, id)));
        bucket_pools.extend(pool.buckets.iter().map(|bucket| (bucket.clone(), id)));
        pools.push((pool.name.clone(), built));
    }
    let store = Store::new(
        catalog,
        pools.iter().map(|(_, pool)| pool.clone()).collect(),
        bucket_pools,
        memory.clone(),
        pins,
        settings,
    );
    let keeper = Keeper::begin(store.clone(), aftermath, config.keeper.clone());
    keeper.follow_rules(LifecycleReader { document: LIFECYCLE_DOCUMENT, read: lifecycle_rules });
    let watched = watch_pools(&rosters, &pools, &keeper);
    Ok(Assembly {
        catalog: opened,
        store,
        keeper,
        pools,
        rosters,
        _watched: watched,
        memory,
        spent,
        delays,
        directories,
        tiers,
        hot,
        key_is_new,
        object_keys,
        kms: Kms::default(),
        object_keys_are_new,
    })
}

/// Has each roster look at its pool and at what is done for it, for as long as somebody has what
/// this answers.
fn watch_pools(
    rosters: &[Arc<Roster>],
    pools: &[(String, Pool)],
    keeper: &Keeper,
) -> Vec<Arc<(Pool, Keeper)>> {
    let mut watched = Vec::with_capacity(pools.len());
    for (roster, (_, pool)) in rosters.iter().zip(pools) {
        let looked_at = Arc::new((pool.clone(), keeper.clone()));
        let weak = Arc::downgrade(&looked_at);
        roster.watch(move || {
            let (pool, keeper) = &*weak.upgrade()?;
            let (moves, packs) = (keeper.moves_of(pool.id()), keeper.packs_of(pool.id()));
            Some(PoolGauges { moves, packs, ..PoolGauges::of(pool) })
        });
        watched.push(looked_at);
    }
    watched
}

/// Gives back blocks that nobody used for a while, for as long as the program runs.
async fn trim(blocks: Blocks) {
    /// How long memory stays mapped after its last use.
    const IDLE: Duration = Duration::from_secs(30);
    loop {
        tokio::time::sleep(IDLE / 2).await;
        blocks.trim(IDLE);
    }
}

/// Names are given to nodes and pools alike; a pool's has a prefix that no node's can have.
pub async fn pool_id(catalog: &dyn Catalog, pool: &PoolConfig) -> Result<PoolId> {
    let number = number(catalog, format!("{POOL_NAME_PREFIX}{}", pool.name)).await?;
    Ok(PoolId(number.0))
}

async fn number(catalog: &dyn Catalog, name: String) -> Result<NodeId> {
    let now_ms = ripstop_host::wall().duration_since(UNIX_EPOCH)?.as_millis() as u64;
    let applied = catalog.commit_one(now_ms, Change::NameNode { name }).await?;
    applied.node.context("the catalog gives every name a number")
}

/// The nodes of a pool, each with its number; folders are to be marked as of `store`, if that is
/// known.
pub async fn number_nodes(
    catalog: &dyn Catalog,
    pool: &PoolConfig,
    store: Option<u64>,
    blocks: &Blocks,
) -> Result<Vec<NumberedNode>> {
    let mut nodes = Vec::with_capacity(pool.nodes.len());
    for node in &pool.nodes {
        let id = number(catalog, node.name.clone()).await?;
        let mark = store.map(|store| NodeMark { store, node: node.name.clone() });
        let built =
            build_node(node, mark, blocks).with_context(|| format!("node {:?}", node.name))?;
        let BuiltNode { node: built, directory, delay } = built;
        let (name, lanes) = (node.name.clone(), node.lanes);
        nodes.push(NumberedNode { id, name, lanes, node: built, directory, delay });
    }
    Ok(nodes)
}

/// What a pool sees of the tier in which it keeps what is read often.
fn hot_pool(config: &PoolConfig, nodes: &[NumberedNode], tiers: &[HotTier]) -> Option<HotPool> {
    let tier = tiers.iter().find(|tier| Some(tier.name()) == config.hot.as_deref())?;
    let price = |node: &NumberedNode| {
        let named = config.nodes.iter().find(|named| named.name == node.name)?;
        Some((node.id, named.price))
    };
    Some(HotPool::new(tier, &config.name, nodes.iter().filter_map(price).collect()))
}

/// What all pools share.
struct Shared<'a> {
    seals: &'a Seals,
    memory: &'a Memory,
    spent: &'a Arc<Spent>,
    pins: &'a Pins,
    aftermath: &'a Aftermaths,
}

fn build_pool(
    config: &PoolConfig,
    origin: Origin,
    nodes: Vec<NumberedNode>,
    watch: &dyn Watch,
    shared: &Shared<'_>,
) -> Result<(Pool, Arc<Roster>)> {
    let policy = ripstop_policy::by_name(&config.policy, &config.policy_settings)?;
    let beginning = Beginning {
        program: VERSION.into(),
        pool: config.name.clone(),
        settings: config.machine,
        nodes: nodes.iter().map(|node| NodeSpec { id: node.id, lanes: node.lanes }).collect(),
        policy: config.policy.clone(),
        policy_settings: config.policy_settings,
    };
    let roster = Arc::new(Roster::new(PoolNames {
        name: config.name.clone(),
        code: config.code,
        nodes_needed: config.nodes_needed(),
        nodes: nodes.iter().map(|node| (node.id, node.name.clone())).collect(),
    }));
    let nodes = nodes
        .into_iter()
        .map(|NumberedNode { id, name, lanes, node, .. }| PoolNode {
            id,
            lanes,
            node: watch.node(&name, node),
        })
        .collect();
    let pool = Pool::new(
        origin,
        config.code,
        config.machine,
        policy,
        nodes,
        roster.observer(watch.pool(&roster)),
        shared.spent.clone(),
        shared.memory.blocks().clone(),
        shared.pins.clone(),
        shared.aftermath.clone(),
    );
    let pool = pool.with_layout(config.layout).with_seals(shared.seals.clone(), config.encrypt);
    let pool = match watch.witness(&beginning) {
        Some(witness) => pool.with_witness(witness),
        None => pool,
    };
    Ok((pool, roster))
}

struct BuiltNode {
    node: Arc<dyn Node>,
    directory: Option<Arc<Directory>>,
    delay: Option<DelayFactor>,
}

fn build_node(config: &NodeConfig, mark: Option<NodeMark>, blocks: &Blocks) -> Result<BuiltNode> {
    let mut directory = None;
    let node: Arc<dyn Node> = match &config.place {
        NodePlace::Directory { path, durable, .. } => {
            let durability = if *durable { PutDurability::Full } else { PutDurability::Relaxed };
            let settings = DirectorySettings { durability, lanes: config.lanes, mark };
            let built = Directory::new(path.clone(), settings).with_blocks(blocks.clone());
            directory.insert(Arc::new(built)).clone()
        }
        NodePlace::Memory { bytes_max } => Arc::new(ripstop_node::MemoryNode::new(*bytes_max)),
        NodePlace::Bucket(bucket) => {
            if ripstop_node::is_exposed(&bucket.endpoint) {
                tracing::warn!(
                    node = config.name,
                    endpoint = bucket.endpoint,
                    "data to and from this node can be read and changed on its way: https:// prevents that"
                );
            }
            Arc::new(build_bucket(bucket)?)
        }
    };
    match &config.delay {
        None => Ok(BuiltNode { node, directory, delay: None }),
        Some(delay) => {
            let model = delay_model(&delay.model)?;
            let node = Delay::new(node, model, delay.seed, delay.scale);
            let factor = node.factor();
            Ok(BuiltNode { node: Arc::new(node), directory, delay: Some(factor) })
        }
    }
}

/// Closes the folders of a directory node to other users, beside everything else: its disk may be
/// slow, or hang.
fn close_folders(node: String, path: PathBuf) {
    let close = move || match ripstop_node::close_to_others(&path) {
        Ok(0) => {}
        Ok(folders) => {
            tracing::info!(
                node,
                folders,
                "folders were open to other users and are closed to them now"
            );
        }
        Err(error) => {
            tracing::warn!(node, %error, "folders of this node may be open to other users");
        }
    };
    let begun = ripstop_host::thread("close-folders", close);
    if let Err(error) = begun {
        tracing::warn!(%error, "folders of a node may be open to other users");
    }
}

/// A preset by name, or a recorded log by its path.
fn delay_model(name: &str) -> Result<Box<dyn DelayModel>> {
    if let Ok(preset) = name.parse::<Preset>() {
        return Ok(preset.model());
    }
    let names = Preset::ALL.map(Preset::name).join(", ");
    let wanted = || format!("delay {name:?} is neither a preset ({names}) nor a log's path");
    let csv = fs::read_to_string(name).with_context(wanted)?;
    let recorded = Recorded::parse(&csv, Replay::Sampled);
    Ok(Box::new(recorded.with_context(|| format!("delay log {name}"))?))
}

fn build_bucket(config: &config::BucketTable) -> Result<BucketNode> {
    let credentials = match &config.credentials {
        Some(file) => BucketCredentials::from_file(file, "default"),
        None => BucketCredentials::from_environment("AWS"),
    };
    let settings = BucketSettings {
        endpoint: config.endpoint.clone(),
        region: config.region.clone(),
        bucket: config.name.clone(),
        prefix: config.prefix.clone(),
        credentials: credentials.context("credentials")?,
        // Servers of one's own have no certificates; beyond this machine that is said at the start.
        allow_http: true,
        path_style: true,
        sign_payload: false,
    };
    Ok(BucketNode::new(settings)?)
}
