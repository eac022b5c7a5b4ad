//! What a server has from an earlier run: all its items are listed (`lru_crawler metadump hash`),
//! and those of this tier are read.

use crate::{
    fault::LinkFault,
    keepsake::Keepsake,
    label,
    name::{Names, StoredKey},
    wire::{self, Answer, Nonsense, Parsed},
};
use bytes::{Bytes, BytesMut};
use ripstop_tier::{FoundItem, ItemName, Version};
use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    net::SocketAddr,
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time,
};

/// Longest that a server may say nothing while it is looked at.
const SILENCE_MAX: Duration = Duration::from_secs(5);
/// Longest that requests of an earlier gateway, which are on their way still, are waited for.
const OTHERS_MAX: Duration = Duration::from_millis(500);
/// Pause before something is asked once more.
const PAUSE: Duration = Duration::from_millis(5);
/// Items that are asked for, or deleted, at once.
const BATCH: usize = 256;
/// Bytes of a line of a list.
const LINE_LEN_MAX: usize = 2048;
/// Items of one server, at most.
const ITEMS_MAX: usize = 1 << 28;

/// What a server has.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) items: Vec<FoundItem>,
    /// Where the copies among them are.
    pub(crate) copies: BTreeMap<ItemName, u32>,
    /// Above which version those of the run were that left it.
    pub(crate) floor: Option<Version>,
}

impl Found {
    /// Takes an item; false if it is not what was stored there.
    fn take(&mut self, names: &Names, key: StoredKey, item: &Bytes) -> bool {
        let name = match key {
            StoredKey::Named(name) => Some(name),
            StoredKey::Place(_) => label::copied(item),
        };
        let Some((name, said)) =
            name.and_then(|name| Some((name, label::said(names, name, item)?)))
        else {
            return false;
        };
        if let StoredKey::Place(place) = key {
            if self.copies.contains_key(&name) {
                return false;
            }
            self.copies.insert(name, place);
        }
        self.items.push(said);
        true
    }
}

/// A connection to a server that is looked at.
#[derive(Debug)]
pub(crate) struct Survey {
    at: SocketAddr,
    stream: TcpStream,
    input: BytesMut,
}

/// What a server's list names.
#[derive(Default)]
struct Listed {
    keys: Vec<StoredKey>,
    /// Of nobody's, at a server that has items of nobody else.
    strangers: Vec<Bytes>,
}

impl Survey {
    /// Connects, and tries again for as long as that.
    pub(crate) async fn connect(at: SocketAddr, within: Duration) -> Result<Self, LinkFault> {
        let begun = ripstop_host::now();
        loop {
            let late = || LinkFault::Silent { at, waited: within };
            let stream = time::timeout(within, TcpStream::connect(at)).await.map_err(|_| late())?;
            match stream.and_then(|stream| stream.set_nodelay(true).map(|()| stream)) {
                Ok(stream) => return Ok(Self { at, stream, input: BytesMut::new() }),
                Err(source) if ripstop_host::since(begun) > within => {
                    return Err(LinkFault::Connect { at, source });
                }
                Err(_) => time::sleep(PAUSE).await,
            }
        }
    }

    /// All that the server has of the tier. What is damaged goes, and what is nobody's if it has
    /// items of nobody else.
    pub(crate) async fn look(&mut self, names: &Names, is_alone: bool) -> Result<Found, LinkFault> {
        self.outlast_others().await?;
        let kept = self.get(&names.keepsake()).await?;
        let floor = kept.and_then(|token| names.floor(&token));
        let Listed { keys, strangers } = self.list(names, is_alone).await?;
        let items = Vec::with_capacity(keys.len());
        let mut found = Found { items, copies: BTreeMap::new(), floor };
        let damaged = self.read(names, &keys, &mut found).await?;
        let gone = damaged.into_iter().map(|key| spelled(names, key)).chain(strangers);
        self.delete(&gone.collect::<Vec<_>>()).await?;
        Ok(found)
    }

    /// Leaves the server without anything of the tier, or, if it has items of nobody else, without
    /// anything.
    pub(crate) async fn clear(&mut self, names: &Names, is_alone: bool) -> Result<(), LinkFault> {
        self.outlast_others().await?;
        if is_alone {
            let mut out = BytesMut::new();
            wire::put_flush(&mut out);
            self.send(&out).await?;
            let said = self.answer().await?;
            if !matches!(said, Answer::Okay) {
                return Err(LinkFault::NotEmptied { at: self.at, said: format!("{said:?}") });
            }
            return Ok(());
        }
        let keys = self.list(names, false).await?.keys;
        let gone = keys.into_iter().map(|key| spelled(names, key));
        self.delete(&gone.collect::<Vec<_>>()).await
    }

