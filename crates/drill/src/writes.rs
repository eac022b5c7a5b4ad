//! What a client changes.

use crate::{
    actor::{Actor, BUCKETS, COLD, KEEPS, KEYS, LOCKS, Name, PART, STRIPE, Said, encoded},
    ask::{Ask, md5},
    client::texts,
    history::{Came, Deed, When},
    locked::BYPASS,
};
use bytes::Bytes;

impl Actor {
    pub(crate) async fn put(&mut self, when: When) {
        let name = self.name();
        let content = self.content(u64::MAX);
        self.put_at(name, content, when).await;
    }

    pub(crate) async fn put_if_the_same(&mut self) {
        let name = self.name();
        let Some(etag) = self.head(name).await else { return };
        let content = self.content(u64::MAX);
        self.put_at(name, content, When::Matches { etag }).await;
    }

    pub(crate) async fn put_at(&mut self, name: Name, content: Bytes, when: When) {
        self.put_with(name, content, when, Vec::new()).await;
    }

    /// Puts an object with further headers; says which version it made, if that was told.
    pub(crate) async fn put_with(
        &mut self,
        (bucket, key): Name,
        content: Bytes,
        when: When,
        mut headers: Vec<(&'static str, String)>,
    ) -> Option<String> {
        headers.extend(self.wishes());
        let etag = hex::encode(md5(&content));
        self.history.store(&etag, content.clone());
        let mut ask = Ask::new("PUT", bucket, key).body(content);
        ask.signs_body = self.below(2) == 0;
        ask.headers.extend(headers);
        let ask = match &when {
            When::Always => ask,
            When::Absent => ask.header("if-none-match", "*"),
            When::Matches { etag } => ask.header("if-match", format!("\"{etag}\"")),
        };
        let deed = Deed::Put { etag: etag.clone(), when };
        let call = self.history.begin(self.number, bucket, key, deed);
        match self.ask(ask).await {
            Said::Yes(answer) => {
                if answer.etag().as_ref() != Some(&etag) {
                    self.complain(format!("a put of {etag} was answered {:?}", answer.etag()));
                }
                self.history.end(call, Came::Done { version: answer.version() });
                answer.version()
            }
            // A clock has passed what it was to be kept until.
            Said::No(400, code) if bucket == LOCKS && code == "InvalidArgument" => {
                self.history.forget(call);
                None
            }
            said @ (Said::No(..) | Said::Nothing | Said::Unknown) => {
                self.settle(call, said, "a put");
                None
            }
        }
    }

    /// How an object is to be kept.
    fn wishes(&mut self) -> Vec<(&'static str, String)> {
        let mut wishes = Vec::new();
        if self.below(100) < self.taste.encrypted {
            wishes.push(("x-amz-server-side-encryption", "AES256".to_owned()));
        }
        if self.below(100) < self.taste.cold {
            wishes.push(("x-amz-storage-class", COLD.to_owned()));
        }
        wishes
    }

    pub(crate) async fn delete(&mut self) {
        let (bucket, key) = self.name();
        let call = self.history.begin(self.number, bucket, key, Deed::Delete);
        match self.ask(Ask::new("DELETE", bucket, key)).await {
            Said::Yes(answer) => {
                self.history.end(call, Came::Done { version: answer.version() });
            }
            said @ (Said::No(..) | Said::Nothing | Said::Unknown) => {
                self.settle(call, said, "a deletion");
            }
        }
    }

    pub(crate) async fn delete_many(&mut self) {
        let bucket = self.one_of(&BUCKETS);
        let picked = self.below(1 << KEYS.len());
        let keys = KEYS.iter().enumerate().filter(|(at, _)| picked >> at & 1 == 1);
        let keys: Vec<&str> = keys.map(|(_, key)| *key).collect();
        if keys.is_empty() {
            return;
        }
        let objects = keys.join("</Key></Object><Object><Key>");
        let begin = |key: &&str| self.history.begin(self.number, bucket, key, Deed::Delete);
        let calls: Vec<u64> = keys.iter().map(begin).collect();
        let document = format!("<Delete><Object><Key>{objects}</Key></Object></Delete>");
        let ask = Ask::new("POST", bucket, "").query("delete=").document(document);
        match self.ask(ask).await {
            Said::Yes(answer) => {
                let deleted = answer.texts("Deleted");
                for (key, call) in keys.iter().zip(calls) {
                    let of_key = |one: &&String| texts(one, "Key") == [*key];
                    let Some(one) = deleted.iter().find(of_key) else { continue };
                    let version = texts(one, "DeleteMarkerVersionId").into_iter().next();
                    self.history.end(call, Came::Done { version });
                }
            }
            Said::Nothing => calls.iter().for_each(|call| self.history.forget(*call)),
            Said::Unknown => {}
            Said::No(status, code) => {
                self.complain(format!("deletions were answered {status} {code}"));
            }
        }
    }

    pub(crate) async fn copy(&mut self) {
        let (from, to) = (self.name(), self.name());
        if from == to {
            return;
        }
        let Some(etag) = self.head(from).await else { return };
        let ask = Ask::new("PUT", to.0, to.1)
            .header("x-amz-copy-source", format!("/{}/{}", from.0, from.1))
            .header("x-amz-copy-source-if-match", format!("\"{etag}\""))
            .header("x-amz-metadata-directive", "REPLACE")
            .header("x-amz-tagging-directive", "REPLACE");
        let ask = self.wishes().into_iter().fold(ask, |ask, (name, value)| ask.header(name, value));
        let seen = self.history.begin(self.number, from.0, from.1, Deed::See);
        let deed = Deed::Put { etag: etag.clone(), when: When::Always };
        let call = self.history.begin(self.number, to.0, to.1, deed);
        match self.ask(ask).await {
            Said::Yes(answer) => {
                let told = answer.texts("ETag");
                if told.iter().map(|told| told.trim_matches('"')).ne([etag.as_str()]) {
                    self.complain(format!("a copy of {etag} was answered {told:?}"));
                }
                self.history.end(call, Came::Done { version: answer.version() });
                self.history.end(seen, Came::Found { etag });
            }
            Said::Nothing | Said::No(412, _) => self.history.forget(call),
            Said::No(404, _) => {
                self.history.forget(call);
                self.history.end(seen, Came::Missing);
            }
            said @ (Said::No(..) | Said::Unknown) => self.settle(call, said, "a copy"),
        }
    }

    pub(crate) async fn multipart(&mut self) {
        let (bucket, key) = self.name();
        let ask = Ask::new("POST", bucket, key).query("uploads=");
        let ask = self.wishes().into_iter().fold(ask, |ask, (name, value)| ask.header(name, value));
        let Said::Yes(answer) = self.ask(ask).await else { return };
        let Some(id) = answer.texts("UploadId").into_iter().next() else {
            return self.complain("an upload has no id");
        };
        let count = 1 + self.below(3);
        let (mut parts, mut sums, mut whole) = (String::new(), Vec::new(), Vec::new());
        for number in 1..=count {
            let len = PART + self.below(STRIPE);
            let content = self.content_of(len);
            let query = format!("partNumber={number}&uploadId={}", encoded(&id));
            let ask = Ask::new("PUT", bucket, key).query(query).body(content.clone());
            let sum = md5(&content);
            let Said::Yes(answer) = self.ask(ask).await else { return };
            if answer.etag() != Some(hex::encode(sum)) {
                self.complain(format!("a part was answered {:?}", answer.etag()));
            }
            let etag = hex::encode(sum);
            let part = format!("<PartNumber>{number}</PartNumber><ETag>{etag}</ETag>");
            parts.extend(["<Part>", &part, "</Part>"]);
            sums.extend(sum);
            whole.extend_from_slice(&content);
        }
        let query = format!("uploadId={}", encoded(&id));
        if self.below(5) == 0 {
            self.ask(Ask::new("DELETE", bucket, key).query(query)).await;
            return;
        }
        let etag = format!("{}-{count}", hex::encode(md5(&sums)));
        self.history.store(&etag, whole.into());
        let document = format!("<CompleteMultipartUpload>{parts}</CompleteMultipartUpload>");
        let ask = Ask::new("POST", bucket, key).query(query).document(document);
        let deed = Deed::Put { etag: etag.clone(), when: When::Always };
        let call = self.history.begin(self.number, bucket, key, deed);
        match self.ask(ask.clone()).await {
            Said::Yes(answer) => {
                let told = answer.texts("ETag");
                if told.iter().map(|told| told.trim_matches('"')).ne([etag.as_str()]) {
                    self.complain(format!("an upload of {etag} ended with {}", answer.text()));
                }
                self.history.end(call, Came::Done { version: answer.version() });
            }
            Said::No(404, code) => {
                self.complain(format!("an upload's end was answered {code}"));
                self.history.forget(call);
            }
            said @ (Said::No(..) | Said::Nothing | Said::Unknown) => {
                self.settle(call, said, "an upload's end");
            }
        }
        if self.below(2) == 0 {
            self.end_again((bucket, key), ask, etag).await;
        }
    }

    /// Ends an upload a second time, as one does who missed the answer: that tells what the key
    /// stands for, if it is what the upload made of it.
    async fn end_again(&mut self, (bucket, key): Name, ask: Ask, etag: String) {
        let seen = self.history.begin(self.number, bucket, key, Deed::See);
        match self.ask(ask).await {
            Said::Yes(_) => self.history.end(seen, Came::Found { etag }),
            Said::No(404, _) | Said::Nothing | Said::Unknown => self.history.forget(seen),
            said @ Said::No(..) => self.settle(seen, said, "an upload's second end"),
        }
    }

    pub(crate) async fn tag(&mut self) {
        let (bucket, key) = self.name();
        let tag = format!("{:x}", self.dice().next_u64());
        let document = format!(
            "<Tagging><TagSet><Tag><Key>t</Key><Value>{tag}</Value></Tag></TagSet></Tagging>"
        );
        let call = self.history.begin(self.number, bucket, key, Deed::Tag { tag });
        let ask = Ask::new("PUT", bucket, key).query("tagging=").document(document);
        match self.ask(ask).await {
            Said::Yes(_) => self.history.end(call, Came::Done { version: None }),
            said @ (Said::No(..) | Said::Nothing | Said::Unknown) => {
                self.settle(call, said, "a tag");
            }
        }
    }

    pub(crate) async fn delete_version(&mut self) {
        let pick = self.dice().next_u64();
        let bucket = self.one_of(&[KEEPS, LOCKS]);
        let Some((key, version)) = self.history.version(bucket, pick) else { return };
        let query = format!("versionId={}", encoded(&version));
        let name = (key.clone(), version.clone());
        let lock = self.history.locks().of(&name);
        let deed = Deed::DeleteVersion { version };
        let call = self.history.begin(self.number, bucket, &key, deed);
        let bypass = bucket == LOCKS && self.below(2) == 0;
        if bypass {
            self.history.locks().may_be_passed(&name);
        }
        let ask = Ask::new("DELETE", bucket, &key).query(query);
        let ask = if bypass { ask.header(BYPASS, "true") } else { ask };
        match self.ask(ask).await {
            // The version that is told is the one that went.
            Said::Yes(_) => {
                // Another may have removed it, or have been allowed to, meanwhile.
                let (now_ms, after) = (self.world.steady_ms(), self.history.locks().of(&name));
                if bucket == LOCKS && lock.holds(now_ms, bypass) && after.holds(now_ms, bypass) {
                    self.complain(format!("a version of {key} was removed, which {lock:?} keeps"));
                }
                self.history.end(call, Came::Done { version: None });
            }
            // It is kept.
            Said::No(403, _) if bucket == LOCKS => self.history.forget(call),
            said @ (Said::No(..) | Said::Nothing | Said::Unknown) => {
                self.settle(call, said, "a version's deletion");
            }
        }
    }
}
