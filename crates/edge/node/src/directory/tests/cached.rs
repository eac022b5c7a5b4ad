//! Reads on the asking thread: what may be answered so, and what must be left to a thread that may
//! wait.

use super::*;
use crate::directory::folder::FileSystem;
use rustix::fs::{Advice, CWD, FileType, Mode, fadvise};
use std::os::unix::fs::symlink;

/// A node whose folder is on a file system that is read so, and is known to be; `None` where these
/// tests' is not.
async fn known(root: &Path) -> Option<Directory> {
    let node = directory(root);
    node.put(NAME, body()).await.unwrap();
    let kind = FileSystem::of(File::open(root).unwrap()).unwrap();
    kind.opens_from_memory().then_some(node)
}

fn cached(node: &Directory, start: u64, lens: &[u32]) -> Option<Vec<Bytes>> {
    node.root.get_cached(NAME, start, lens, &node.blocks)
}

#[tokio::test]
async fn what_is_in_memory_is_read_without_a_thread() {
    let root = tempfile::tempdir().unwrap();
    let Some(node) = known(root.path()).await else { return };
    assert_eq!(cached(&node, 0, &[4, 4]), Some(body()));
    assert_eq!(cached(&node, 6, &[2]), Some(vec![Bytes::from_static(b"dy")]));
    assert_eq!(cached(&node, 6, &[3]), None, "past the end");
    assert_eq!(cached(&node, u64::MAX, &[1]), None, "far past the end");
    let other = FragmentId { index: 8, ..NAME };
    assert_eq!(node.root.get_cached(other, 0, &[0], &node.blocks), None, "missing");
}

#[tokio::test]
async fn a_folder_that_nothing_is_known_of_is_not_touched() {
    let root = tempfile::tempdir().unwrap();
    if known(root.path()).await.is_none() {
        return;
    }
    let node = directory(root.path());
    assert_eq!(cached(&node, 0, &[8]), None);
    node.health().await.unwrap();
    assert!(cached(&node, 0, &[8]).is_some());
}

#[tokio::test]
async fn what_is_not_in_memory_is_left_to_the_disk_s_threads() {
    let root = tempfile::tempdir().unwrap();
    let Some(node) = known(root.path()).await else { return };
    let long = vec![Bytes::from(vec![7; 100_000])];
    node.put(NAME, long.clone()).await.unwrap();
    let file = File::open(root.path().join(FILE)).unwrap();
    file.sync_all().unwrap();
    fadvise(&file, 0, None, Advice::DontNeed).unwrap();
    assert_eq!(cached(&node, 0, &[100_000]), None);
    assert_eq!(node.get_pieces(NAME, 0, &[100_000]).await.unwrap(), long);
    assert_eq!(cached(&node, 0, &[100_000]), Some(long), "read once, it is there");
    assert_eq!(node.get(NAME, 99_999..100_000).await.unwrap()[..], [7]);
}

#[tokio::test]
async fn long_reads_are_left_to_the_disk_s_threads() {
    let root = tempfile::tempdir().unwrap();
    let Some(node) = known(root.path()).await else { return };
    node.put(NAME, vec![Bytes::from(vec![7; 5 << 20])]).await.unwrap();
    assert_eq!(cached(&node, 0, &[5 << 20]), None);
    assert_eq!(node.get(NAME, 0..5 << 20).await.unwrap().len(), 5 << 20);
}

#[tokio::test]
async fn links_and_pipes_are_no_fragments() {
    let root = tempfile::tempdir().unwrap();
    let Some(node) = known(root.path()).await else { return };
    let (file, elsewhere) = (root.path().join(FILE), root.path().join("elsewhere"));
    fs::rename(&file, &elsewhere).unwrap();
    symlink(&elsewhere, &file).unwrap();
    assert_eq!(cached(&node, 0, &[8]), None, "a link");
    fs::remove_file(&file).unwrap();
    rustix::fs::mknodat(CWD, &file, FileType::Fifo, Mode::RWXU, 0).unwrap();
    assert_eq!(cached(&node, 0, &[0]), None, "a pipe");
    let folder = file.parent().unwrap();
    fs::remove_file(&file).unwrap();
    fs::remove_dir(folder).unwrap();
    let other = root.path().join("other");
    fs::create_dir(&other).unwrap();
    fs::rename(&elsewhere, other.join(file.file_name().unwrap())).unwrap();
    symlink(&other, folder).unwrap();
    assert_eq!(cached(&node, 0, &[8]), None, "a link to a folder");
}

#[tokio::test]
async fn a_link_may_lead_to_the_folder() {
    let root = tempfile::tempdir().unwrap();
    let Some(_) = known(root.path()).await else { return };
    let elsewhere = tempfile::tempdir().unwrap();
    let link = elsewhere.path().join("link");
    symlink(root.path(), &link).unwrap();
    let node = directory(&link);
    node.health().await.unwrap();
    // Where a link is followed for the first time, that is noted first, by who may wait.
    let mut read = None;
    for _ in 0..100 {
        assert_eq!(node.get_pieces(NAME, 0, &[4, 4]).await.unwrap(), body());
        read = cached(&node, 0, &[4, 4]);
        if read.is_some() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(read, Some(body()));
    let other = elsewhere.path().join("other");
    fs::create_dir(&other).unwrap();
    fs::remove_file(&link).unwrap();
    symlink(&other, &link).unwrap();
    assert_eq!(cached(&node, 0, &[4, 4]), None, "it leads elsewhere now");
}
