//! Buckets as websites: on a port of their own, of what anybody may read.
#![allow(clippy::unwrap_used, reason = "a test ends where anything fails")]

#[path = "common/client.rs"]
#[allow(dead_code, reason = "each user takes its part")]
mod client;
#[path = "common/mod.rs"]
mod common;

use client::{Answer, Call};
use ripstop_identity::{BucketRights, Right, Rights};
use ripstop_s3::{Credentials, FrontSettings, Unobserved, serve, serve_website};
use std::{net::SocketAddr, sync::Arc};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// A face and its websites over buckets `public`, which anybody may read, and `secret`.
struct Sites {
    s3: SocketAddr,
    web: SocketAddr,
    _folder: tempfile::TempDir,
}

impl Sites {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (store, _nodes) = common::store(folder.path(), ripstop_store::StoreSettings::default());
        let (one, other) = (listener().await, listener().await);
        let (s3, web) = (one.local_addr().unwrap(), other.local_addr().unwrap());
        let mut credentials: Credentials = [("test", "testtest")].into_iter().collect();
        let rule = BucketRights::new("public".parse().unwrap(), [Right::Read]);
        credentials.grant_unsigned(Rights::of(vec![rule]).unwrap()).unwrap();
        let keyring = ripstop_s3::Keyring::from(credentials);
        let website_domain = Some("sites.example".to_owned());
        let settings = FrontSettings { website_domain, ..FrontSettings::default() };
        let (stop, observer) = (CancellationToken::new(), Arc::new(Unobserved));
        let (sites, of_web) = (store.clone(), settings.clone());
        let face = serve(one, store, keyring.clone(), settings, observer.clone(), stop.clone());
        tokio::spawn(face);
        tokio::spawn(serve_website(other, sites, keyring, of_web, observer, stop));
        for bucket in ["public", "secret"] {
            assert_eq!(Call::new("PUT", &format!("/{bucket}")).send(s3, b"").await.status, 200);
        }
        Self { s3, web, _folder: folder }
    }

    async fn configure(&self, bucket: &str, inner: &str) {
        let document = format!("<WebsiteConfiguration>{inner}</WebsiteConfiguration>");
        let call = Call::new("PUT", &format!("/{bucket}")).query("website=");
        let answer = call.send(self.s3, document.as_bytes()).await;
        assert_eq!(answer.status, 200, "{}", text(&answer));
    }

    async fn put(&self, path: &str, body: &str) {
        let call = Call::new("PUT", path).header("content-type", "text/html");
        assert_eq!(call.send(self.s3, body.as_bytes()).await.status, 200);
    }

    async fn ask(&self, method: &'static str, host: &str, path: &str) -> Answer {
        let call = Call::new(method, path).header("host", host);
        call.send_unsigned(self.web, b"").await
    }

    async fn get(&self, path: &str) -> Answer {
        self.ask("GET", "public.sites.example", path).await
    }
}

async fn listener() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").await.unwrap()
}

fn text(answer: &Answer) -> String {
    String::from_utf8_lossy(&answer.body).into_owned()
}

const INDEX: &str = "<IndexDocument><Suffix>index.html</Suffix></IndexDocument>";

