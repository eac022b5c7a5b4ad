//! Commands carried out on a shelf, and their answers.

use crate::{
    clock::end_of,
    count::Count,
    decide::{self, CountEnd, StoreEnd},
    item::{KvItem, Marks, memcached_class, memcached_len},
    meta_command,
    request::{Command, Count as CountRequest, Get, Request, Store, StoreMode},
    shelf::{ItemDeed, Shelf, ShelfError, Sight, Trace},
    statistic,
    turn::{NO_NUMBER, Turn},
};
use bytes::Bytes;

const TOO_LARGE: &str = "SERVER_ERROR object too large for cache";

impl<S: Shelf> Turn<'_, S> {
    /// Carries out a command.
    pub(crate) async fn carry_out(&mut self, request: &Request) {
        let is_quiet = request.is_quiet;
        match &request.command {
            Command::Say(line) => self.say(line, is_quiet),
            Command::Get(get) => {
                if self.get(get, &get.keys).await {
                    self.out.line("END");
                }
            }
            Command::Store(store) => self.store(store, is_quiet).await,
            Command::TooLarge { key, removes } => self.too_large(key, *removes, is_quiet).await,
            Command::Delete(key) => self.delete(key, is_quiet).await,
            Command::Count(count) => self.count(count, is_quiet).await,
            Command::Touch { key, exptime } => self.touch(key, *exptime, is_quiet).await,
            Command::MetaGet(meta) => meta_command::get(self, meta).await,
            Command::MetaDelete(meta) => meta_command::delete(self, meta).await,
            Command::MetaCount(meta) => meta_command::count(self, meta).await,
            Command::MetaDebug { key } => self.debug(key).await,
            Command::MetaEnd => self.out.line("MN"),
            Command::Flush { delay } => self.flush(*delay, is_quiet).await,
            Command::Stats(of) => {
                // What this connection counted is in what it sees.
                self.door.counts.take(self.tally);
                statistic::write(self.door, *of, self.out);
            }
            Command::Enter { is_known } => self.enter(*is_known),
            Command::Version => self.out.line(&format!("VERSION {}", statistic::MEMCACHED_VERSION)),
            Command::Quit => {}
        }
    }

    fn enter(&mut self, is_known: bool) {
        self.tally.one(Count::Auth);
        if is_known {
            return self.out.line("STORED");
        }
        self.tally.one(Count::AuthError);
        self.out.line("CLIENT_ERROR authentication failure");
    }

    /// The lines of some of the keys that are asked for; whether all could be read.
    pub(crate) async fn get(&mut self, get: &Get, keys: &[Bytes]) -> bool {
        let read = match (get.touch, keys) {
            (Some(exptime), keys) => self.get_and_touch(get, keys, exptime).await,
            // There is no list of one.
            (None, [key]) => {
                let read = self.door.shelf.read(key, Trace::Use, self.now_s).await;
                read.map(|item| self.got(get, key, item))
            }
            (None, keys) => {
                let read = self.door.shelf.read_many(keys, self.now_s).await;
                let found = |items: Vec<_>| {
                    keys.iter().zip(items).for_each(|(key, item)| self.got(get, key, item));
                };
                read.map(found)
            }
        };
        if let Err(error) = read {
            self.fail(error, false);
        }
        read.is_ok()
    }

    fn got(&mut self, get: &Get, key: &[u8], item: Option<KvItem>) {
        let Some(item) = item else { return self.tally.one(Count::GetMiss) };
        self.tally.one(Count::GetHit);
        self.item(get, key, &item);
    }

    async fn get_and_touch(
        &mut self,
        get: &Get,
        keys: &[Bytes],
        exptime: i32,
    ) -> Result<(), ShelfError> {
        let now_s = self.now_s;
        for key in keys {
            let decide = |old: Option<&KvItem>| decide::touch(exptime, now_s, old);
            match self.door.shelf.change(key, Sight::Open, now_s, decide).await?.after {
                Some(item) => {
                    self.tally.one(Count::TouchHit);
                    self.item(get, key, &item);
                }
                None => self.tally.one(Count::TouchMiss),
            }
        }
        Ok(())
    }

    fn item(&mut self, get: &Get, key: &[u8], item: &KvItem) {
        let out = &mut *self.out;
        out.put(b"VALUE ");
        out.put(key);
        out.put(b" ");
        out.number(item.flags.into());
        out.put(b" ");
        out.number(item.value.len() as u64);
        if get.with_cas {
            out.put(b" ");
            out.number(item.cas);
        }
        out.end();
        out.value(&item.value);
    }

    async fn store(&mut self, store: &Store, is_quiet: bool) {
        self.tally.one(Count::Set);
        let (now_s, item_max) = (self.now_s, self.door.settings.item_max);
        let sight = if store.mode == StoreMode::Set { Sight::Blind } else { Sight::Open };
        let decide = |old: Option<&KvItem>| decide::store(store, item_max, now_s, old);
        let changed = match self.door.shelf.change(&store.key, sight, now_s, decide).await {
            Ok(changed) => changed,
            Err(ShelfError::TooLong) => {
                let removes = store.mode == StoreMode::Set || store.meta.is_some();
                let is_quiet = is_quiet && store.meta.is_none();
                return self.too_large(&store.key, removes, is_quiet).await;
            }
            Err(error) => return self.fail(error, is_quiet && store.meta.is_none()),
        };
        match (store.mode, changed.told) {
            (StoreMode::Cas, StoreEnd::Stored) => self.tally.one(Count::CasHit),
            (StoreMode::Cas, StoreEnd::Exists) => self.tally.one(Count::CasBad),
            (StoreMode::Cas, StoreEnd::NotFound) => self.tally.one(Count::CasMiss),
            _ => {}
        }
        if let Some(meta) = &store.meta {
            let is_stored = changed.told == StoreEnd::Stored;
            let cas = changed.after.filter(|_| is_stored).map_or(0, |item| item.cas);
            return meta_command::stored(self, meta, changed.told, cas);
        }
        let line = match changed.told {
            StoreEnd::Stored => "STORED",
            StoreEnd::Exists => "EXISTS",
            StoreEnd::NotFound => "NOT_FOUND",
            StoreEnd::NotStored => "NOT_STORED",
        };
        self.say(line, is_quiet);
    }

    async fn too_large(&mut self, key: &[u8], removes: bool, is_quiet: bool) {
        self.tally.one(Count::TooLarge);
        if removes {
            let remove = |_: Option<&KvItem>| (ItemDeed::Remove, ());
            let removed = self.door.shelf.change(key, Sight::Blind, self.now_s, remove).await;
            if let Err(error) = removed {
                return self.fail(error, is_quiet);
            }
        }
        self.say(TOO_LARGE, is_quiet);
    }

    async fn delete(&mut self, key: &[u8], is_quiet: bool) {
        let decide = |old: Option<&KvItem>| (ItemDeed::Remove, old.is_some());
        match self.door.shelf.change(key, Sight::Open, self.now_s, decide).await {
            Ok(changed) if changed.told => {
                self.tally.one(Count::DeleteHit);
                self.say("DELETED", is_quiet);
            }
            Ok(_) => {
                self.tally.one(Count::DeleteMiss);
                self.say("NOT_FOUND", is_quiet);
            }
            Err(error) => self.fail(error, is_quiet),
        }
    }

    async fn count(&mut self, count: &CountRequest, is_quiet: bool) {
        let CountRequest { key, is_up, by } = count;
        let step = decide::Step { key, is_up: *is_up, by: *by, meta: None };
        let now_s = self.now_s;
        let decide = |old: Option<&KvItem>| decide::count(step, now_s, old);
        let changed = match self.door.shelf.change(key, Sight::Open, now_s, decide).await {
            Ok(changed) => changed,
            Err(error) => return self.fail(error, is_quiet),
        };
        self.counted(*is_up, changed.told);
        match changed.told {
            CountEnd::Missing | CountEnd::Exists => self.say("NOT_FOUND", is_quiet),
            CountEnd::NoNumber => self.say(NO_NUMBER, is_quiet),
            CountEnd::Is(number) | CountEnd::Begins(number) => {
                if !is_quiet {
                    self.out.number(number);
                    self.out.end();
                }
            }
        }
    }

    async fn touch(&mut self, key: &[u8], exptime: i32, is_quiet: bool) {
        let now_s = self.now_s;
        let decide = |old: Option<&KvItem>| decide::touch(exptime, now_s, old);
        match self.door.shelf.change(key, Sight::Open, now_s, decide).await {
            Ok(changed) if changed.after.is_some() => {
                self.tally.one(Count::TouchHit);
                self.say("TOUCHED", is_quiet);
            }
            Ok(_) => {
                self.tally.one(Count::TouchMiss);
                self.say("NOT_FOUND", is_quiet);
            }
            Err(error) => self.fail(error, is_quiet),
        }
    }

    async fn flush(&mut self, delay: i32, is_quiet: bool) {
        self.tally.one(Count::Flush);
        let at_s = if delay > 0 { end_of(delay, self.now_s) } else { self.now_s };
        self.door.shelf.flush(at_s, self.now_s).await;
        self.say("OK", is_quiet);
    }

    async fn debug(&mut self, key: &[u8]) {
        self.tally.one(Count::Meta);
        let item = match self.door.shelf.read(key, Trace::None, self.now_s).await {
            Ok(Some(item)) => item,
            Ok(None) => return self.out.line("EN"),
            Err(error) => return self.fail(error, false),
        };
        self.out.put(b"ME ");
        self.key(key, item.marks.has(Marks::BINARY));
        // memcached says how long ago an item ends, so the number is negative.
        let end = item.left_s(self.now_s).map_or(-1, |left_s| -i64::from(left_s));
        let unused_s = self.now_s.saturating_sub(item.used_s);
        let fetched = if item.marks.has(Marks::FETCHED) { "yes" } else { "no" };
        let len = memcached_len(key.len(), item.flags, item.value.len());
        let class = memcached_class(len);
        self.out.line(&format!(
            " exp={end} la={unused_s} cas={} fetch={fetched} cls={class} size={len}",
            item.cas
        ));
    }
}
