//! What a client reads, and that it is what was stored.

use crate::{
    actor::{Actor, KEEPS, KEYS, LOCKS, Name, STRIPE, Said, encoded},
    ask::Ask,
    client::{Answer, texts},
    history::{Came, Deed},
};

impl Actor {
    /// Reads a key, or a part of it.
    pub(crate) async fn get(&mut self, (bucket, key): Name) {
        let range = match self.below(3) {
            0 => {
                let from = self.below(STRIPE * 2);
                Some((from, from + self.below(STRIPE)))
            }
            _ => None,
        };
        let ask = Ask::new("GET", bucket, key);
        let ask = match range {
            Some((from, to)) => ask.header("range", format!("bytes={from}-{to}")),
            None => ask,
        };
        let call = self.history.begin(self.number, bucket, key, Deed::See);
        match self.ask(ask).await {
            Said::Yes(answer) => {
                let came = self.found(&answer, range);
                self.history.end(call, came);
            }
            // It has fewer bytes, or is not there.
            Said::No(416, _) => self.history.forget(call),
            said @ (Said::No(..) | Said::Nothing | Said::Unknown) => {
                self.settle(call, said, "a get");
            }
        }
    }

    /// What an answer with an object in it tells; its bytes must be what was stored.
    pub(crate) fn found(&self, answer: &Answer, range: Option<(u64, u64)>) -> Came {
        let etag = answer.etag().unwrap_or_default();
        let Some(content) = self.history.content(&etag) else {
            self.complain(format!("nobody stored {etag:?}"));
            return Came::Found { etag };
        };
        let len = content.len() as u64;
        let part = match range {
            Some((from, to)) if answer.status == 206 => from.min(len)..(to + 1).min(len),
            Some(_) | None => 0..len,
        };
        if answer.body != content.slice(part.start as usize..part.end as usize) {
            let got = answer.body.len();
            self.complain(format!("{part:?} of {etag} came as {got} other bytes"));
        }
        Came::Found { etag }
    }

    /// The ETag of what a key stands for.
    pub(crate) async fn head(&mut self, (bucket, key): Name) -> Option<String> {
        let call = self.history.begin(self.number, bucket, key, Deed::See);
        match self.ask(Ask::new("HEAD", bucket, key)).await {
            Said::Yes(answer) => {
                let etag = answer.etag().unwrap_or_default();
                self.history.end(call, Came::Found { etag: etag.clone() });
                Some(etag)
            }
            // It has no body that would say why.
            Said::No(403 | 400, _) => {
                self.history.forget(call);
                None
            }
            said @ (Said::No(..) | Said::Nothing | Said::Unknown) => {
                self.settle(call, said, "a head");
                None
            }
        }
    }

    /// Lists a bucket, this many keys at a time: every key that is there, and no other.
    pub(crate) async fn list(&mut self, bucket: &'static str, page: u64) {
        let begin = |key: &&str| self.history.begin(self.number, bucket, key, Deed::See);
        let calls: Vec<u64> = KEYS.iter().map(begin).collect();
        let (mut found, mut token) = (Vec::new(), None::<String>);
        loop {
            let query = format!("list-type=2&max-keys={page}");
            let query = match &token {
                Some(token) => format!("continuation-token={}&{query}", encoded(token)),
                None => query,
            };
            match self.ask(Ask::new("GET", bucket, "").query(query)).await {
                Said::Yes(answer) => {
                    found.extend(answer.texts("Contents"));
                    token = answer.texts("NextContinuationToken").into_iter().next();
                }
                Said::No(status, code) => {
                    self.complain(format!("a listing was answered {status} {code}"));
                    return;
                }
                Said::Nothing | Said::Unknown => return,
            }
            if token.is_none() {
                break;
            }
        }
        let first = |one: &str, name: &str| texts(one, name).into_iter().next();
        for (key, call) in KEYS.iter().zip(calls) {
            let one = found.iter().find(|one| first(one, "Key").as_deref() == Some(*key));
            let etag = one.and_then(|one| first(one, "ETag"));
            let came = etag.map_or(Came::Missing, |etag| Came::Found {
                etag: etag.trim_matches('"').to_owned(),
            });
            self.history.end(call, came);
        }
        let keys: Vec<String> = found.iter().filter_map(|one| first(one, "Key")).collect();
        if keys.iter().any(|key| !KEYS.contains(&key.as_str())) || !keys.is_sorted() {
            self.complain(format!("a listing has {keys:?}"));
        }
    }

    pub(crate) async fn see_tag(&mut self, (bucket, key): Name) {
        let call = self.history.begin(self.number, bucket, key, Deed::SeeTag);
        match self.ask(Ask::new("GET", bucket, key).query("tagging=")).await {
            Said::Yes(answer) => {
                let tag = answer.texts("Value").into_iter().next();
                self.history.end(call, Came::Tagged { tag });
            }
            said @ (Said::No(..) | Said::Nothing | Said::Unknown) => {
                self.settle(call, said, "a look at tags");
            }
        }
    }

    pub(crate) async fn see_version(&mut self) {
        let pick = self.dice().next_u64();
        let bucket = self.one_of(&[KEEPS, LOCKS]);
        let Some((key, version)) = self.history.version(bucket, pick) else { return };
        let query = format!("versionId={}", encoded(&version));
        let deed = Deed::SeeVersion { version };
        let call = self.history.begin(self.number, bucket, &key, deed);
        match self.ask(Ask::new("GET", bucket, &key).query(query)).await {
            Said::Yes(answer) => {
                let came = self.found(&answer, None);
                self.history.end(call, came);
            }
            said @ (Said::No(..) | Said::Nothing | Said::Unknown) => {
                self.settle(call, said, "a get of a version");
            }
        }
    }
}
