use crate::Rights;
use ripstop_model::TenantId;
use std::sync::Arc;

/// Who asks: the owner of an access key, or the sender of a request without a signature.
#[derive(Clone, Debug)]
pub struct Principal {
    access_key: Option<Arc<str>>,
    name: Option<Arc<str>>,
    tenant: TenantId,
    rights: Arc<Rights>,
}

impl Principal {
    pub(crate) const fn of_key(
        access_key: Arc<str>,
        name: Arc<str>,
        tenant: TenantId,
        rights: Arc<Rights>,
    ) -> Self {
        Self { access_key: Some(access_key), name: Some(name), tenant, rights }
    }

    pub(crate) const fn unsigned(rights: Arc<Rights>) -> Self {
        Self { access_key: None, name: None, tenant: TenantId::ANYBODY, rights }
    }

    /// The access key; `None` without a signature.
    pub fn access_key(&self) -> Option<&str> {
        self.access_key.as_deref()
    }

    /// Access key and name of the user whom the key belongs to; `None` without a signature.
    pub fn user(&self) -> Option<(&Arc<str>, &Arc<str>)> {
        self.access_key.as_ref().zip(self.name.as_ref())
    }

    /// Whose lanes and memory its requests take.
    pub const fn tenant(&self) -> TenantId {
        self.tenant
    }

    /// What it may.
    pub fn rights(&self) -> &Rights {
        &self.rights
    }
}
