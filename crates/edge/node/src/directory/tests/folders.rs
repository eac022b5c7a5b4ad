//! What lies in a node's folder and is not the node's: links, pipes, other people's files.

use super::*;
use rustix::fs::{CWD, FileType, Mode};
use std::os::unix::fs::symlink;

const STORE: u64 = 7;

fn marked_as(root: &Path, store: u64, node: &str) -> Directory {
    let mark = Some(NodeMark { store, node: node.into() });
    Directory::new(root.into(), DirectorySettings { mark, ..DirectorySettings::default() })
}

fn marked(root: &Path) -> Directory {
    marked_as(root, STORE, "d1")
}

fn pipe(path: &Path) {
    rustix::fs::mknodat(CWD, path, FileType::Fifo, Mode::RWXU, 0).unwrap();
}

/// What an operation says: one that hangs fails the test.
async fn soon<T>(asked: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), asked).await.expect("it blocks")
}

/// Why a folder is not taken.
async fn refusal(node: &Directory) -> String {
    let error = node.admit().await.unwrap_err();
    assert!(matches!(error, AdmitError::Foreign { .. }), "{error}");
    let text = error.to_string();
    for outcome in [node.put(NAME, body()).await, node.health().await] {
        assert!(matches!(outcome, Err(NodeError::Unavailable { .. })), "{outcome:?}");
    }
    assert!(matches!(listed(node).await, Err(NodeError::Unavailable { .. })));
    text
}

#[tokio::test]
async fn what_is_no_regular_file_is_no_fragment_and_does_not_block() {
    let root = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::NamedTempFile::new().unwrap();
    let file = root.path().join(FILE);
    let node = directory(root.path());
    for place in ["pipe", "link", "folder", "socket"] {
        node.put(NAME, body()).await.unwrap();
        fs::remove_file(&file).unwrap();
        match place {
            "pipe" => pipe(&file),
            "link" => symlink(elsewhere.path(), &file).unwrap(),
            "folder" => fs::create_dir(&file).unwrap(),
            _ => drop(std::os::unix::net::UnixListener::bind(&file).unwrap()),
        }
        let got = soon(node.get(NAME, 0..0)).await;
        assert!(matches!(got, Err(NodeError::Missing)), "{place}: {got:?}");
        assert_eq!(soon(listed(&node)).await.unwrap(), [], "{place}");
        if place == "folder" {
            fs::remove_dir(&file).unwrap();
            continue;
        }
        node.put(NAME, body()).await.unwrap();
        assert_eq!(node.get(NAME, 0..8).await.unwrap(), "headbody", "{place} is replaced");
        assert_eq!(fs::read(elsewhere.path()).unwrap(), b"", "nothing goes through a link");
        node.delete(NAME).await.unwrap();
    }
}