    /// Leaves an item by which the server is known.
    pub(crate) async fn keep(&mut self, keepsake: &Keepsake) -> Result<(), LinkFault> {
        let mut out = BytesMut::new();
        wire::put_set(&mut out, &keepsake.key, keepsake.token.len(), false, 0);
        out.extend_from_slice(&keepsake.token);
        out.extend_from_slice(b"\r\n");
        self.send(&out).await?;
        let said = self.answer().await?;
        if !matches!(said, Answer::Done) {
            return Err(self.mismatch(&said, "ms"));
        }
        Ok(())
    }

    /// A gateway that was killed has left requests to the server, which does them when it comes to
    /// them, and closes their connection after. Others' connections stay, and are not waited for
    /// for long.
    async fn outlast_others(&mut self) -> Result<(), LinkFault> {
        let begun = ripstop_host::now();
        let mut before = self.others().await?;
        while !before.is_empty() && ripstop_host::since(begun) < OTHERS_MAX {
            time::sleep(PAUSE).await;
            let now = self.others().await?;
            before.retain(|other| now.contains(other));
        }
        Ok(())
    }

    /// Where other connections of the server are from.
    async fn others(&mut self) -> Result<BTreeSet<String>, LinkFault> {
        let ours = self.stream.local_addr().map_err(|source| self.broken(source))?.to_string();
        self.send(b"stats conns\r\n").await?;
        let mut others: BTreeSet<(String, String)> = BTreeSet::new();
        let mut listening = BTreeSet::new();
        loop {
            let line = self.line().await?;
            let line = String::from_utf8_lossy(&line);
            if line == "END" {
                others.retain(|(number, _)| !listening.contains(number));
                let from = others.into_iter().map(|(_, from)| from);
                return Ok(from.filter(|from| !from.ends_with(&ours)).collect());
            }
            let words = line.strip_prefix("STAT ").and_then(|line| line.split_once(':'));
            let Some((number, rest)) = words else { return Err(self.nonsense_line(&line)) };
            if let Some(from) = rest.strip_prefix("addr ") {
                others.insert((number.to_owned(), from.to_owned()));
            } else if rest == "state conn_listening" {
                listening.insert(number.to_owned());
            }
        }
    }

    /// The keys that the server has.
    async fn list(&mut self, names: &Names, is_alone: bool) -> Result<Listed, LinkFault> {
        let mut listed = Listed::default();
        let begun = ripstop_host::now();
        self.send(b"lru_crawler metadump hash\r\n").await?;
        loop {
            let line = self.line().await?;
            if line == "END" {
                return Ok(listed);
            }
            if line.starts_with(b"BUSY") && ripstop_host::since(begun) < SILENCE_MAX {
                // It lists for somebody else.
                time::sleep(PAUSE).await;
                self.send(b"lru_crawler metadump hash\r\n").await?;
                continue;
            }
            let key = line.strip_prefix(b"key=").and_then(decoded);
            let Some(key) = key else {
                return Err(self.nonsense_line(&String::from_utf8_lossy(&line)));
            };
            match names.stored_key(&key) {
                Some(key) => listed.keys.push(key),
                None if is_alone && key != names.keepsake() => listed.strangers.push(key),
                None => {}
            }
            if listed.keys.len() + listed.strangers.len() > ITEMS_MAX {
                return Err(self.nonsense_line("more items than any server has"));
            }
        }
    }

    /// Reads items, one batch being asked for while another comes; those that are damaged.
    async fn read(
        &mut self,
        names: &Names,
        listed: &[StoredKey],
        found: &mut Found,
    ) -> Result<Vec<StoredKey>, LinkFault> {
        let mut damaged = Vec::new();
        let mut batches = listed.chunks(BATCH).peekable();
        if let Some(first) = batches.peek() {
            self.ask(names, first).await?;
        }
        while let Some(batch) = batches.next() {
            if let Some(next) = batches.peek() {
                self.ask(names, next).await?;
            }
            for &key in batch {
                if let Some(item) = self.item().await?
                    && !found.take(names, key, &item)
                {
                    damaged.push(key);
                }
            }
        }
        Ok(damaged)
    }

    async fn ask(&mut self, names: &Names, batch: &[StoredKey]) -> Result<(), LinkFault> {
        let mut out = BytesMut::new();
        for &key in batch {
            wire::put_get(&mut out, &spelled(names, key), 0);
        }
        self.send(&out).await
    }

    async fn get(&mut self, key: &[u8]) -> Result<Option<Bytes>, LinkFault> {
        let mut out = BytesMut::new();
        wire::put_get(&mut out, key, 0);
        self.send(&out).await?;
        self.item().await
    }

