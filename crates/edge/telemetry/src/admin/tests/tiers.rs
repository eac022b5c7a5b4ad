//! Memory tiers are shown, and told what to do; what cannot be changes nothing.

use super::{Served, admin};
use crate::{Admin, AdminSettings, MemoryTierStatus};
use ripstop_memory::{CodedMemory, CodedMemorySettings, LinkSettings};
use ripstop_model::Code;
use ripstop_seal::StoreKey;
use std::net::SocketAddr;

/// Where nobody listens.
fn nobody(port: u16) -> SocketAddr {
    ([127, 0, 0, 1], port).into()
}

fn memory() -> CodedMemory {
    let settings = CodedMemorySettings {
        name: "t".to_owned(),
        code: Code::new(2, 1).unwrap(),
        rings: vec![vec![nobody(1)], vec![nobody(2)]],
        is_shared: false,
        link: LinkSettings::default(),
        bytes_max: 1 << 20,
    };
    CodedMemory::new(settings, &StoreKey::from_bytes([1; 32])).unwrap()
}

fn shown(answer: &(u16, String)) -> MemoryTierStatus {
    assert_eq!(answer.0, 200, "{}", answer.1);
    let body = answer.1.split("\r\n\r\n").nth(1).unwrap();
    match serde_json::from_str::<Vec<_>>(body) {
        Ok(mut tiers) => tiers.pop().unwrap(),
        Err(_) => serde_json::from_str(body).unwrap(),
    }
}

#[tokio::test]
async fn a_tier_is_shown_and_its_servers_come_and_go() {
    let tiers = vec![("near".to_owned(), memory())];
    let served = Served::by(Admin { tiers, ..admin(None) }, AdminSettings::default()).await;
    let post = |path: &'static str| {
        let (line, host) = (format!("POST /tiers/{path}"), format!("host: {}\r\n", served.at));
        let served = &served;
        async move { served.ask(&line, &host).await }
    };
    let status = shown(&served.get("/tiers").await);
    assert_eq!((&*status.name, status.keys, status.servers.len()), ("near", 0, 2));
    for (path, code, words) in [
        ("far/repair", 404, "there is no such tier"),
        ("near/add?ring=0", 400, "ring=NUMBER&server=ADDRESS:PORT"),
        ("near/add?ring=0&server=here", 400, "ring=NUMBER&server=ADDRESS:PORT"),
        ("near/remove?server=127.0.0.1:1&now=1", 400, "server=ADDRESS:PORT"),
        ("near/add?ring=2&server=127.0.0.1:9", 409, "ring 2: there is no such ring"),
        ("near/add?ring=1&server=127.0.0.1:1", 409, "127.0.0.1:1 is there already"),
        ("near/remove?server=127.0.0.1:9", 409, "127.0.0.1:9 is not there"),
        ("near/remove?server=127.0.0.1:1", 409, "127.0.0.1:1 is the last one of its ring"),
    ] {
        let (answered, text) = post(path).await;
        assert!(answered == code && text.contains(words), "{path}: {text}");
    }
    let ports = |status: &MemoryTierStatus| -> Vec<u16> {
        status.servers.iter().map(|server| server.server.port()).collect()
    };
    assert_eq!(ports(&shown(&served.get("/tiers").await)), [1, 2], "nothing changed");
    let status = shown(&post("near/add?ring=1&server=127.0.0.1:3").await);
    assert_eq!(ports(&status), [1, 2, 3]);
    assert_eq!(status.servers[2].ring, 1);
    let status = shown(&post("near/remove?server=127.0.0.1:2").await);
    assert!(!ports(&status).contains(&2) || status.servers[1].state == "leaving");
    assert_eq!(shown(&post("near/repair").await).wounds, 0);
}

#[tokio::test]
async fn a_page_of_the_web_changes_no_tier() {
    let tiers = vec![("near".to_owned(), memory())];
    let served = Served::by(Admin { tiers, ..admin(None) }, AdminSettings::default()).await;
    let line = "POST /tiers/near/add?ring=1&server=127.0.0.1:3";
    let headers = "host: localhost\r\norigin: http://example.org\r\n";
    assert_eq!(served.ask(line, headers).await.0, 403);
    assert_eq!(served.ask("GET /tiers/near/add", "host: localhost\r\n").await.0, 405);
}
