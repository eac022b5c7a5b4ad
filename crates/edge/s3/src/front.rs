//! From a request's head to its answer: id, signature, body, handler, failure, observation.

use crate::{
    Answered, FrontSettings, Keyring, RequestObserver,
    access::{Client, METHOD_SHOWN_MAX, Note, PATH_SHOWN_MAX, Strangers, cut},
    allowance::Allowances,
    auth::{self, ChunkSigner, PayloadClaim, Presented, Terms},
    authorise::{self, Archive},
    body::{self, Chunked, Outgoing, Payload, Source},
    cors::Crossing,
    date,
    door::{Door, RequestIds},
    error::{Code, Failure, Outcome},
    form::{Fields, Policy, Wish},
    gate::{Gate, KnownAccess, Signing},
    known::KnownBuckets,
    logging::Logs,
    metadata::check_section,
    op::{self, Desk, Input, Level, Row, Signer},
    request::{Reply, Request},
    route::route,
    sts,
    uri::{self, Query, Target},
    watched::{Counts, Watch, Watched},
};
use http::{HeaderMap, HeaderValue, Method, Response, Uri, header, request::Parts, uri::Authority};
use hyper::body::Incoming;
use ripstop_identity::Principal;
use ripstop_listen::{Patience, Peer};
use ripstop_store::Store;
use std::{
    net::IpAddr,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};
use tracing::Instrument as _;

/// Everything that requests share.
#[derive(Debug)]
pub(crate) struct Front {
    pub(crate) door: Door,
    pub(crate) store: Store,
    pub(crate) keyring: Keyring,
    /// What buckets say of who may do what.
    pub(crate) buckets: KnownAccess,
    /// The account of the store.
    pub(crate) account: Arc<str>,
    pub(crate) settings: Arc<FrontSettings>,
    pub(crate) allowances: Arc<Allowances>,
    pub(crate) known: Arc<KnownBuckets>,
    pub(crate) logs: Arc<Logs>,
    pub(crate) observer: Arc<dyn RequestObserver>,
    pub(crate) strangers: Arc<Strangers>,
    pub(crate) ids: RequestIds,
}