    /// What a `mg` is answered: an item's bytes, or that there is none.
    async fn item(&mut self) -> Result<Option<Bytes>, LinkFault> {
        let said = self.answer().await?;
        if let Answer::Value(bytes) = said {
            return Ok(Some(bytes));
        }
        if matches!(said, Answer::Missing) { Ok(None) } else { Err(self.mismatch(&said, "mg")) }
    }

    async fn delete(&mut self, keys: &[Bytes]) -> Result<(), LinkFault> {
        for batch in keys.chunks(BATCH) {
            let mut out = BytesMut::new();
            for key in batch {
                wire::put_delete(&mut out, key, false, 0);
            }
            self.send(&out).await?;
            for _ in batch {
                let said = self.answer().await?;
                if !matches!(said, Answer::Done | Answer::NotFound) {
                    return Err(self.mismatch(&said, "md"));
                }
            }
        }
        Ok(())
    }

    async fn send(&mut self, bytes: &[u8]) -> Result<(), LinkFault> {
        let sent = time::timeout(SILENCE_MAX, self.stream.write_all(bytes)).await;
        sent.map_err(|_| self.silent())?.map_err(|source| self.broken(source))
    }

    async fn answer(&mut self) -> Result<Answer, LinkFault> {
        loop {
            let parsed = wire::parse(&mut self.input);
            match parsed.map_err(|source| LinkFault::Nonsense { at: self.at, source })? {
                Parsed::Said(said) => return Ok(said.answer),
                Parsed::Partly(more) => {
                    self.input.reserve(more);
                    self.fill().await?;
                }
            }
        }
    }

    /// A line, without its end.
    async fn line(&mut self) -> Result<Bytes, LinkFault> {
        let mut seen = 0;
        loop {
            if let Some(at) = self.input[seen..].iter().position(|&byte| byte == b'\n') {
                let line = self.input.split_to(seen + at + 1).freeze();
                let end = line.len() - 1 - usize::from(line.ends_with(b"\r\n"));
                return Ok(line.slice(..end));
            }
            seen = self.input.len();
            if seen > LINE_LEN_MAX {
                let source = Nonsense::LongLine;
                return Err(LinkFault::Nonsense { at: self.at, source });
            }
            self.fill().await?;
        }
    }

    async fn fill(&mut self) -> Result<(), LinkFault> {
        let read = time::timeout(SILENCE_MAX, self.stream.read_buf(&mut self.input)).await;
        match read.map_err(|_| self.silent())? {
            Ok(0) => Err(self.broken(io::ErrorKind::UnexpectedEof.into())),
            Ok(_) => Ok(()),
            Err(source) => Err(self.broken(source)),
        }
    }

    fn silent(&self) -> LinkFault {
        LinkFault::Silent { at: self.at, waited: SILENCE_MAX }
    }

    fn broken(&self, source: io::Error) -> LinkFault {
        LinkFault::Broken { at: self.at, source }
    }

    fn mismatch(&self, said: &Answer, asked: &'static str) -> LinkFault {
        let said = if let Answer::Value(bytes) = said {
            format!("a value of {} bytes", bytes.len())
        } else {
            format!("{said:?}")
        };
        LinkFault::Mismatch { at: self.at, said, asked }
    }

    fn nonsense_line(&self, line: &str) -> LinkFault {
        let line = line.chars().take(64).collect();
        LinkFault::Nonsense { at: self.at, source: Nonsense::Line(line) }
    }
}

fn spelled(names: &Names, key: StoredKey) -> Bytes {
    let mut out = BytesMut::new();
    names.put_key(&mut out, key);
    out.freeze()
}

/// A key at the beginning of a line of a list, in which some bytes are `%` and two digits.
fn decoded(line: &[u8]) -> Option<Bytes> {
    let mut bytes = line.iter().copied().take_while(|byte| *byte != b' ');
    let mut key = BytesMut::new();
    let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
    while let Some(byte) = bytes.next() {
        let byte = if byte == b'%' {
            (digit(bytes.next())? << 4 | digit(bytes.next())?) as u8
        } else {
            byte
        };
        key.extend_from_slice(&[byte]);
    }
    Some(key.freeze())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_a_list_are_as_they_were_stored() {
        let is = |line: &[u8], key: &[u8]| assert_eq!(decoded(line).unwrap(), key);
        is(b"abc%2B1 exp=-1 la=1795703700 cas=1 fetch=no cls=1 size=66", b"abc+1");
        is(b"def%2A1%21. exp=-1", b"def*1!.");
        assert_eq!(decoded(b"a%zz b"), None);
        assert_eq!(decoded(b"a%2"), None);
    }
}
