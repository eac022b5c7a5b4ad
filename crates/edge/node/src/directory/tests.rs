mod cached;
mod folders;

use super::*;
use futures::TryStreamExt;
use proptest::prelude::*;
use ripstop_model::StripeId;
use std::{
    fs::{self, File},
    os::unix::fs::PermissionsExt,
    path::Path,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, SystemTime},
};

const NAME: FragmentId = FragmentId { stripe: StripeId(0x1234_abcd), index: 7 };
const FILE: &str = "cd/0000000000000000000000001234abcd.007";

fn directory(root: &Path) -> Directory {
    Directory::new(root.into(), DirectorySettings::default())
}

fn body() -> Vec<Bytes> {
    vec![Bytes::from_static(b"head"), Bytes::from_static(b"body")]
}

async fn listed(node: &Directory) -> Result<Vec<FragmentId>, NodeError> {
    node.list().map_ok(|listed| listed.name).try_collect().await
}

async fn all_unavailable(node: &Directory) {
    let outcomes = [
        node.get(NAME, 0..1).await.map(drop),
        node.get(NAME, 0..0).await.map(drop),
        node.put(NAME, body()).await,
        node.delete(NAME).await,
        listed(node).await.map(drop),
        node.health().await,
    ];
    for (at, outcome) in outcomes.iter().enumerate() {
        assert!(matches!(outcome, Err(NodeError::Unavailable { .. })), "{at}: {outcome:?}");
    }
}

#[tokio::test]
async fn a_fragment_is_a_file_and_nothing_temporary_stays() {
    let root = tempfile::tempdir().unwrap();
    let node = directory(root.path());
    node.put(NAME, body()).await.unwrap();
    assert_eq!(fs::read(root.path().join(FILE)).unwrap(), b"headbody");
    assert_eq!(fs::read_dir(root.path().join(".ripstop-tmp")).unwrap().count(), 0);
    let listed: Vec<Listed> = node.list().try_collect().await.unwrap();
    assert_eq!((listed.len(), listed[0].name, listed[0].len), (1, NAME, 8));
    node.delete(NAME).await.unwrap();
    assert!(!root.path().join(FILE).exists());
}

#[tokio::test]
async fn fragments_and_their_folders_are_their_owners_alone() {
    let root = tempfile::tempdir().unwrap();
    let node = directory(root.path());
    node.put(NAME, body()).await.unwrap();
    let mode = |path: &str| {
        let metadata = fs::metadata(root.path().join(path)).unwrap();
        format!("{path} {:o}", metadata.permissions().mode() & 0o7777)
    };
    let modes = [&format!("{FILE} 600"), "cd 700", ".ripstop-tmp 700"];
    assert_eq!([FILE, "cd", ".ripstop-tmp"].map(mode), modes);
}

#[tokio::test]
async fn a_missing_root_is_unavailable_never_made_and_serves_once_it_is_back() {
    let above = tempfile::tempdir().unwrap();
    let root = above.path().join("disk");
    let node = directory(&root);
    all_unavailable(&node).await;
    assert!(!root.exists());
    for _ in 0..2 {
        fs::create_dir(&root).unwrap();
        node.health().await.unwrap();
        assert!(matches!(node.get(NAME, 0..1).await, Err(NodeError::Missing)));
        node.delete(NAME).await.unwrap();
        node.put(NAME, body()).await.unwrap();
        assert_eq!(node.get(NAME, 2..6).await.unwrap(), "adbo");
        fs::remove_dir_all(&root).unwrap();
        all_unavailable(&node).await;
        assert!(!root.exists());
    }
    File::create(&root).unwrap();
    all_unavailable(&node).await;
}

#[tokio::test]
async fn foreign_files_are_passed_over_and_left_alone() {
    let root = tempfile::tempdir().unwrap();
    let node = directory(root.path());
    node.put(NAME, body()).await.unwrap();
    let other_byte = "cd/00000000000000000000000000000001.000";
    for file in ["readme", "cd/readme", other_byte, "cd/0000000000000000000000001234abcd.7"] {
        File::create_new(root.path().join(file)).unwrap();
    }
    fs::create_dir(root.path().join("cd/000000000000000000000000000000cd.000")).unwrap();
    fs::create_dir(root.path().join("folder")).unwrap();
    File::create(root.path().join("ff")).unwrap();
    assert_eq!(listed(&node).await.unwrap(), [NAME]);
    assert!(root.path().join("cd/readme").exists());
}

#[tokio::test]
async fn more_segments_than_one_system_call_takes_are_written() {
    let root = tempfile::tempdir().unwrap();
    let node = directory(root.path());
    let segments: Vec<Bytes> =
        (0..5000u32).map(|i| vec![i as u8; i as usize % 40].into()).collect();
    let whole = segments.concat();
    node.put(NAME, segments).await.unwrap();
    assert_eq!(node.get(NAME, 0..whole.len() as u64).await.unwrap(), whole);
}

