//! Secrets do not stay in memory that was given back.

use ripstop_s3::{Credentials, Keyring};
use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicUsize, Ordering::SeqCst},
};

/// No secret of anybody's, and nothing else in this process.
const SECRET: &[u8] = b"\x01hush-hush-hush-hush-hush\x02";

static LEFT: AtomicUsize = AtomicUsize::new(0);

/// Counts blocks that have the secret in them when they are given back.
struct Watching;

#[expect(unsafe_code, reason = "an allocator is unsafe by its trait")]
// SAFETY: everything is the system's allocator's; what is looked at is a block that its owner gives
// up.
unsafe impl GlobalAlloc for Watching {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are passed on. Zeroed, because blocks are read whole below.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the block was zeroed when it was made, is `layout.size()` long, and still
        // allocated.
        let bytes = unsafe { std::slice::from_raw_parts(block, layout.size()) };
        if bytes.windows(SECRET.len()).any(|window| window == SECRET) {
            LEFT.fetch_add(1, SeqCst);
        }
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Watching = Watching;

#[test]
fn credentials_that_are_replaced_or_dropped_leave_no_secret_behind() {
    let secret = || String::from_utf8(SECRET.to_vec()).unwrap();
    LEFT.store(0, SeqCst);
    drop(secret());
    assert_eq!(LEFT.load(SeqCst), 1, "the allocator sees what is left");
    LEFT.store(0, SeqCst);
    let keyring = Keyring::default();
    for round in 0..3 {
        let mut credentials: Credentials = [("first", secret())].into_iter().collect();
        for key in 0..100 {
            credentials.insert(format!("key-{key}"), secret());
        }
        credentials.insert("first", secret());
        if round == 1 {
            drop(credentials.clone());
        }
        keyring.replace(credentials);
    }
    drop(keyring);
    assert_eq!(LEFT.load(SeqCst), 0);
}
