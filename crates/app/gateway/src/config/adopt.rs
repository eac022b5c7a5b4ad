use super::{address::TlsFiles, kv::KvConfig, pool::PoolConfig, resolve::Config, tier::TierConfig};

impl Config {
    /// This configuration with everything from `read` that can change while a gateway serves. Where
    /// that is not
    /// `read` itself, the rest takes a restart.
    #[must_use]
    pub fn adopting(&self, read: &Self) -> Self {
        let pools = self.pools.iter().map(|pool| match read.pool(&pool.name) {
            Some(read) => pool.adopting(read),
            // It serves until the restart that takes it away.
            None => pool.clone(),
        });
        let tiers = self.tiers.iter().map(|tier| {
            let read = read.tiers.iter().find(|read| read.name == tier.name);
            read.map_or_else(|| tier.clone(), |read| tier.adopting(read))
        });
        Self {
            credentials: read.credentials.clone(),
            tls: renewed(self.tls.as_ref(), read.tls.as_ref()),
            admin_tls: renewed(self.admin_tls.as_ref(), read.admin_tls.as_ref()),
            tenants: read.tenants.clone(),
            quotas: read.quotas.clone(),
            kms: read.kms.clone(),
            kv: self.kv.as_ref().map(|kv| kv.adopting(read.kv.as_ref())),
            pools: pools.collect(),
            tiers: tiers.collect(),
            ..self.clone()
        }
    }

    /// The pool of this name.
    pub fn pool(&self, name: &str) -> Option<&PoolConfig> {
        self.pools.iter().find(|pool| pool.name == name)
    }
}

/// Files can take the place of others, but to begin or end with TLS takes a restart.
fn renewed(serving: Option<&TlsFiles>, read: Option<&TlsFiles>) -> Option<TlsFiles> {
    serving.map(|serving| read.unwrap_or(serving).clone())
}

impl KvConfig {
    fn adopting(&self, read: Option<&Self>) -> Self {
        let tls =
            read.map_or(self.tls.clone(), |read| renewed(self.tls.as_ref(), read.tls.as_ref()));
        let read_users = read.and_then(|read| read.users.as_ref());
        let users = self.users.as_ref().map(|users| read_users.unwrap_or(users).clone());
        Self { users, tls, ..self.clone() }
    }
}

impl TierConfig {
    /// Servers come and go; another code is another tier.
    fn adopting(&self, read: &Self) -> Self {
        if self.code != read.code {
            return self.clone();
        }
        Self { rings: read.rings.clone(), stored_max: read.stored_max, ..self.clone() }
    }
}

impl PoolConfig {
    fn adopting(&self, read: &Self) -> Self {
        let mut adopted = Self {
            recombination: read.recombination,
            plan: read.plan.clone(),
            selection: read.selection,
            ..self.clone()
        };
        for node in &mut adopted.nodes {
            let read = read.nodes.iter().find(|read| read.name == node.name);
            let read = read.and_then(|read| read.delay.as_ref());
            if let (Some(delay), Some(read)) = (&mut node.delay, read) {
                delay.scale = read.scale;
            }
        }
        adopted
    }
}

#[cfg(test)]
mod tests;
