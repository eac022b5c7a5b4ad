//! Who looks at websites.

use crate::{
    access::{Client, Note},
    authorise,
    error::Outcome,
    front::{Front, now_s},
    gate::{Gate, Signing},
    op::{Desk, Row},
    uri::{Query, Target},
    watched::Counts,
};
use http::HeaderMap;
use ripstop_identity::Principal;

/// Who asks for a page: anybody, without a signature.
pub(crate) struct Visitor<'a> {
    pub(crate) front: &'a Front,
    pub(crate) client: Client,
    pub(crate) counts: &'a Counts,
    pub(crate) note: &'a Note,
}

impl Visitor<'_> {
    fn principal(&self) -> Principal {
        self.front.keyring.credentials().unsigned()
    }

    /// What is read with that needs no right.
    pub(crate) fn desk(&self) -> Desk {
        let gate = Gate::new(self.principal(), self.front.account.clone());
        self.front.desk(gate, self.counts, self.note)
    }

    /// What an operation is done with, if anybody may have it done.
    pub(crate) async fn admit(
        &self,
        row: &'static Row,
        target: &Target,
        headers: &HeaderMap,
    ) -> Outcome<Desk> {
        let (address, secure) = (self.client.address, self.client.secure);
        let (query, signing, now_s) = (&Query::default(), Signing::None, now_s());
        let asked =
            authorise::Request { row, target, query, headers, address, secure, signing, now_s };
        let gate = authorise::check(asked, self.principal(), self.front.archive()).await?;
        Ok(self.front.desk(gate, self.counts, self.note))
    }
}
