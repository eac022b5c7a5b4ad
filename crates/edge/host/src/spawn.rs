use crate::rehearsal::{Host, current};
use pin_project_lite::pin_project;
use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
    thread,
};
use tokio::task::JoinHandle;

pin_project! {
    /// A future whose every step is taken on the host that it was made on.
    #[derive(Debug)]
    #[must_use = "a future does nothing by itself"]
    pub struct Carried<F> {
        // None once it has ended, so that it is dropped on its host too.
        #[pin]
        future: Option<F>,
        host: Option<Host>,
    }

    impl<F> PinnedDrop for Carried<F> {
        fn drop(this: Pin<&mut Self>) {
            let mut this = this.project();
            on(this.host.as_ref(), || this.future.set(None));
        }
    }
}

fn on<T>(host: Option<&Host>, act: impl FnOnce() -> T) -> T {
    match host {
        Some(host) => host.within(act),
        None => act(),
    }
}

impl<F: Future> Future for Carried<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        if this.host.as_ref().is_some_and(|host| !host.steps()) {
            return Poll::Pending;
        }
        let future = this.future.as_pin_mut().expect("it is there until it is dropped");
        on(this.host.as_ref(), || future.poll(context))
    }
}

/// The future, for a set of tasks or another runtime's handle: its steps are taken on the caller's
/// host.
pub fn carried<F: Future>(future: F) -> Carried<F> {
    Carried { future: Some(future), host: current() }
}

/// Has a future run to its end beside the caller, also if nobody waits for it.
///
/// # Panics
///
/// Outside a runtime.
#[track_caller]
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    match current() {
        Some(host) => tokio::spawn(Carried { future: Some(future), host: Some(host) }),
        None => tokio::spawn(future),
    }
}

/// Has work done that would hold a runtime's thread: on a thread for such work, in a rehearsal as a
/// step of its own.
///
/// # Panics
///
/// Outside a runtime.
#[track_caller]
pub fn spawn_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> JoinHandle<T> {
    match current() {
        Some(host) if host.has_threads() => tokio::task::spawn_blocking(move || host.within(work)),
        Some(_) => spawn(async move { work() }),
        None => tokio::task::spawn_blocking(work),
    }
}

/// Whether there is more than the thread that this is done on: not in a rehearsal, unless its host
/// was made so.
pub fn has_threads() -> bool {
    current().is_none_or(|host| host.has_threads())
}

/// A thread of its own, with a name that the system shows.
///
/// # Errors
///
/// If the system has no more, and in a rehearsal, which is played on one thread: what it uses must
/// be a task.
pub fn thread<T: Send + 'static>(
    name: impl Into<String>,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<thread::JoinHandle<T>> {
    if !has_threads() {
        let why = "a rehearsal has one thread: the order of several cannot be played again";
        return Err(io::Error::new(io::ErrorKind::Unsupported, why));
    }
    thread::Builder::new().name(name.into()).spawn(work)
}