impl Front {
    /// Answers a request, whatever happens.
    pub(crate) async fn answer(
        self: Arc<Self>,
        request: http::Request<Incoming>,
        peer: &Peer,
    ) -> Response<Watched> {
        let begun = ripstop_host::now();
        let id = self.ids.next();
        let counts = Counts::default();
        let (parts, incoming) = request.into_parts();
        let head = parts.method == Method::HEAD;
        let holds_back = holds_back(&parts.headers);
        let resource = cut(parts.uri.path(), PATH_SHOWN_MAX).to_owned();
        let method = cut(parts.method.as_str(), METHOD_SHOWN_MAX).to_owned();
        let client = Client::of(peer, &parts.headers, &self.settings);
        let mut note = Note::new(client, &parts.headers, resource.len() + method.len());
        note.id.clone_from(&id);
        // At the highest level: whatever is logged of a request carries its id.
        let span = tracing::error_span!(
            "request",
            request_id = id,
            method,
            path = %resource
        );
        // On the heap: as large as the largest handler's, it would be moved with each layer around
        // it.
        let crossing = Crossing::of(&parts.method, &parts.headers);
        let bucket = self.bucket_of(&parts);
        let crossing = crossing.and_then(|crossing| Some((crossing, bucket.clone()?)));
        let mut logged = self.logged(&parts, bucket.as_deref(), &id, client).await;
        let handled = Box::pin(self.handle(parts, incoming, client, &counts, &mut note));
        let outcome = handled.instrument(span.clone()).await;
        if note.access_key.is_some() {
            peer.vouch();
        }
        let mut reply = outcome.unwrap_or_else(|failure| {
            let _entered = span.enter();
            tracing::debug!(operation = note.operation.name(), %failure, "refused");
            note.refused(&failure);
            sts::told(note.operation, &failure, &resource, &id)
        });
        if let Some((crossing, bucket)) = crossing {
            self.admit(&crossing, &bucket, &mut reply.headers).instrument(span.clone()).await;
        }
        if let Ok(id) = HeaderValue::from_str(&id) {
            reply.headers.insert("x-amz-request-id", id.clone());
            reply.headers.insert("x-amz-id-2", id);
        }
        reply.headers.insert(header::SERVER, HeaderValue::from_static("Ripstop"));
        if holds_back && counts.received.load(Ordering::Relaxed) == 0 {
            // It was not told to continue. Some clients then misread the next answer on a
            // connection.
            reply.headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        if head {
            let len = reply.body.left();
            reply.body = Outgoing::Empty;
            if reply.status.is_success() && !reply.headers.contains_key(header::CONTENT_LENGTH) {
                reply.headers.insert(header::CONTENT_LENGTH, len.into());
            }
        }
        let answered = Answered {
            operation: note.operation,
            status: reply.status.as_u16(),
            received: 0,
            sent: 0,
            broken: false,
            first_byte: ripstop_host::since(begun),
            duration: Duration::ZERO,
            hashing: Duration::ZERO,
        };
        if let Some(logged) = &mut logged {
            logged.answered_with(&reply.headers);
        }
        let (observer, strangers) = (self.observer.clone(), self.strangers.clone());
        let watch = Watch { answered, begun, counts, observer, span, note, strangers, logged };
        reply.into_response().map(|body| Watched { body, watch })
    }

    /// The bucket that a request is for, if it can be made out.
    fn bucket_of(&self, parts: &Parts) -> Option<String> {
        let host = parts.headers.get(header::HOST).and_then(|host| host.to_str().ok());
        let host = host.or_else(|| parts.uri.authority().map(Authority::as_str));
        if self.door == Door::Website {
            return Some(uri::website_bucket(host, self.settings.website_domain.as_deref()));
        }
        Target::parse(parts.uri.path(), host, self.settings.domain.as_deref()).ok()?.bucket
    }

    /// Tells the browser that it may show an answer, be it a failure, to a page of another origin
    /// that the bucket's rules let in.
    async fn admit(&self, crossing: &Crossing, bucket: &str, headers: &mut HeaderMap) {
        match op::rules_of(&self.store, bucket).await {
            Ok(Some(rules)) => _ = rules.admit(crossing).map(|it| it.tell(headers)),
            Ok(None) => {}
            Err(error) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "no rules of CORS");
            }
        }
    }

    async fn handle(
        &self,
        parts: Parts,
        incoming: Incoming,
        client: Client,
        counts: &Counts,
        note: &mut Note,
    ) -> Outcome<Reply> {
        if self.door == Door::Website {
            return self.page(parts, client, counts, note).await;
        }
        let patience = Patience::new(self.settings.pace(&self.settings.write_pressure));
        let announced = content_length(&parts.headers)?;
        let holds_back = holds_back(&parts.headers);
        let source = Source::new(incoming, patience, holds_back, counts.received.clone());
        let head = Head::read(parts, self.settings.domain.as_deref())?;
        let (secure, address) = (client.secure, client.address);
        let arrived = Arrived { source, announced, secure, address };
        let routed = route(&head.method, &head.target, &head.query, &head.headers);
        if let Ok(row) = &routed {
            note.operation = row.operation;
        }
        let asked = match routed {
            Ok(row) if row.signer == Signer::Form => self.form(row, head, arrived, note).await?,
            Ok(row) if row.signer == Signer::Caller => self.call(row, head, arrived, note).await?,
            routed => self.head_alone(routed, head, arrived, note).await?,
        };
        let Asked { row, gate, bucket, key, query, headers, payload, wish, call } = asked;
        if !bucket.is_empty() {
            uri::check_bucket_name(&bucket)?;
        }
        let desk = self.desk(gate, counts, note);
        let request = Request {
            settings: self.settings.clone(),
            held: self.allowances.documents.nothing(),
            bucket,
            key,
            query,
            headers,
            payload: (row.input != Input::Nothing).then_some(payload),
            limits: row.input.limits(),
            scheme: client.scheme(),
            wish,
            call,
        };
        op::run(row.operation, Box::new(request), Box::new(desk)).await
    }

    /// What operations are done with for whom a gate let in.
    pub(crate) fn desk(&self, gate: Gate, counts: &Counts, note: &Note) -> Desk {
        Desk {
            store: self.store.on_behalf_of(gate.principal.tenant()),
            settings: self.settings.clone(),
            allowances: self.allowances.clone(),
            known: self.known.clone(),
            gate,
            keyring: self.keyring.clone(),
            client: note.client.address,
            request_id: note.id.clone(),
            hashing_ns: counts.hashing_ns.clone(),
        }
    }

    /// What is asked for by a request whose head says all of it but a document and bytes, if its
    /// sender may have it done.
    async fn head_alone(
        &self,
        routed: Outcome<&'static Row>,
        head: Head,
        arrived: Arrived,
        note: &mut Note,
    ) -> Outcome<Asked> {
        let sender = self.sender(&head, routed.as_ref().ok().copied())?;
        note.access_key = sender.principal.access_key().map(str::to_owned);
        tracing::debug!(operation = note.operation.name(), "identified");
        // That there is no such request anybody is told; what is missing here, who signs.
        let row = routed.map_err(|failure| {
            let is_hidden = matches!(failure.code, Code::NotImplemented | Code::NoSuchKey);
            let is_told = note.access_key.is_some() || !is_hidden;
            if is_told { failure } else { Code::AccessDenied.into() }
        })?;
        let Arrived { source, announced, secure, address } = arrived;
        let Head { target, query, headers, .. } = &head;
        let signing = Signing::of_head(query, sender.signed.is_some());
        let now_s = now_s();
        let asked =
            authorise::Request { row, target, query, headers, address, secure, signing, now_s };
        let gate = authorise::check(asked, sender.principal, self.archive()).await?;
        let (claim, chunks) = match sender.signed {
            Some(signed) => signed,
            None => (auth::unsigned_payload(&head.presented())?, None),
        };
        if row.when.method == "PUT" && row.when.level == Level::Bucket && !claim.is_plain() {
            let message = "The value of x-amz-content-sha256 header is invalid.";
            return Err(Failure::new(Code::InvalidRequest, message));
        }
        if self.settings.unsigned_payload_needs_tls && !secure {
            refuse_unsigned(&claim, announced, &head.headers)?;
        }
        let payload = payload(claim, chunks, source, announced, &head.headers)?;
        let Head { target, query, headers, .. } = head;
        let (bucket, key) = (target.bucket.unwrap_or_default(), target.key.unwrap_or_default());
        Ok(Asked { row, gate, bucket, key, query, headers, payload, wish: None, call: None })
    }

    /// What is asked for by a form, if its signer may have it done and the policy lets the sender.
    async fn form(
        &self,
        row: &'static Row,
        head: Head,
        arrived: Arrived,
        note: &mut Note,
    ) -> Outcome<Asked> {
        let Arrived { source, announced, secure, address } = arrived;
        if self.settings.unsigned_payload_needs_tls && !secure {
            refuse_unsigned(&PayloadClaim::Unsigned, announced, &head.headers)?;
        }
        let Head { mut target, query, headers, .. } = head;
        let host = headers.get(header::HOST).cloned();
        let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let boundary = body::boundary(kind.unwrap_or_default())?;
        let len = announced.ok_or(Code::MissingContentLength)?;
        let mut held = self.allowances.documents.nothing();
        let opened = body::open(source, boundary, len, &mut held).await?;
        let fields = Fields::new(opened.fields, &opened.filename)?;
        let (key, mut payload) = (fields.key()?.to_owned(), opened.payload);
        let credentials = self.keyring.credentials();
        let field = |name: &str| fields.get(name);
        let signer = auth::signer_of_form(field, &credentials, &self.terms(), now_s())?;
        let is_signed = signer.is_some();
        let principal = match signer {
            Some(signatory) => signatory.principal(&credentials)?,
            None => credentials.unsigned(),
        };
        let is_legacy = fields.get("signature").is_some();
        let signing = if is_signed { Signing::Form { is_legacy } } else { Signing::None };
        note.access_key = principal.access_key().map(str::to_owned);
        tracing::debug!(operation = note.operation.name(), "identified");
        let bucket = target.bucket.clone().unwrap_or_default();
        let range = match fields.get("policy").map(Policy::read).transpose()? {
            Some(policy) => Some(policy.check(&fields, &bucket, now_s())?),
            None => None,
        };
        target.key = Some(key.clone());
        // What fields say of the object counts as what headers would.
        let said = fields.headers();
        let (target, query, now_s) = (&target, &query, now_s());
        let headers = said.as_ref().unwrap_or(&headers);
        let asked =
            authorise::Request { row, target, query, headers, address, secure, signing, now_s };
        let gate = authorise::check(asked, principal, self.archive()).await?;
        if let (Some(range), Some(file)) = (range, payload.as_file()) {
            file.bound(range);
        }
        let mut headers = said?;
        headers.extend(host.map(|host| (header::HOST, host)));
        let wish = Some(fields.wish());
        let (query, call) = (query.clone(), None);
        Ok(Asked { row, gate, bucket, key, query, headers, payload, wish, call })
    }

    /// Who sends a request, as its head tells: nobody in particular where its row says that no
    /// signature is to be looked at.
    fn sender(&self, head: &Head, row: Option<&Row>) -> Outcome<Sender> {
        match row.map(|row| row.signer) {
            Some(Signer::Anybody | Signer::Form | Signer::Caller) => Ok(self.nobody()),
            Some(Signer::Key | Signer::KeyOrNobody) | None => self.identify(&head.presented()),
        }
    }

    fn nobody(&self) -> Sender {
        Sender { principal: self.keyring.credentials().unsigned(), signed: None }
    }

    /// Who sends a request: the owner of the key that signed it, or nobody.
    fn identify(&self, presented: &Presented<'_>) -> Outcome<Sender> {
        if auth::is_unsigned(presented) {
            return Ok(self.nobody());
        }
        let credentials = self.keyring.credentials();
        let verified = auth::verify(presented, &credentials, &self.terms(), now_s())?;
        let principal = verified.who.principal(&credentials)?;
        Ok(Sender { principal, signed: Some((verified.payload, verified.chunks)) })
    }

    /// Where it is looked up what buckets say.
    pub(crate) fn archive(&self) -> Archive<'_> {
        Archive {
            store: &self.store,
            known: &self.buckets,
            store_account: &self.account,
            keyring: &self.keyring,
            region: &self.settings.region,
        }
    }

    /// What signatures are held against.
    pub(crate) fn terms(&self) -> Terms<'_> {
        let FrontSettings { region, signature_v2, encryption, .. } = &*self.settings;
        let (signature_v2, keys) = (*signature_v2, &encryption.keys);
        Terms { region, signature_v2, covered: op::covered(), keys }
    }
}