#[tokio::test(flavor = "multi_thread")]
async fn a_website_shows_its_pages_to_anybody() {
    let sites = Sites::new().await;
    let answer = sites.get("/").await;
    assert_eq!(answer.status, 404);
    assert_eq!(answer.header("x-amz-error-code"), Some("NoSuchWebsiteConfiguration"));
    sites.configure("public", INDEX).await;
    sites.put("/public/index.html", "welcome").await;
    sites.put("/public/deep/index.html", "deep").await;
    sites.put("/public/page", "0123456789").await;
    for (path, body) in [("/", "welcome"), ("/deep/", "deep"), ("/page?x=1&acl", "0123456789")] {
        let answer = sites.get(path).await;
        assert_eq!((answer.status, &*text(&answer)), (200, body), "{path}");
        assert_eq!(answer.header("content-type"), Some("text/html"));
    }
    let by_name = sites.ask("GET", "public", "/").await;
    assert_eq!((by_name.status, &*text(&by_name)), (200, "welcome"), "a host of its own");
    let answer = sites.get("/deep").await;
    assert_eq!((answer.status, answer.header("location")), (302, Some("/deep/")));
    let head = sites.ask("HEAD", "public.sites.example:80", "/page").await;
    assert_eq!((head.status, head.header("content-length")), (200, Some("10")));
    let call = Call::new("GET", "/page").header("host", "public").header("range", "bytes=2-4");
    let answer = call.send_unsigned(sites.web, b"").await;
    assert_eq!((answer.status, &*text(&answer)), (206, "234"));
    let etag = answer.header("etag").unwrap().to_owned();
    let call = Call::new("GET", "/page").header("host", "public").header("if-none-match", etag);
    assert_eq!(call.send_unsigned(sites.web, b"").await.status, 304);
    for method in ["PUT", "POST", "DELETE", "OPTIONS"] {
        let answer = sites.ask(method, "public", "/page").await;
        assert_eq!((answer.status, answer.header("allow")), (405, Some("GET, HEAD")), "{method}");
    }
    assert_eq!(text(&sites.get("/page").await), "0123456789", "nothing changed");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_may_not_be_read_unsigned_is_not_shown() {
    let sites = Sites::new().await;
    sites.configure("secret", INDEX).await;
    sites.put("/secret/index.html", "secret").await;
    let answer = sites.ask("GET", "secret.sites.example", "/").await;
    assert_eq!(answer.status, 403);
    assert_eq!(answer.header("x-amz-error-code"), Some("AccessDenied"));
    assert!(text(&answer).starts_with("<html>") && !text(&answer).contains("secret"));
    let signed = Call::new("GET", "/").header("host", "secret").send(sites.web, b"").await;
    assert_eq!(signed.status, 403, "signatures are not looked at");
    for host in ["none", "..", "Not/A/Bucket", ""] {
        let answer = sites.ask("GET", host, "/").await;
        assert!((400..500).contains(&answer.status), "{host}: {}", answer.status);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_are_told_by_the_page_for_them_or_lead_elsewhere() {
    let sites = Sites::new().await;
    let rules = "<RoutingRules><RoutingRule><Condition><KeyPrefixEquals>gone/</KeyPrefixEquals>\
        <HttpErrorCodeReturnedEquals>404</HttpErrorCodeReturnedEquals></Condition><Redirect>\
        <HostName>fallback.example.com</HostName><ReplaceKeyPrefixWith>kept/</ReplaceKeyPrefixWith>\
        <HttpRedirectCode>307</HttpRedirectCode></Redirect></RoutingRule></RoutingRules>";
    let error = "<ErrorDocument><Key>error.html</Key></ErrorDocument>";
    sites.configure("public", &format!("{INDEX}{error}{rules}")).await;
    let answer = sites.get("/missing").await;
    assert_eq!(answer.status, 404);
    assert!(text(&answer).contains("NoSuchKey"), "{}", text(&answer));
    sites.put("/public/error.html", "sorry").await;
    let answer = sites.get("/missing").await;
    assert_eq!((answer.status, &*text(&answer)), (404, "sorry"));
    let answer = sites.get("/gone/page").await;
    let to = Some("http://fallback.example.com/kept/page");
    assert_eq!((answer.status, answer.header("location")), (307, to));
    let call = Call::new("PUT", "/public/moved")
        .header("x-amz-website-redirect-location", "https://example.com/new");
    assert_eq!(call.send(sites.s3, b"").await.status, 200);
    let answer = sites.get("/moved").await;
    assert_eq!((answer.status, answer.header("location")), (301, Some("https://example.com/new")));
    let elsewhere = "<RedirectAllRequestsTo><HostName>www.example.com</HostName>\
        <Protocol>https</Protocol></RedirectAllRequestsTo>";
    sites.configure("public", elsewhere).await;
    let answer = sites.get("/any/path%20here").await;
    let to = Some("https://www.example.com/any/path%20here");
    assert_eq!((answer.status, answer.header("location")), (301, to));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_configuration_is_put_read_and_deleted() {
    let sites = Sites::new().await;
    let call = |method| Call::new(method, "/public").query("website=");
    assert_eq!(call("GET").send(sites.s3, b"").await.code(), "NoSuchWebsiteConfiguration");
    let answer = call("PUT").send(sites.s3, b"<WebsiteConfiguration/>").await;
    assert_eq!((answer.status, answer.code()), (400, "InvalidArgument".to_owned()));
    let large = format!("<WebsiteConfiguration>{}", " ".repeat(128 << 10));
    let answer = call("PUT").send(sites.s3, large.as_bytes()).await;
    assert_eq!(answer.code(), "MaxMessageLengthExceeded");
    sites.configure("public", INDEX).await;
    assert!(text(&call("GET").send(sites.s3, b"").await).contains(INDEX));
    assert_eq!(call("DELETE").send(sites.s3, b"").await.status, 204);
    assert_eq!(call("GET").send(sites.s3, b"").await.status, 404);
}
