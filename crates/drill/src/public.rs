//! A bucket that everybody may read, or not.
//!
//! Whether they may is a thing that is put and deleted like any other: what reads without a
//! signature are told is explained by the same one order.

use crate::{
    actor::{Actor, OPEN, Said},
    ask::Ask,
    history::{Came, Deed, When},
};

/// The name that the bucket's policy has among its keys.
const POLICY_KEY: &str = "?policy";
/// What it is when everybody may read.
const IS_OPEN: &str = "open";
/// The one object of the bucket.
pub(crate) const WELCOME: &str = "welcome";

const POLICY: &str = r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":"*","Action":"s3:GetObject","Resource":"arn:aws:s3:::open/*"}]}"#;

impl Actor {
    /// Lets everybody read the bucket, or nobody.
    pub(crate) async fn open(&mut self) {
        let is_open = self.below(2) == 0;
        let deed = if is_open {
            Deed::Put { etag: IS_OPEN.into(), when: When::Always }
        } else {
            Deed::Delete
        };
        let method = if is_open { "PUT" } else { "DELETE" };
        let ask = Ask::new(method, OPEN, "").query("policy=");
        let ask = if is_open { ask.document(POLICY.into()) } else { ask };
        let call = self.history.begin(self.number, OPEN, POLICY_KEY, deed);
        match self.ask(ask).await {
            Said::Yes(_) => self.history.end(call, Came::Done { version: None }),
            said @ (Said::No(..) | Said::Nothing | Said::Unknown) => {
                self.settle(call, said, "a policy");
            }
        }
    }

    /// Reads the bucket's object as nobody in particular.
    pub(crate) async fn read_unsigned(&mut self) {
        let call = self.history.begin(self.number, OPEN, POLICY_KEY, Deed::See);
        match self.ask(Ask::new("GET", OPEN, WELCOME).unsigned()).await {
            Said::Yes(_) => self.history.end(call, Came::Found { etag: IS_OPEN.into() }),
            Said::No(403, _) => self.history.end(call, Came::Missing),
            said @ (Said::No(..) | Said::Nothing | Said::Unknown) => {
                self.settle(call, said, "a read by nobody");
            }
        }
    }
}