/// A request's head, read and not believed yet.
pub(crate) struct Head {
    method: Method,
    uri: Uri,
    pub(crate) headers: HeaderMap,
    pub(crate) query: Query,
    target: Target,
    /// The bucket, where the host names it.
    host_bucket: Option<String>,
}

impl Head {
    fn read(parts: Parts, domain: Option<&str>) -> Outcome<Self> {
        let Parts { method, uri, mut headers, .. } = parts;
        if !headers.contains_key(header::HOST)
            && let Some(host) = uri.authority()
            && let Ok(host) = HeaderValue::from_str(host.as_str())
        {
            headers.insert(header::HOST, host);
        }
        check_section(&method, &headers)?;
        let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
        let raw_query = uri.query().unwrap_or_default();
        uri::check_len(uri.path(), raw_query)?;
        let query = Query::parse(raw_query)?;
        let target = Target::parse(uri.path(), host, domain)?;
        let host_bucket = uri::host_bucket(host, domain);
        Ok(Self { method, uri, headers, query, target, host_bucket })
    }

    /// As far as signatures cover it.
    pub(crate) fn presented(&self) -> Presented<'_> {
        Presented {
            method: &self.method,
            path: self.uri.path(),
            raw_query: self.uri.query().unwrap_or_default(),
            query: &self.query,
            headers: &self.headers,
            host_bucket: self.host_bucket.as_deref(),
        }
    }
}

