use crate::{Rights, TemporarySession};
use ripstop_model::TenantId;
use std::sync::Arc;

/// Who asks: the owner of an access key, or the sender of a request without a signature.
#[derive(Clone, Debug)]
pub struct Principal {
    access_key: Option<Arc<str>>,
    name: Option<Arc<str>>,
    tenant: TenantId,
    rights: Arc<Rights>,
    session: Option<Arc<TemporarySession>>,
}

impl Principal {
    pub(crate) const fn of_key(
        access_key: Arc<str>,
        name: Arc<str>,
        tenant: TenantId,
        rights: Arc<Rights>,
    ) -> Self {
        Self { access_key: Some(access_key), name: Some(name), tenant, rights, session: None }
    }

    pub(crate) const fn unsigned(rights: Arc<Rights>) -> Self {
        Self { access_key: None, name: None, tenant: TenantId::ANYBODY, rights, session: None }
    }

    /// The same while it asks with temporary keys.
    #[must_use]
    pub fn within(self, session: TemporarySession) -> Self {
        Self { session: Some(Arc::new(session)), ..self }
    }

    /// The session, if its keys are temporary.
    pub const fn session(&self) -> Option<&Arc<TemporarySession>> {
        self.session.as_ref()
    }

    /// Whether it may not all that its rights say: a session's policy must say it too.
    pub fn is_narrowed(&self) -> bool {
        self.session.as_ref().is_some_and(|session| session.policy.is_some())
    }

    /// Whether a policy of its own, or of its session, has a say in what it may do.
    pub fn is_judged(&self) -> bool {
        self.is_narrowed() || self.rights.policies().is_some()
    }

    /// The access key, the permanent one where it asks with temporary keys; `None` without a
    /// signature.
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
