//! Commands of one connection that are carried out at once, since none depends on another.

use crate::{
    count::Tally,
    door::Door,
    outbox::Outbox,
    request::{Command, Request},
    shelf::Shelf,
    turn::Turn,
};
use bytes::Bytes;
use futures::future::join_all;
use std::collections::HashSet;

/// Commands that are carried out at once, at most.
const COMMANDS_MAX: usize = 64;
/// Keys of one of them, at most.
const KEYS_MAX: usize = 16;

/// Commands none of which changes what another one reads or changes.
#[derive(Debug, Default)]
pub(crate) struct Wave {
    requests: Vec<Request>,
    read: HashSet<Bytes>,
    changed: HashSet<Bytes>,
}

/// What a command does to keys.
enum Touches<'a> {
    Nothing,
    Reads(&'a [Bytes]),
    Changes(&'a [Bytes]),
    /// What it does depends on all that came before, or all that follows depends on it.
    All,
}

fn touches(command: &Command) -> Touches<'_> {
    use std::slice::from_ref;
    match command {
        Command::Say(_) | Command::MetaEnd | Command::Version => Touches::Nothing,
        Command::Get(get) if get.keys.len() > KEYS_MAX => Touches::All,
        Command::Get(get) if get.touch.is_some() => Touches::Changes(&get.keys),
        Command::Get(get) => Touches::Reads(&get.keys),
        Command::MetaDebug { key } => Touches::Reads(from_ref(key)),
        Command::Store(store) => Touches::Changes(from_ref(&store.key)),
        Command::Count(count) => Touches::Changes(from_ref(&count.key)),
        Command::TooLarge { key, .. } | Command::Delete(key) | Command::Touch { key, .. } => {
            Touches::Changes(from_ref(key))
        }
        Command::MetaGet(meta) | Command::MetaDelete(meta) | Command::MetaCount(meta) => {
            Touches::Changes(from_ref(&meta.key))
        }
        Command::Flush { .. } | Command::Stats(_) | Command::Enter { .. } | Command::Quit => {
            Touches::All
        }
    }
}

impl Wave {
    /// Takes a command, unless it has to wait for those that are there.
    pub(crate) fn join(&mut self, request: Request) -> Option<Request> {
        if self.requests.len() == COMMANDS_MAX {
            return Some(request);
        }
        match touches(&request.command) {
            Touches::Nothing => {}
            Touches::All => return Some(request),
            Touches::Reads(keys) => {
                if keys.iter().any(|key| self.changed.contains(key)) {
                    return Some(request);
                }
                self.read.extend(keys.iter().cloned());
            }
            Touches::Changes(keys) => {
                let is_known = |key| self.changed.contains(key) || self.read.contains(key);
                if keys.iter().any(is_known) {
                    return Some(request);
                }
                self.changed.extend(keys.iter().cloned());
            }
        }
        self.requests.push(request);
        None
    }

    /// Carries out all, which leaves none. Answers come in the order of the commands.
    pub(crate) async fn carry_out<S: Shelf>(
        &mut self,
        door: &Door<S>,
        out: &mut Outbox,
        tally: &mut Tally,
        now_s: u32,
    ) {
        self.read.clear();
        self.changed.clear();
        let each = self.requests.drain(..).map(async |request| {
            let (mut out, mut tally) = (Outbox::default(), Tally::default());
            let mut turn = Turn { door, out: &mut out, tally: &mut tally, now_s };
            turn.carry_out(&request).await;
            (out, tally)
        });
        for (answer, counted) in join_all(each).await {
            out.append(answer);
            tally.append(&counted);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{Get, Store, StoreMode};

    fn get(keys: &[&'static str]) -> Request {
        let keys = keys.iter().map(|key| Bytes::from_static(key.as_bytes())).collect();
        let command = Command::Get(Get { keys, with_cas: false, touch: None });
        Request { command, is_quiet: false }
    }

    fn set(key: &'static str) -> Request {
        let key = Bytes::from_static(key.as_bytes());
        let (mode, value) = (StoreMode::Set, Bytes::new());
        let store = Store { mode, key, flags: 0, exptime: 0, cas: 0, value, meta: None };
        Request { command: Command::Store(store), is_quiet: false }
    }

    #[test]
    fn what_reads_or_changes_what_another_one_changes_waits_for_it() {
        let mut wave = Wave::default();
        for joins in [get(&["a", "b"]), get(&["a"]), set("c"), Request::say("OK")] {
            assert_eq!(wave.join(joins), None);
        }
        for waits in [get(&["d", "c"]), set("c"), set("a")] {
            assert_eq!(wave.join(waits.clone()), Some(waits));
        }
        let flush = Request { command: Command::Flush { delay: 0 }, is_quiet: false };
        assert_eq!(Wave::default().join(flush.clone()), Some(flush));
        assert!(Wave::default().join(get(&["k"; KEYS_MAX + 1])).is_some());
    }

    #[test]
    fn a_wave_has_an_end() {
        let mut wave = Wave::default();
        for _ in 0..COMMANDS_MAX {
            assert_eq!(wave.join(get(&["a"])), None);
        }
        assert!(wave.join(get(&["a"])).is_some());
    }
}