/// What comes with a request's head.
pub(crate) struct Arrived {
    pub(crate) source: Source,
    /// Bytes of the body, as they came.
    pub(crate) announced: Option<u64>,
    /// Whether nobody on the way can read or change it.
    secure: bool,
    /// Where the client is, as far as it is known.
    address: Option<IpAddr>,
}

/// What a request asks for, and who asks and may.
pub(crate) struct Asked {
    pub(crate) row: &'static Row,
    pub(crate) gate: Gate,
    pub(crate) bucket: String,
    pub(crate) key: String,
    pub(crate) query: Query,
    pub(crate) headers: HeaderMap,
    pub(crate) payload: Payload,
    pub(crate) wish: Option<Wish>,
    /// The parameters of a call.
    pub(crate) call: Option<Query>,
}

/// Seconds since 1970, now.
pub(crate) fn now_s() -> i64 {
    (date::now_ms() / 1000).cast_signed()
}

/// Who sends a request, and what the signature says of the body, if there is one.
struct Sender {
    principal: Principal,
    signed: Option<(PayloadClaim, Option<ChunkSigner>)>,
}

/// Whether the client waits for `100 Continue` before it sends a body.
fn holds_back(headers: &HeaderMap) -> bool {
    let expect = headers.get(header::EXPECT);
    expect.is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"100-continue"))
}

