use crate::{
    cache::{self, Kept, KeyCache},
    counts::{Counts, KmsCall, KmsReading},
    link::KmsLink,
    transit,
};
use async_trait::async_trait;
use ripstop_envelope::{KeyFault, KeyService, KeyUse, WrappingKey};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, atomic::Ordering::Relaxed};

/// The key service of a gateway, whose settings can be replaced while it serves. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Kms(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    link: RwLock<Option<Arc<KmsLink>>>,
    keys: Mutex<KeyCache>,
    counts: Counts,
}

impl Kms {
    /// Asks this service from now on, or none. Opened keys are kept if it is the same one.
    pub fn adopt(&self, link: Option<KmsLink>) {
        let link = link.map(Arc::new);
        let mut now = self.0.link.write().unwrap_or_else(PoisonError::into_inner);
        let both = now.as_ref().zip(link.as_ref());
        if !both.is_some_and(|(former, link)| former.is_same_place(link)) {
            self.keys().clear();
        }
        *now = link;
    }

    /// Whether there is a service to ask.
    pub fn is_there(&self) -> bool {
        self.0.link.read().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// What was asked since the start.
    pub fn reading(&self) -> KmsReading {
        let cached = self.keys().len(ripstop_host::now());
        self.0.counts.read(cached)
    }

    fn link(&self, key: &str) -> Result<Arc<KmsLink>, KeyFault> {
        let link = self.0.link.read().unwrap_or_else(PoisonError::into_inner).clone();
        link.ok_or_else(|| KeyFault::Missing { key: key.to_owned() })
    }

    fn keys(&self) -> MutexGuard<'_, KeyCache> {
        self.0.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, id: &[u8; 32]) -> Option<Kept> {
        let found = self.keys().find(id, ripstop_host::now())?;
        self.0.counts.found.fetch_add(1, Relaxed);
        Some(found)
    }

    fn keep(&self, id: [u8; 32], kept: Kept, link: &KmsLink) {
        let bounds = (link.settings.cached_for, link.settings.cached_max);
        self.keys().keep(id, kept, ripstop_host::now(), bounds);
    }
}

#[async_trait]
impl KeyService for Kms {
    fn default_key(&self) -> Option<String> {
        self.link("").ok()?.settings.default_key.clone()
    }

    async fn issue(&self, of: &KeyUse<'_>) -> Result<(WrappingKey, Vec<u8>), KeyFault> {
        let (link, key) = (self.link(of.key)?, transit::checked(of.key)?);
        let id = of.is_shared.then(|| cache::shared(of));
        let shared = || id.as_ref().and_then(|id| self.find(id));
        if let Some(Kept { key, sealed }) = shared() {
            return Ok((key, sealed.to_vec()));
        }
        let counts = &self.0.counts;
        let _place = link.place(counts).await?;
        // Who had the place before may have been after the same.
        if let Some(Kept { key, sealed }) = shared() {
            return Ok((key, sealed.to_vec()));
        }
        link.must_be_fit(key, counts).await?;
        let fresh = WrappingKey::generate();
        let path = format!("{}/encrypt/{key}", link.settings.mount);
        let body = || transit::encrypt(&fresh, of).map(Some);
        let to = (&*path, key);
        let sealed = link.call(KmsCall::Encrypt, to, body, transit::encrypted, counts).await;
        if matches!(sealed, Err(KeyFault::Refused { .. })) {
            // A key that is gone would be made, which the gateway should not be let do.
            link.doubt(key);
            link.must_be_fit(key, counts).await?;
        }
        let sealed = sealed?;
        let kept = Kept { key: fresh.clone(), sealed: sealed.as_slice().into() };
        self.keep(cache::opened(of, &sealed), kept.clone(), &link);
        if let Some(id) = id {
            self.keep(id, kept, &link);
        }
        Ok((fresh, sealed))
    }

    async fn open(&self, of: &KeyUse<'_>, sealed: &[u8]) -> Result<WrappingKey, KeyFault> {
        let (link, key) = (self.link(of.key)?, transit::checked(of.key)?);
        let id = cache::opened(of, sealed);
        if let Some(kept) = self.find(&id) {
            return Ok(kept.key);
        }
        let counts = &self.0.counts;
        let _place = link.place(counts).await?;
        if let Some(kept) = self.find(&id) {
            return Ok(kept.key);
        }
        let path = format!("{}/decrypt/{key}", link.settings.mount);
        let body = || transit::decrypt(sealed, of).map(Some);
        let opened = |came: &crate::wire::Came| transit::decrypted(came, key);
        let opened = link.call(KmsCall::Decrypt, (&path, key), body, opened, counts).await?;
        let kept = Kept { key: opened.clone(), sealed: Arc::default() };
        self.keep(id, kept, &link);
        Ok(opened)
    }
}
