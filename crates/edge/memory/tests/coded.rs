//! The tier over real servers, which are killed, restarted and stopped.

#[path = "support/load.rs"]
mod load;
mod support;

use bytes::Bytes;
use futures::future::join_all;
use load::{items, name, put_all, read_all, said, until, value, write_until};
use ripstop_memory::{
    CodedMemory, CodedMemoryError, CodedMemorySettings, CodedMemorySettingsError, LinkSettings,
    MemcachedClient, Presence,
};
use ripstop_model::Code;
use std::{
    collections::BTreeSet,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};
use support::{Server, is_there, key, link, memory, over, settings};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_put_is_read_under_every_code() {
    if !is_there() {
        return;
    }
    for (code, count) in [((1, 1), 1), ((5, 3), 5), ((3, 3), 3), ((6, 4), 9)] {
        let (_servers, memory) = memory(code, count);
        put_all(&memory, 0..1500, 1).await;
        put_all(&memory, 0..700, 2).await;
        read_all(&memory, 0..700, 2).await;
        read_all(&memory, 700..1500, 1).await;
        until("stripes are sealed", || memory.status().sealed_stripes > 50).await;
        read_all(&memory, 0..700, 2).await;
        let status = memory.status();
        assert_eq!((status.keys, status.calls, status.held_bytes), (1500, 0, 0), "{status:?}");
        assert_eq!((status.decoded, status.damaged, status.refused), (0, 0, 0), "{status:?}");
        let missing = memory.get(b"none").await.unwrap();
        assert_eq!(missing, None);
        let names: Vec<String> = (690..710).map(name).collect();
        let names: Vec<&[u8]> = names.iter().map(String::as_bytes).collect();
        let many = memory.get_many(&names).await.unwrap();
        for (number, got) in (690..710).zip(many) {
            let turn = if number < 700 { 2 } else { 1 };
            assert_eq!(got.unwrap().bytes, value(number, turn));
        }
    }
}