fn content_length(headers: &HeaderMap) -> Outcome<Option<u64>> {
    let Some(value) = headers.get(header::CONTENT_LENGTH) else { return Ok(None) };
    let len = value.to_str().ok().and_then(|text| text.parse().ok());
    len.map(Some).ok_or_else(|| Failure::new(Code::InvalidArgument, "Invalid Content-Length"))
}

/// Refuses a body that anybody on the way could replace. What has none is no worse for it.
fn refuse_unsigned(
    payload: &PayloadClaim,
    announced: Option<u64>,
    headers: &HeaderMap,
) -> Outcome<()> {
    let unsigned = match payload {
        PayloadClaim::Unsigned | PayloadClaim::Chunks { signed: false, .. } => true,
        PayloadClaim::Sha256(_)
        | PayloadClaim::Another
        | PayloadClaim::Chunks { signed: true, .. } => false,
    };
    let has_body = announced.map_or(headers.contains_key(header::TRANSFER_ENCODING), |len| len > 0);
    if unsigned && has_body {
        let message = "Bodies that are not signed are taken over TLS only.";
        return Err(Failure::new(Code::AccessDenied, message));
    }
    Ok(())
}

/// The body, framed as the signature says.
fn payload(
    claim: PayloadClaim,
    chunks: Option<ChunkSigner>,
    source: Source,
    announced: Option<u64>,
    headers: &HeaderMap,
) -> Outcome<Payload> {
    let PayloadClaim::Chunks { trailer, .. } = claim else {
        return Ok(Payload::plain(source, announced, claim.sha256(headers)));
    };
    let len = headers.get("x-amz-decoded-content-length");
    let len = len.and_then(|len| len.to_str().ok()?.parse().ok());
    let len = Some(len.ok_or(Code::MissingContentLength)?);
    let names = headers.get("x-amz-trailer").filter(|_| trailer);
    let names = names.and_then(|names| names.to_str().ok()).unwrap_or_default();
    let names = names.split(',').map(|name| name.trim().to_ascii_lowercase());
    let announced = names.filter(|name| !name.is_empty()).collect();
    Ok(Payload::chunked(source, Chunked::new(chunks, announced), len))
}
