//! A PostgreSQL server of the tests' own.

#![allow(dead_code, reason = "each test program uses a part of it")]

pub(crate) mod proxy;
pub(crate) mod server;

use ripstop_postgres::{Postgres, PostgresSettings, PostgresUrl};
use server::Server;
use std::future::Future;
use std::sync::Arc;

/// Runs a future to its end.
pub(crate) fn run<T>(work: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().build().unwrap().block_on(work)
}

/// The server that this program's tests share; `None`, having said why, where there is none.
pub(crate) fn server() -> Option<Arc<Server>> {
    match Server::shared() {
        Ok(server) => Some(server),
        Err(reason) if std::env::var_os("RIPSTOP_POSTGRES").is_none() => {
            println!("skipped: {reason}");
            None
        }
        Err(reason) => panic!("{reason}"),
    }
}

/// An empty catalog of its own on the server.
pub(crate) async fn fresh(server: &Server) -> Postgres {
    opened(&server.fresh_url().await).await
}

pub(crate) async fn opened(url: &str) -> Postgres {
    let url: PostgresUrl = url.parse().unwrap();
    Postgres::open(&url, PostgresSettings::default()).await.unwrap()
}

/// How many scripts a long test plays, and the most steps of each: as `RIPSTOP_SCRIPTS` and
/// `RIPSTOP_SCRIPT_STEPS` say.
pub(crate) fn scripts(default: u32) -> (u32, usize) {
    fn number<T: std::str::FromStr>(name: &str, default: T) -> T {
        let read = |text: String| text.parse().ok().unwrap_or_else(|| panic!("{name} is a number"));
        std::env::var(name).map_or(default, read)
    }
    (number("RIPSTOP_SCRIPTS", default), number("RIPSTOP_SCRIPT_STEPS", 200))
}

/// Says now and then how many scripts were played.
#[derive(Default)]
pub(crate) struct Played(std::sync::atomic::AtomicU32);

impl Played {
    pub(crate) fn one_more(&self) {
        let played = 1 + self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        if played.is_multiple_of(100) {
            println!("{played} scripts");
        }
    }
}
