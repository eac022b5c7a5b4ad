use crate::{
    data_key::DataKey,
    ring::{DEFAULT_NAME, KeyRing, name_of},
    served::{is_served, unwrap_served, wrap_served},
    service::{KeyFault, KeyService},
    wrap::{Binding, unwrap, wrap},
};
use std::sync::{Arc, PoisonError, RwLock};

/// A ring of keys, and a service that has others, while a gateway serves: each can be replaced.
#[derive(Clone, Debug, Default)]
pub struct ObjectKeys(Arc<RwLock<Held>>);

#[derive(Clone, Debug, Default)]
struct Held {
    ring: Arc<KeyRing>,
    service: Option<Arc<dyn KeyService>>,
}

/// A data key that is wrapped with a key of the ring or of the service.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WrappedKey {
    /// The name that was said of a named key; else the id of one of the gateway's own.
    pub key: String,
    /// Whether it is a name.
    pub is_named: bool,
    /// The data key, encrypted.
    pub wrapped: Vec<u8>,
}

impl ObjectKeys {
    /// With this ring.
    pub fn new(ring: KeyRing) -> Self {
        Self(Arc::new(RwLock::new(Held { ring: Arc::new(ring), service: None })))
    }

    /// Has this ring be asked from now on, by all who hold these keys.
    pub fn replace(&self, ring: KeyRing) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).ring = Arc::new(ring);
    }

    /// Has this service be asked from now on for named keys that the ring has not, or none.
    pub fn serve_with(&self, service: Option<Arc<dyn KeyService>>) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).service = service;
    }

    fn held(&self) -> Held {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The ring now.
    pub fn ring(&self) -> Arc<KeyRing> {
        self.held().ring
    }

    /// What the key is called that is meant where none is named.
    pub fn default_name(&self) -> String {
        let of_service = self.held().service.and_then(|service| service.default_key());
        of_service.unwrap_or_else(|| DEFAULT_NAME.to_owned())
    }

    /// Wraps a data key with the key that is named: of the ring, or else of the service. Where it
    /// is the service's and may be shared, objects of the bucket have one wrapping key for a while.
    pub async fn wrap_named(
        &self,
        data_key: &DataKey,
        named: &str,
        binding: &Binding<'_>,
        is_shared: bool,
    ) -> Result<WrappedKey, KeyFault> {
        let Held { ring, service } = self.held();
        let Some(service) = service.filter(|_| ring.named(named).is_none()) else {
            return self.wrap(data_key, Some(named), binding);
        };
        let of_service = (data_key, name_of(named));
        let wrapped = wrap_served(&*service, of_service, binding, is_shared).await?;
        Ok(WrappedKey { key: named.to_owned(), is_named: true, wrapped })
    }

    /// The data key that is wrapped for this object with a key of the ring or of the service.
    pub async fn open(
        &self,
        wrapped: &WrappedKey,
        binding: &Binding<'_>,
    ) -> Result<DataKey, KeyFault> {
        if !(wrapped.is_named && is_served(&wrapped.wrapped)) {
            return self.unwrap(wrapped, binding);
        }
        let missing = || KeyFault::Missing { key: wrapped.key.clone() };
        let service = self.held().service.ok_or_else(missing)?;
        let sealed = (&*wrapped.wrapped, name_of(&wrapped.key));
        unwrap_served(&*service, sealed, binding).await
    }

    /// Wraps a data key with the ring's key of this name, or else with the gateway's own.
    pub fn wrap(
        &self,
        data_key: &DataKey,
        named: Option<&str>,
        binding: &Binding<'_>,
    ) -> Result<WrappedKey, KeyFault> {
        let ring = self.ring();
        let keys = named.map_or(Some(ring.own()), |said| ring.named(said));
        let missing = || KeyFault::Missing { key: named.unwrap_or_default().to_owned() };
        let with = keys.and_then(<[_]>::first).ok_or_else(missing)?;
        let key = named.map_or_else(|| with.id().to_string(), str::to_owned);
        let wrapped = wrap(with, data_key, binding);
        Ok(WrappedKey { key, is_named: named.is_some(), wrapped })
    }

    /// The data key that is wrapped for this object with a key of the ring.
    pub fn unwrap(&self, wrapped: &WrappedKey, binding: &Binding<'_>) -> Result<DataKey, KeyFault> {
        let WrappedKey { key, is_named, wrapped } = wrapped;
        let ring = self.ring();
        let missing = || KeyFault::Missing { key: key.clone() };
        let mismatch = || KeyFault::Mismatch { key: key.clone() };
        if *is_named {
            // Which of those of a name it was, is not recorded: the tag tells.
            let keys = ring.named(key).ok_or_else(missing)?;
            return keys.iter().find_map(|it| unwrap(it, wrapped, binding)).ok_or_else(mismatch);
        }
        let own = ring.own().iter().find(|own| own.id().to_string() == *key);
        unwrap(own.ok_or_else(missing)?, wrapped, binding).ok_or_else(mismatch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: Binding<'_> = Binding { bucket: "b", key: "k", context: "" };

    #[test]
    fn what_an_earlier_key_wrapped_is_unwrapped_after_it_was_rotated() {
        let ring = KeyRing::generate().rotated(Some("reports")).unwrap();
        let keys = ObjectKeys::new(ring.clone());
        let data_key = DataKey::generate();
        let own = keys.wrap(&data_key, None, &HERE).unwrap();
        let named = keys.wrap(&data_key, Some("reports"), &HERE).unwrap();
        let rotated = ring.rotated(None).unwrap().rotated(Some("reports")).unwrap();
        keys.clone().replace(rotated);
        for before in [&own, &named] {
            assert_eq!(keys.unwrap(before, &HERE).unwrap().0, data_key.0);
            let elsewhere = Binding { key: "other", ..HERE };
            let mismatch = KeyFault::Mismatch { key: before.key.clone() };
            assert_eq!(keys.unwrap(before, &elsewhere).unwrap_err(), mismatch);
        }
        assert_ne!(keys.wrap(&data_key, None, &HERE).unwrap().key, own.key);
        keys.replace(KeyRing::generate());
        for lost in [own, named] {
            let missing = KeyFault::Missing { key: lost.key.clone() };
            assert_eq!(keys.unwrap(&lost, &HERE).unwrap_err(), missing);
        }
    }

    #[test]
    fn a_name_that_is_none_and_a_ring_without_keys_wrap_nothing() {
        let keys = ObjectKeys::new(KeyRing::generate());
        let data_key = DataKey::generate();
        let missing = |key: &str| KeyFault::Missing { key: key.to_owned() };
        assert_eq!(keys.wrap(&data_key, Some("no"), &HERE), Err(missing("no")));
        assert_eq!(ObjectKeys::default().wrap(&data_key, None, &HERE), Err(missing("")));
    }
}
