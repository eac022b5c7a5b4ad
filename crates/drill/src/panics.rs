//! Panics of tasks: a runtime keeps them to itself.

use std::{
    cell::RefCell,
    panic::{self, AssertUnwindSafe},
    sync::Once,
};

thread_local! {
    /// What panicked on this thread, while somebody watches.
    static SEEN: RefCell<Option<Vec<String>>> = const { RefCell::new(None) };
}

fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |panicked| {
            let is_seen = SEEN.with_borrow_mut(|seen| {
                seen.as_mut().map(|seen| seen.push(format!("a task panicked: {panicked}")))
            });
            if is_seen.is_none() {
                before(panicked);
            }
        }));
    });
}

/// Does some work; answers of all that panicked on this thread meanwhile, the work itself included.
pub(crate) fn watch<T>(
    work: impl FnOnce() -> Result<T, String>,
) -> (Result<T, String>, Vec<String>) {
    install();
    SEEN.set(Some(Vec::new()));
    let done = panic::catch_unwind(AssertUnwindSafe(work));
    let seen = SEEN.take().unwrap_or_default();
    (done.unwrap_or_else(|_| Err("the drill itself panicked".into())), seen)
}