#[tokio::test]
async fn a_subfolder_that_is_a_link_is_not_followed() {
    let (root, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let node = directory(root.path());
    let theirs = other.path().join(FILE.split_once('/').unwrap().1);
    fs::write(&theirs, "theirs").unwrap();
    symlink(other.path(), root.path().join("cd")).unwrap();
    assert!(matches!(node.get(NAME, 0..1).await, Err(NodeError::Missing)));
    assert!(matches!(node.put(NAME, body()).await, Err(NodeError::Unavailable { .. })));
    assert_eq!(listed(&node).await.unwrap(), []);
    node.delete(NAME).await.unwrap();
    assert_eq!(fs::read(&theirs).unwrap(), b"theirs");
    fs::remove_dir_all(root.path().join(".ripstop-tmp")).unwrap();
    symlink(other.path(), root.path().join(".ripstop-tmp")).unwrap();
    let name = FragmentId { stripe: StripeId(1), ..NAME };
    assert!(matches!(node.put(name, body()).await, Err(NodeError::Unavailable { .. })));
    assert_eq!(fs::read_dir(other.path()).unwrap().count(), 1);
}

#[tokio::test]
async fn the_root_may_be_a_link_which_is_the_operators() {
    let above = tempfile::tempdir().unwrap();
    fs::create_dir(above.path().join("disk")).unwrap();
    symlink("disk", above.path().join("d1")).unwrap();
    let node = marked(&above.path().join("d1"));
    node.admit().await.unwrap();
    node.put(NAME, body()).await.unwrap();
    assert!(above.path().join("disk").join(FILE).exists());
}

/// A file as an earlier writer left it, or somebody else's.
fn place(folder: &Path, name: &str, age: Duration) -> PathBuf {
    fs::create_dir_all(folder).unwrap();
    let path = folder.join(name);
    let file = File::create(&path).unwrap();
    file.set_len(10).unwrap();
    file.set_modified(SystemTime::now() - age).unwrap();
    path
}

const DEAD: &str = "123-0123456789abcdef-42";
const DAY: Duration = Duration::from_hours(24);

#[tokio::test]
async fn what_dead_writers_left_is_freed_at_the_start_and_nothing_else() {
    let (root, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    marked(root.path()).admit().await.unwrap();
    let tmp = root.path().join(".ripstop-tmp");
    let dead = place(&tmp, DEAD, Duration::ZERO);
    let kept = [
        place(&tmp, "my-thesis.doc", DAY),
        place(&tmp, "1-2-3", DAY),
        place(&tmp, "123-0123456789abcdef-42.doc", DAY),
        place(other.path(), DEAD, DAY),
    ];
    symlink(other.path().join(DEAD), tmp.join("124-0123456789abcdef-1")).unwrap();
    let before = place(&root.path().join("tmp"), DEAD, Duration::ZERO);
    let node = marked(root.path());
    node.admit().await.unwrap();
    assert!(!dead.exists());
    assert!(!before.exists() && !root.path().join("tmp").exists(), "as versions before named it");
    assert!(kept.iter().all(|path| path.exists()));
    // Another start of the node that runs is not known to be dead from its own writes.
    node.put(NAME, body()).await.unwrap();
}

#[tokio::test]
async fn a_temporary_folder_of_somebody_else_is_left_alone() {
    let (root, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let node = marked(root.path());
    node.put(NAME, body()).await.unwrap();
    let theirs = place(&root.path().join("tmp"), "other.db", DAY);
    marked(root.path()).admit().await.unwrap();
    assert!(theirs.exists());
    fs::remove_dir_all(root.path().join("tmp")).unwrap();
    let behind = place(other.path(), DEAD, DAY);
    symlink(other.path(), root.path().join("tmp")).unwrap();
    marked(root.path()).admit().await.unwrap();
    assert!(behind.exists() && root.path().join("tmp").exists());
}

#[tokio::test]
async fn leftovers_are_counted_and_freed_once_they_have_aged() {
    let root = tempfile::tempdir().unwrap();
    let node = directory(root.path());
    let tmp = root.path().join(".ripstop-tmp");
    let (old, young) = (place(&tmp, DEAD, DAY), place(&tmp, "123-0123456789abcdef-43", DAY / 24));
    let count = |files, freed| Leftovers { files, bytes: 10 * files, freed };
    assert_eq!(node.leftovers(DAY / 2, false).await.unwrap(), count(1, 0));
    assert_eq!(node.leftovers(DAY / 2, true).await.unwrap(), count(1, 1));
    assert!(!old.exists() && young.exists());
    // With its mark on the folder, the node knows that nobody else writes there.
    let node = marked(root.path());
    node.put(NAME, body()).await.unwrap();
    assert!(!young.exists());
    place(&tmp, DEAD, Duration::ZERO);
    assert_eq!(node.leftovers(DAY, true).await.unwrap(), count(1, 1));
}

#[tokio::test]
async fn an_empty_folder_is_marked_and_so_is_one_with_fragments_of_ours() {
    let roots = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    fs::create_dir(roots[0].path().join("lost+found")).unwrap();
    directory(roots[1].path()).put(NAME, body()).await.unwrap();
    File::create(roots[1].path().join("readme")).unwrap();
    fs::create_dir(roots[1].path().join("tmp")).unwrap();
    for root in &roots {
        let node = marked(root.path());
        assert_eq!(node.mark().await.unwrap(), None);
        node.health().await.unwrap();
        assert!(!root.path().join(".ripstop-node").exists(), "looking writes nothing");
        node.admit().await.unwrap();
        assert_eq!(node.mark().await.unwrap(), Some(NodeMark { store: STORE, node: "d1".into() }));
        node.put(NAME, body()).await.unwrap();
        marked(root.path()).admit().await.unwrap();
    }
}

#[tokio::test]
async fn a_folder_of_an_earlier_version_without_fragments_is_marked() {
    let root = tempfile::tempdir().unwrap();
    for folder in ["00", "cd", "ff"] {
        fs::create_dir(root.path().join(folder)).unwrap();
    }
    place(&root.path().join("tmp"), DEAD, Duration::ZERO);
    marked(root.path()).admit().await.unwrap();
}

#[tokio::test]
async fn a_foreign_folder_is_refused_and_nothing_is_written_there() {
    for (file, named) in [
        ("thesis.doc", "thesis.doc"),
        (".git/config", ".git"),
        ("ab/0123456789abcdef", "ab/0123456789abcdef"),
        ("tmp/other.db", "tmp/other.db"),
    ] {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        File::create(path).unwrap();
        let told = refusal(&marked(root.path())).await;
        assert!(told.contains(named) && told.contains(root.path().to_str().unwrap()), "{told}");
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1, "{file}");
    }
}

#[tokio::test]
async fn a_folder_of_another_store_or_node_is_refused() {
    let root = tempfile::tempdir().unwrap();
    marked_as(root.path(), STORE, "d \"1\"\n").admit().await.unwrap();
    marked_as(root.path(), STORE, "d \"1\"\n").admit().await.unwrap();
    let told = refusal(&marked_as(root.path(), 8, "d \"1\"\n")).await;
    assert!(told.contains("store 0000000000000007"), "{told}");
    assert!(told.contains("another store's?"), "{told}");
    let told = refusal(&marked_as(root.path(), STORE, "d2")).await;
    assert!(told.contains("swapped"), "{told}");
    let marker = root.path().join(".ripstop-node");
    for (text, named) in
        [("", "format"), ("x\nformat 3\n", "\"3\""), ("x\nformat 1\nstore z\n", "\"z\"")]
    {
        fs::write(&marker, text).unwrap();
        let told = refusal(&marked(root.path())).await;
        assert!(told.contains(named), "{told}");
        assert_eq!(fs::read_to_string(&marker).unwrap(), text, "it stays as it is");
    }
    fs::remove_file(&marker).unwrap();
    pipe(&marker);
    assert!(soon(refusal(&marked(root.path()))).await.contains("no regular file"));
}

#[tokio::test]
async fn a_marker_of_the_format_before_is_read_and_written_again_when_the_node_is_admitted() {
    let root = tempfile::tempdir().unwrap();
    let node = || marked_as(root.path(), STORE, "d1");
    node().admit().await.unwrap();
    let marker = root.path().join(".ripstop-node");
    let now = fs::read_to_string(&marker).unwrap();
    let before = now.replace("format 2", "format 1");
    assert_ne!(before, now);
    fs::write(&marker, &before).unwrap();
    assert_eq!(node().mark().await.unwrap(), Some(NodeMark { store: STORE, node: "d1".into() }));
    node().health().await.unwrap();
    assert_eq!(fs::read_to_string(&marker).unwrap(), before, "looking changes nothing");
    let told = refusal(&marked_as(root.path(), STORE, "d2")).await;
    assert!(told.contains("swapped"), "{told}");
    node().admit().await.unwrap();
    assert_eq!(fs::read_to_string(&marker).unwrap(), now);
}

#[tokio::test]
async fn a_disk_that_comes_back_empty_is_marked_again_while_serving() {
    let above = tempfile::tempdir().unwrap();
    let root = above.path().join("disk");
    let node = marked(&root);
    assert!(matches!(node.admit().await, Err(AdmitError::Node(_))));
    for _ in 0..2 {
        fs::create_dir(&root).unwrap();
        node.health().await.unwrap();
        node.put(NAME, body()).await.unwrap();
        assert!(root.join(".ripstop-node").exists());
        fs::remove_dir_all(&root).unwrap();
        assert!(node.health().await.is_err());
    }
    fs::create_dir(&root).unwrap();
    node.put(NAME, body()).await.unwrap();
    for entry in fs::read_dir(&root).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }.unwrap();
    }
    node.put(NAME, body()).await.unwrap();
    assert!(root.join(".ripstop-node").exists(), "wiped in place");
}

#[tokio::test]
async fn a_folder_that_is_replaced_by_anothers_is_not_written_to() {
    let above = tempfile::tempdir().unwrap();
    let (root, away) = (above.path().join("d1"), above.path().join("away"));
    fs::create_dir(&root).unwrap();
    let node = marked(&root);
    node.put(NAME, body()).await.unwrap();
    fs::rename(&root, &away).unwrap();
    fs::create_dir(&root).unwrap();
    marked_as(&root, STORE, "d2").put(NAME, body()).await.unwrap();
    let name = FragmentId { stripe: StripeId(1), ..NAME };
    assert!(matches!(node.put(name, body()).await, Err(NodeError::Unavailable { .. })));
    assert!(matches!(node.get(name, 0..1).await, Err(NodeError::Unavailable { .. })));
    assert!(node.health().await.is_err() && listed(&node).await.is_err());
    fs::remove_dir_all(&root).unwrap();
    fs::rename(&away, &root).unwrap();
    node.put(name, body()).await.unwrap();
    assert_eq!(listed(&node).await.unwrap().len(), 2);
}