#[tokio::test]
async fn a_file_in_place_of_a_folder_fails_without_leaving_anything() {
    let root = tempfile::tempdir().unwrap();
    let node = directory(root.path());
    File::create(root.path().join("cd")).unwrap();
    assert!(matches!(node.put(NAME, body()).await, Err(NodeError::Unavailable { .. })));
    assert!(matches!(node.get(NAME, 0..1).await, Err(NodeError::Missing)));
    assert_eq!(fs::read_dir(root.path().join(".ripstop-tmp")).unwrap().count(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn puts_of_many_writers_race_for_folders_and_all_arrive() {
    let root = tempfile::tempdir().unwrap();
    let nodes = [directory(root.path()), directory(root.path())];
    let name = |i: u128| FragmentId { stripe: StripeId(i), index: 0 };
    let puts = (0..200).flat_map(|i| nodes.iter().map(move |node| node.put(name(i), body())));
    futures::future::try_join_all(puts).await.unwrap();
    assert_eq!(listed(&nodes[0]).await.unwrap().len(), 200);
}

/// Has every thread for operations of a node hang until what is returned is dropped.
async fn hang(node: &Directory) -> std::sync::mpsc::Sender<()> {
    let (open, gate) = std::sync::mpsc::channel::<()>();
    let (gate, begun) = (Arc::new(Mutex::new(gate)), Arc::new(AtomicUsize::new(0)));
    let threads = usize::from(DirectorySettings::default().lanes) + THREADS_BESIDE_LANES;
    for _ in 0..threads {
        let (gate, begun) = (Arc::clone(&gate), Arc::clone(&begun));
        let hangs = move || {
            begun.fetch_add(1, Ordering::SeqCst);
            let _ = gate.lock().map(|gate| gate.recv());
        };
        node.operations.hand_in(hangs).unwrap().keep();
    }
    while begun.load(Ordering::SeqCst) < threads {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    open
}

#[tokio::test]
async fn a_disk_that_hangs_holds_up_no_other_and_what_waits_for_it_is_bounded() {
    let roots = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let [hung, well] = [directory(roots[0].path()), directory(roots[1].path())];
    let open = hang(&hung).await;
    let name = |i: u128| FragmentId { stripe: StripeId(i), index: 0 };
    let mut waiting = Vec::new();
    for i in 0..OPERATIONS_WAITING_MAX as u128 {
        let mut put = hung.put(name(i), body());
        assert!(futures::poll!(&mut put).is_pending());
        waiting.push(put);
    }
    let refused = hung.get(NAME, 0..1).await.unwrap_err().to_string();
    assert!(refused.contains("1024 wait for 20 threads"), "{refused}");
    for i in 0..100 {
        well.put(name(i), body()).await.unwrap();
        assert_eq!(well.get(name(i), 2..6).await.unwrap(), "adbo");
    }
    drop(waiting);
    assert!(futures::poll!(hung.put(NAME, body())).is_pending(), "those that left made room");
    drop(open);
    hung.put(NAME, body()).await.unwrap();
    assert_eq!(listed(&hung).await.unwrap(), [NAME], "of those that left, none was stored");
}

#[tokio::test]
async fn dropping_a_node_whose_disk_hangs_does_not_wait() {
    let root = tempfile::tempdir().unwrap();
    let node = directory(root.path());
    let open = hang(&node).await;
    let start = std::time::Instant::now();
    drop(node);
    assert!(start.elapsed() < Duration::from_secs(5));
    drop(open);
}

#[test]
fn what_space_and_permission_forbid_is_refused() {
    for (code, refused) in
        [(28, true), (122, true), (13, true), (30, true), (5, false), (24, false)]
    {
        let error = root::failed_io("writing", &std::io::Error::from_raw_os_error(code));
        assert_eq!(matches!(error, NodeError::Refused { .. }), refused, "{error}");
        assert!(error.to_string().contains("writing: "), "{error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn a_range_is_that_of_the_whole(
        segments in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..100), 0..6),
        start in 0..700u64, len in 0..700u64,
    ) {
        let whole = segments.concat();
        let root = tempfile::tempdir()?;
        let settings = DirectorySettings { durability: PutDurability::Relaxed, ..DirectorySettings::default() };
        let node = Directory::new(root.path().into(), settings);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
        let got = runtime.block_on(async {
            node.put(NAME, segments.into_iter().map(Bytes::from).collect()).await?;
            node.get(NAME, start..start + len).await
        });
        if let Some(slice) = whole.get(start as usize..(start + len) as usize) {
            prop_assert_eq!(&got?[..], slice);
        } else {
            let short = matches!(got, Err(NodeError::Short { .. }));
            prop_assert!(short);
        }
    }
}
