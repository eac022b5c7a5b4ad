//! Calls in a form's encoding, whose signature covers the body: it is read before.

use crate::{
    access::Note,
    auth,
    body::Payload,
    error::{Code, Failure, Outcome},
    front::{Arrived, Asked, Front, Head, now_s},
    gate::Gate,
    op::Row,
    uri::Query,
};
use sha2::{Digest as _, Sha256};

/// Longest call, bytes: the longest policy of a session, all of it spelled out, and some more.
const CALL_LEN_MAX: usize = 16 << 10;

impl Front {
    /// What is asked for by a call whose signature covers all of it.
    pub(crate) async fn call(
        &self,
        row: &'static Row,
        head: Head,
        arrived: Arrived,
        note: &mut Note,
    ) -> Outcome<Asked> {
        if auth::is_unsigned(&head.presented()) {
            let message = "Request is missing Authentication Token";
            return Err(Failure::new(Code::MissingAuthenticationToken, message));
        }
        let len = arrived.announced.ok_or(Code::MissingContentLength)?;
        let mut held = self.allowances.documents.nothing();
        let mut payload = Payload::plain(arrived.source, Some(len), None);
        let body = payload.document(CALL_LEN_MAX, &mut held).await?;
        let sha256 = hex::encode(Sha256::digest(&body));
        let credentials = self.keyring.credentials();
        let presented = head.presented();
        let verified =
            auth::verify_call(&presented, &sha256, &credentials, &self.terms(), now_s())?;
        let principal = verified.who.principal(&credentials)?;
        note.access_key = principal.access_key().map(str::to_owned);
        tracing::debug!(operation = note.operation.name(), "identified");
        let text = std::str::from_utf8(&body).map_err(|_| Code::InvalidRequest)?;
        let call = Some(Query::parse(text.trim_end())?);
        let gate = Gate::new(principal, self.account.clone());
        let Head { query, headers, .. } = head;
        let (bucket, key, wish) = (String::new(), String::new(), None);
        Ok(Asked { row, gate, bucket, key, query, headers, payload, wish, call })
    }
}
