//! The streams of an HTTP/2 connection. Each has a window of its own, which its reader may never
//! open, so each has patience of its own.

use crate::{Pace, Patience};
use hyper::rt::Executor;
use std::{
    cell::RefCell,
    pin::Pin,
    task::{Context, Poll},
    time::Instant,
};
use tokio::time::{Interval, MissedTickBehavior, interval};

/// What the stream that is polled does.
#[derive(Debug)]
struct Standing {
    patience: Patience,
    /// When its reader was given bytes that it has not taken, as far as we know.
    given: Option<(Instant, u64)>,
}

thread_local! {
    /// Of the stream that is polled on this thread.
    static POLLED: RefCell<Option<Standing>> = const { RefCell::new(None) };
}

/// More of the answer is asked for: what was given has been taken.
pub(crate) fn asked() {
    POLLED.with_borrow_mut(|polled| {
        if let Some(standing) = polled
            && let Some((since, bytes)) = standing.given.take()
        {
            standing.patience.waited(ripstop_host::since(since));
            standing.patience.moved(bytes);
        }
    });
}

/// Bytes of the answer are handed out.
pub(crate) fn given(bytes: u64) {
    POLLED.with_borrow_mut(|polled| {
        if let Some(standing) = polled {
            standing.given = Some((ripstop_host::now(), bytes));
        }
    });
}

/// Runs streams, and drops one whose reader is too slow, which resets it.
#[derive(Clone, Debug)]
pub(crate) struct Streams {
    pub(crate) pace: Pace,
}

impl<F: Future<Output: Send> + Send + 'static> Executor<F> for Streams {
    fn execute(&self, stream: F) {
        let standing = Standing { patience: Patience::new(self.pace.clone()), given: None };
        let stream = Box::pin(stream);
        ripstop_host::spawn(Patient { stream, standing: Some(standing), look: None });
    }
}

struct Patient<F> {
    stream: Pin<Box<F>>,
    standing: Option<Standing>,
    look: Option<Interval>,
}

impl<F: Future> Future for Patient<F> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        POLLED.set(self.standing.take());
        let polled = self.stream.as_mut().poll(context);
        self.standing = POLLED.take();
        if polled.is_ready() {
            return Poll::Ready(());
        }
        let this = &mut *self;
        let Some(Standing { patience, given: Some((since, _)) }) = &this.standing else {
            this.look = None;
            return Poll::Pending;
        };
        let look = this.look.get_or_insert_with(|| {
            let mut look = interval(Patience::LOOK_EVERY);
            look.set_missed_tick_behavior(MissedTickBehavior::Delay);
            look
        });
        while look.poll_tick(context).is_ready() {
            if patience.left() <= ripstop_host::since(*since) {
                tracing::debug!("the reader of a stream is too slow");
                return Poll::Ready(());
            }
        }
        Poll::Pending
    }
}
