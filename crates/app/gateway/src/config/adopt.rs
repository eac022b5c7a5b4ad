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
        Self { tls, users, ..self.clone() }
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
mod tests {
    use crate::config::parse;

    /// What stands in each place, in a configuration whose pool and tenant may change.
    fn text(gateway: &str, pool: &str, node: &str, more: &str) -> String {
        format!(
            "[gateway]\n{gateway}\n[[pool]]\nname = \"p\"\ncode = [2, 1]\n{pool}\n\
             [[node]]\nname = \"a\"\nkind = \"memory\"\n[[node]]\nname = \"b\"\nkind = \"memory\"\n{node}\n{more}"
        )
    }

    /// Whether all of this change is in force at once.
    fn is_adopted(former: &str, read: &str) -> bool {
        let [former, read] = [former, read].map(|text| parse(text, []).unwrap());
        former.adopting(&read) == read
    }

    #[test]
    fn what_can_change_is_taken_and_what_cannot_is_left_as_it_was() {
        let delay = "delay = \"s3-2025\"\ndelay_scale = ";
        let slow = |scale: &str| text("", "", &format!("{delay}{scale}"), "");
        assert!(is_adopted(&slow("1"), &slow("20")));
        assert!(is_adopted(&slow("1"), &slow("1")));
        let plain = text("", "", "", "");
        for changed in [
            text("credentials = \"other\"", "", "", ""),
            text("", "selection = \"least-work\"", "", ""),
            text("", "recombination = \"fair\"", "", ""),
            text("", "plan = \"plan.toml\"", "", ""),
            text("", "", "", "[quotas]\nobjects = 7\n"),
            text("", "", "", "[[tenant]]\nname = \"t\"\naccess_keys = [\"k\"]\n"),
        ] {
            assert!(is_adopted(&plain, &changed), "{changed}");
        }
        for fixed in [
            text("region = \"eu-1\"", "", "", ""),
            text("listen = \"127.0.0.1:1\"", "", "", ""),
            text("tls_certificate = \"c\"\ntls_key = \"k\"", "", "", ""),
            text("", "answer_extra = 0", "", ""),
            text("", "policy = \"greedy\"", "", ""),
            text("", "", "lanes = 3", ""),
            text("", "", &format!("{delay}2"), ""),
            text("", "", "", "[[node]]\nname = \"c\"\nkind = \"memory\"\n"),
            text(
                "",
                "",
                "",
                "[[pool]]\nname = \"q\"\n[[node]]\nname = \"c\"\nkind = \"memory\"\npool = \"q\"\n",
            ),
            text("", "", "", "[store]\nmemory_max = \"1 GiB\"\n"),
        ] {
            let is_read = parse(&fixed, []).is_ok();
            assert!(!is_read || !is_adopted(&plain, &fixed), "{fixed}");
        }
    }

    #[test]
    fn certificates_are_renewed_from_other_files_and_not_given_up() {
        let tls = |files: &str| text(files, "", "", "");
        let one = tls("tls_certificate = \"c\"\ntls_key = \"k\"");
        let other = tls("tls_certificate = \"d\"\ntls_key = \"l\"");
        assert!(is_adopted(&one, &other));
        assert!(!is_adopted(&one, &tls("")));
        assert!(!is_adopted(&tls(""), &one));
    }

    #[test]
    fn of_the_door_that_speaks_memcached_certificates_and_users_are_renewed() {
        let kv = |keys: &str| text("", "", "", &format!("[kv]\n{keys}\n"));
        let tls = |files: &str| kv(&format!("tls_certificate = \"{files}\"\ntls_key = \"k\""));
        assert!(is_adopted(&tls("c"), &tls("d")) && is_adopted(&kv(""), &kv("")));
        assert!(is_adopted(&kv("users = \"u\""), &kv("users = \"w\"")));
        for (former, read) in [
            (kv(""), tls("c")),
            (tls("c"), kv("")),
            (kv(""), kv("users = \"u\"")),
            (kv("users = \"u\""), kv("")),
            (kv(""), kv("connections_max = 9")),
            (kv(""), text("", "", "", "")),
            (text("", "", "", ""), kv("")),
        ] {
            assert!(!is_adopted(&former, &read), "{former} {read}");
        }
    }

    #[test]
    fn servers_of_a_tier_come_and_go_and_another_code_takes_a_restart() {
        let tier = |rings: &str, more: &str| {
            text(
                "",
                "hot = \"t\"",
                "",
                &format!("[[tier]]\nname = \"t\"\nrings = {rings}\n{more}\n"),
            )
        };
        let (one, two) = ("[[\"127.0.0.1:1\"]]", "[[\"127.0.0.1:1\", \"127.0.0.1:2\"]]");
        let memory = "memory_max = \"9 MiB\"";
        assert!(is_adopted(&tier(one, memory), &tier(two, memory)));
        assert!(is_adopted(&tier(two, memory), &tier(one, "memory_max = \"5 MiB\"")));
        let rings = "[[\"127.0.0.1:1\"], [\"127.0.0.1:2\"]]";
        assert!(!is_adopted(&tier(one, memory), &tier(rings, memory)));
        assert!(!is_adopted(&tier(one, memory), &tier(one, &format!("{memory}\nwait = \"9ms\""))));
        assert!(!is_adopted(&tier(one, memory), &text("", "", "", "")));
    }

    #[test]
    fn a_pool_that_is_gone_from_the_file_serves_until_the_restart() {
        let [former, read] = [text("", "", "", ""), String::new()];
        let [former, read] = [former, read].map(|text| parse(&text, []).unwrap());
        let adopted = former.adopting(&read);
        assert_eq!(adopted.pools, former.pools);
        assert_ne!(adopted, read);
    }
}
