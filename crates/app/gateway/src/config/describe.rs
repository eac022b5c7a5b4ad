use super::{
    kms::{KmsConfig, KmsLoginConfig},
    policy,
    pool::PoolConfig,
    quota,
    resolve::Config,
    tenant::{Grant, TenantConfig},
    tier::TierConfig,
    units::Size,
};
use ripstop_runtime::Layout;
use ripstop_s3::DefaultEncryption;

/// What a configuration comes to, line by line.
pub fn describe(config: &Config) -> Vec<String> {
    let mut lines = vec![
        format!("S3 on {}, region {}, admin on {}", config.listen, config.region, config.admin),
        format!(
            "data in {}, credentials in {}, store key in {}, keys of objects in {}",
            config.data.display(),
            config.credentials.display(),
            config.key_file().display(),
            config.object_keys_file().display()
        ),
    ];
    lines.extend(encryption(&config.encryption));
    lines.extend(config.pools.iter().flat_map(pool));
    lines.extend(config.tiers.iter().map(tier));
    lines.extend(config.tenants.iter().map(tenant));
    lines.extend(quota::describe(&config.quotas).iter().map(|quota| format!("quota of {quota}")));
    lines.extend(config.website_listen.iter().map(|at| format!("websites on {at}")));
    let webhooks = config.webhooks.iter();
    lines.extend(webhooks.map(|hook| format!("webhook {}: {}", hook.name, hook.url)));
    lines.extend(config.kms.iter().map(kms));
    lines.extend(config.kv.iter().map(|kv| format!("memcached on {}: {}", kv.listen, kv.place)));
    lines
}

fn encryption(default: &DefaultEncryption) -> Option<String> {
    match default {
        DefaultEncryption::Off => None,
        DefaultEncryption::Managed => Some("objects are encrypted: AES256".to_owned()),
        DefaultEncryption::Named(name) => {
            Some(format!("objects are encrypted: aws:kms, key {name}"))
        }
    }
}

fn kms(kms: &KmsConfig) -> String {
    let login = match &kms.login {
        KmsLoginConfig::Token(file) => format!("the token in {}", file.display()),
        KmsLoginConfig::AppRole { role_id, .. } => format!("role {role_id}"),
        KmsLoginConfig::Certificate { .. } => "a certificate".to_owned(),
    };
    let default = kms.default_key.as_ref().map(|key| format!(", key {key} by default"));
    let (url, mount) = (&kms.url, &kms.mount);
    format!("named keys at {url}{mount} by {login}{}", default.unwrap_or_default())
}

fn pool(pool: &PoolConfig) -> Vec<String> {
    let mut lines = vec![format!(
        "pool {}: layout {}, {}code {} over {} nodes, policy {}; {}",
        pool.name,
        pool.layout,
        if pool.encrypt { "encrypted, " } else { "" },
        pool.code,
        pool.nodes.len(),
        policy::describe(&pool.policy, &pool.policy_settings),
        survival(pool),
    )];
    lines.extend(pool.hot.iter().map(|tier| format!("  what is read often: in tier {tier}")));
    lines.extend(pool.task_log.iter().map(|path| format!("  task log: {}", path.display())));
    let nodes = pool.nodes.iter();
    lines.extend(
        nodes.map(|node| format!("  node {}: {}, {} lanes", node.name, node.place, node.lanes)),
    );
    lines
}

fn tier(tier: &TierConfig) -> String {
    let TierConfig { name, code, stored_max, .. } = tier;
    let servers = tier.servers();
    format!("tier {name}: {} at {servers} memcached servers, code {code}", Size(*stored_max))
}

fn tenant(tenant: &TenantConfig) -> String {
    let promise = tenant.promised.as_ref().map_or_else(
        || "promised nothing".into(),
        |promised| {
            let granted = match promised.grant {
                Grant::Lanes(lanes) => format!("{lanes} lanes"),
                Grant::Share(share) => format!("{share} of the lanes"),
            };
            format!("promised {} by {granted}", promised.promise)
        },
    );
    format!("tenant {}: {} access keys, {promise}", tenant.name, tenant.access_keys.len())
}

/// What a pool's stripes survive, and when a write is answered.
pub(super) fn survival(pool: &PoolConfig) -> String {
    let (code, f) = (pool.code, usize::from(pool.machine.answer_extra));
    let (n, k, spare) = (code.n(), code.k(), code.parity());
    match pool.layout {
        Layout::Spread => format!(
            "any {spare} nodes may be lost, a write is answered with {} of {n} fragments durable",
            k + f
        ),
        Layout::Shared => format!(
            "a stripe is one fragment at one node and lost with it; any {spare} of its {n} strips may \
             be damaged; a write is answered once the fragment is durable"
        ),
        Layout::Unique => format!(
            "the fragments of a stripe are at one node and lost with it; for every write the policy \
             chooses n of them, any k of which suffice, within {code}; it is answered with {f} more \
             than k durable, if there are that many"
        ),
    }
}