#[tokio::test]
async fn conditions_hold_or_are_refused_and_versions_grow() {
    if !is_there() {
        return;
    }
    let (_servers, memory) = memory((5, 3), 5);
    let bytes = || Bytes::from_static(b"value");
    let put = |presence| memory.put(b"key", bytes(), presence);
    let refused = |version| Err(CodedMemoryError::Condition(version));
    assert_eq!(put(Presence::Present).await, refused(None));
    let first = put(Presence::Absent).await.unwrap();
    assert_eq!(put(Presence::Absent).await, refused(Some(first)));
    let second = put(Presence::Is(first)).await.unwrap();
    assert!(second > first);
    assert_eq!(put(Presence::Is(first)).await, refused(Some(second)));
    assert_eq!(memory.get(b"key").await.unwrap().unwrap().version, second);
    assert_eq!(
        memory.delete(b"key", Presence::Is(first)).await,
        Err(CodedMemoryError::Condition(Some(second)))
    );
    assert_eq!(memory.delete(b"key", Presence::Any).await, Ok(true));
    assert_eq!(memory.delete(b"key", Presence::Any).await, Ok(false));
    assert_eq!(memory.get(b"key").await, Ok(None));
    let empty = memory.put(b"key", Bytes::new(), Presence::Any).await.unwrap();
    assert_eq!(memory.get(b"key").await.unwrap().unwrap().bytes, Bytes::new());
    assert!(empty > second);
    let longest = Bytes::from(vec![7; 4092]);
    memory.put(b"long", longest.clone(), Presence::Any).await.unwrap();
    assert_eq!(memory.get(b"long").await.unwrap().unwrap().bytes, longest);
    let longer = memory.put(b"long", vec![7; (1 << 20) + 100].into(), Presence::Any).await;
    assert_eq!(longer, Err(CodedMemoryError::TooLong));
    assert_eq!(memory.get(&[]).await, Err(CodedMemoryError::Key(0)));
    assert_eq!(memory.get(&[0; 251]).await, Err(CodedMemoryError::Key(251)));
    memory.put(&[0; 250], bytes(), Presence::Any).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_two_of_five_servers_are_killed_under_load_and_every_answered_put_is_read() {
    if !is_there() {
        return;
    }
    for (first, second) in [(0, 1), (0, 3), (1, 4), (2, 3)] {
        let (mut servers, memory) = memory((5, 3), 5);
        put_all(&memory, 0..600, 0).await;
        let is_over = AtomicBool::new(false);
        let keys = |writer: usize| (0..600).filter(|key| key % 16 == writer).collect();
        let writers = join_all((0..16).map(|writer| write_until(&memory, &is_over, keys(writer))));
        let killer = async {
            tokio::time::sleep(Duration::from_millis(60)).await;
            servers[first].kill();
            tokio::time::sleep(Duration::from_millis(60)).await;
            servers[second].kill();
            tokio::time::sleep(Duration::from_millis(60)).await;
            is_over.store(true, Ordering::Relaxed);
        };
        let (turns, ()) = tokio::join!(writers, killer);
        for (writer, turns) in turns.into_iter().enumerate() {
            for (number, turn) in keys(writer).into_iter().zip(turns) {
                read_all(&memory, number..number + 1, turn).await;
            }
        }
        let status = memory.status();
        assert!(status.decoded > 0, "{status:?}");
        assert_eq!((status.keys, status.damaged), (600, 0), "{status:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_restarts_empty_is_noticed_and_used_again() {
    if !is_there() {
        return;
    }
    let (mut servers, memory) = memory((5, 3), 5);
    put_all(&memory, 0..500, 1).await;
    servers[2].restart();
    read_all(&memory, 0..500, 1).await;
    put_all(&memory, 500..1000, 1).await;
    read_all(&memory, 0..1000, 1).await;
    // It has items again.
    let begun = Instant::now();
    let mut count = 1000;
    while items(&servers[2]).await < 50 {
        assert!(begun.elapsed() < Duration::from_secs(20), "it is not used again");
        put_all(&memory, count..count + 50, 1).await;
        count += 50;
    }
    // Another may die now that it is back, and then one more.
    servers[0].kill();
    read_all(&memory, 500..count, 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_hangs_is_lost_and_emptied_when_it_goes_on() {
    if !is_there() {
        return;
    }
    let (servers, memory) = memory((5, 3), 5);
    put_all(&memory, 0..500, 1).await;
    until("stripes are sealed", || memory.status().sealed_stripes > 20).await;
    servers[1].stop();
    let begun = Instant::now();
    read_all(&memory, 0..500, 1).await;
    put_all(&memory, 0..250, 2).await;
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert!(memory.status().decoded > 0);
    servers[1].go_on();
    let begun = Instant::now();
    let mut number = 500;
    while !said(&servers[1], "stats\r\n").await.contains("STAT cmd_flush 2\r\n") {
        assert!(begun.elapsed() < Duration::from_secs(20), "it was not emptied");
        put_all(&memory, number..number + 10, 1).await;
        number += 10;
    }
    read_all(&memory, 0..250, 2).await;
    read_all(&memory, 250..number, 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_more_lost_than_may_be_reads_say_so_and_are_never_wrong() {
    if !is_there() {
        return;
    }
    let (mut servers, memory) = memory((5, 3), 5);
    put_all(&memory, 0..500, 1).await;
    for server in &mut servers[..3] {
        server.kill();
    }
    let mut lost = 0;
    for number in 0..500 {
        match memory.get(name(number).as_bytes()).await {
            Ok(Some(got)) => assert_eq!(got.bytes, value(number, 1)),
            Ok(None) | Err(CodedMemoryError::Unavailable) => lost += 1,
            Err(error) => panic!("{error}"),
        }
    }
    assert!((1..500).contains(&lost), "{lost}");
    // Two rings are left, and writes go on.
    put_all(&memory, 500..600, 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_tiers_and_a_stranger_share_servers_and_do_not_meet() {
    if !is_there() {
        return;
    }
    let servers: Vec<Server> = (0..5).map(|_| Server::start()).collect();
    let stranger = MemcachedClient::new(servers[0].at(), link());
    stranger.set(b"stranger", &Bytes::from_static(b"hers")).await.unwrap();
    let shared = |name: &str| {
        let settings = CodedMemorySettings {
            name: name.to_owned(),
            is_shared: true,
            ..settings((5, 3), &servers)
        };
        CodedMemory::new(settings, &key()).unwrap()
    };
    let (one, other) = (shared("one"), shared("other"));
    put_all(&one, 0..500, 1).await;
    put_all(&other, 0..500, 2).await;
    read_all(&one, 0..500, 1).await;
    read_all(&other, 0..500, 2).await;
    // A third of the same name is another run.
    let third = shared("one");
    assert_eq!(third.get(name(1).as_bytes()).await, Ok(None));
    put_all(&third, 0..500, 3).await;
    read_all(&one, 0..500, 1).await;
    read_all(&third, 0..500, 3).await;
    assert_eq!(stranger.get(b"stranger").await.unwrap(), Some(Bytes::from_static(b"hers")));
    // One that is alone empties them.
    let alone = over((5, 3), &servers);
    put_all(&alone, 0..10, 1).await;
    assert_eq!(stranger.get(b"stranger").await.unwrap(), None);
}

/// Overwrites items at a server, whatever they are called, through its own list of keys.
async fn spoil(server: &Server, bytes: &Bytes) -> usize {
    let text = said(server, "lru_crawler metadump all\r\n").await;
    let names = text.lines().filter_map(|line| line.strip_prefix("key=")?.split(' ').next());
    // Keys are quoted as in addresses; the one that ends so shows that nothing was lost.
    let names = names.map(|name| name.replace("%2B", "+").replace("%21", "!"));
    let names: BTreeSet<String> = names.filter(|name| !name.ends_with('!')).collect();
    let client = MemcachedClient::new(server.at(), link());
    for name in &names {
        // A copy may be deleted meanwhile: its chunk is sealed.
        let item = client.get(name.as_bytes()).await.expect("it is there");
        let Some(mut item) = item.map(Vec::from) else { continue };
        let at = item.len() / 2;
        item[at] ^= 4;
        let item = if bytes.is_empty() { item.into() } else { bytes.clone() };
        client.set(name.as_bytes(), &item).await.expect("it is there");
    }
    names.len()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flipped_bit_and_other_bytes_are_erasures() {
    if !is_there() {
        return;
    }
    for bytes in [Bytes::new(), Bytes::from_static(b"other"), vec![9; 5000].into()] {
        let (servers, memory) = memory((5, 3), 5);
        put_all(&memory, 0..500, 1).await;
        until("stripes are sealed", || memory.status().sealed_stripes > 20).await;
        let spoiled = spoil(&servers[3], &bytes).await;
        assert!(spoiled > 50, "{spoiled}");
        read_all(&memory, 0..500, 1).await;
        let status = memory.status();
        assert!(status.damaged > 0 && status.decoded > 0, "{status:?}");
    }
}

#[tokio::test]
async fn more_bytes_under_way_than_may_be_are_refused_as_busy() {
    if !is_there() {
        return;
    }
    let servers: Vec<Server> = (0..5).map(|_| Server::start()).collect();
    let settings = CodedMemorySettings { bytes_max: 50_000, ..settings((5, 3), &servers) };
    let memory = CodedMemory::new(settings, &key()).unwrap();
    let puts = (0..100).map(|number| {
        let memory = &memory;
        async move { memory.put(name(number).as_bytes(), value(number, 0), Presence::Any).await }
    });
    let done = join_all(puts).await;
    let busy = done.iter().filter(|done| **done == Err(CodedMemoryError::Busy)).count();
    assert!((50..100).contains(&busy), "{busy}");
    assert!(done.iter().all(|done| matches!(done, Ok(_) | Err(CodedMemoryError::Busy))));
    assert_eq!(memory.status().held_bytes, 0);
    for (number, done) in done.iter().enumerate().filter(|(_, done)| done.is_ok()) {
        assert!(done.is_ok());
        read_all(&memory, number..number + 1, 0).await;
    }
}

#[test]
fn settings_that_are_none_are_refused() {
    let at = |port| ([127, 0, 0, 1], port).into();
    let of = |rings| CodedMemorySettings {
        name: "tests".to_owned(),
        code: Code::new(2, 1).unwrap(),
        rings,
        is_shared: false,
        link: LinkSettings::default(),
        bytes_max: 1 << 20,
    };
    let refused = |rings| CodedMemory::new(of(rings), &key()).unwrap_err();
    let few = CodedMemorySettingsError::Rings { rings: 1, n: 2 };
    assert_eq!(refused(vec![vec![at(1)]]), few);
    let empty = CodedMemorySettingsError::Empty(1);
    assert_eq!(refused(vec![vec![at(1)], vec![]]), empty);
    let twice = CodedMemorySettingsError::Twice(at(1));
    assert_eq!(refused(vec![vec![at(1), at(2)], vec![at(1)]]), twice);
}
