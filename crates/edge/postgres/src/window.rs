//! What was fetched of a run of keys, as a source for listings. Where a listing comes to what was
//! not fetched it ends, and notes what it needs: then that is fetched, and it begins again.

use crate::place::{beyond, split_upload};
use crate::short::Short;
use ripstop_catalog::{CatalogError, Source, escaped};
use ripstop_object::{versions_begin, versions_prefix};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Keys of a table from `low` to before `end`, as far as they are known.
#[derive(Debug)]
pub(crate) struct Window {
    /// What every key of the run's space begins with.
    base: Vec<u8>,
    low: Vec<u8>,
    end: Vec<u8>,
    /// What is known: from each of these to before its end.
    known: BTreeMap<Vec<u8>, Vec<u8>>,
    rows: BTreeMap<Vec<u8>, Vec<u8>>,
    needed: RefCell<Option<Vec<u8>>>,
}

impl Window {
    /// The keys of a space that begin with `prefix`; nothing of them is known.
    pub(crate) fn new(base: Vec<u8>, prefix: &str) -> Self {
        let low = [&base, prefix.as_bytes()].concat();
        let end = beyond(&low);
        let (known, rows, needed) = Default::default();
        Self { base, low, end, known, rows, needed }
    }

    /// Bytes that every key of it begins with.
    pub(crate) fn prefix_len(&self) -> usize {
        self.low.len()
    }

    pub(crate) fn end(&self) -> &[u8] {
        &self.end
    }

    /// From where more is needed, if it is.
    pub(crate) fn needed(&self) -> Option<Vec<u8>> {
        self.needed.borrow_mut().take()
    }

    /// Takes a row.
    pub(crate) fn take(&mut self, key: Vec<u8>, row: Vec<u8>) {
        self.rows.insert(key, row);
    }

    /// That all rows from `low` up to `key` are known, or to the end.
    pub(crate) fn know(&mut self, low: Vec<u8>, key: Option<&[u8]>) {
        let end = key.map_or_else(|| self.end.clone(), |key| [key, b"\0"].concat());
        self.known.insert(low, end);
    }

    /// What stands at a key that is known.
    pub(crate) fn cursor(&self) -> Cursor<'_> {
        Cursor { window: self, at: self.low.clone() }
    }
}

/// A row: its key, its name within the space, and what stands there.
type Step<'a> = (&'a [u8], &'a str, &'a [u8]);

/// A place in a window.
#[derive(Debug)]
pub(crate) struct Cursor<'a> {
    window: &'a Window,
    at: Vec<u8>,
}

impl<'a> Cursor<'a> {
    fn seek_to(&mut self, from: &[u8]) {
        self.at = [&self.window.base, from].concat();
    }

    /// The next row, with its key, and its name within the space.
    fn step(&mut self) -> Result<Option<Step<'a>>, CatalogError> {
        let window = self.window;
        if self.at < window.low {
            self.at.clone_from(&window.low);
        }
        while self.at < window.end {
            let span = window.known.range(..=self.at.clone()).next_back();
            let Some((_, end)) = span.filter(|(_, end)| **end > self.at) else {
                window.needed.borrow_mut().get_or_insert_with(|| self.at.clone());
                return Ok(None);
            };
            if let Some((key, row)) = window.rows.range(self.at.clone()..end.clone()).next() {
                self.at = [key.as_slice(), b"\0"].concat();
                let name = str::from_utf8(&key[window.base.len()..]);
                let odd = |_| CatalogError::Corrupt { reason: "a name is not UTF-8".into() };
                return Ok(Some((key, name.map_err(odd)?, row)));
            }
            self.at.clone_from(end);
        }
        Ok(None)
    }
}

/// What stands at keys; at names of versions in their space.
#[derive(Debug)]
pub(crate) struct Objects<'a>(pub(crate) Cursor<'a>);

impl Source for Objects<'_> {
    type Item = Short;

    fn seek(&mut self, from: &[u8]) -> Result<(), CatalogError> {
        self.0.seek_to(from);
        Ok(())
    }

    fn seek_within(&mut self, key: &str, _id: &str) -> Result<(), CatalogError> {
        // A key has one object, so ids mean nothing here.
        self.seek(&[key.as_bytes(), b"\0"].concat())
    }

    fn next(&mut self, prefix: &str) -> Result<Option<(String, Short)>, CatalogError> {
        let Some((key, name, row)) = self.0.step()? else { return Ok(None) };
        if !name.starts_with(prefix) {
            return Ok(None);
        }
        Ok(Some((name.to_owned(), Short::unseal(key, row)?)))
    }
}

/// A bucket's uploads by key, then id; each stands for its id.
#[derive(Debug)]
pub(crate) struct Uploads<'a>(pub(crate) Cursor<'a>);

impl Source for Uploads<'_> {
    type Item = String;

    fn seek(&mut self, from: &[u8]) -> Result<(), CatalogError> {
        self.0.seek_to(&escaped(from));
        Ok(())
    }

    fn seek_within(&mut self, key: &str, id: &str) -> Result<(), CatalogError> {
        self.0.seek_to([&versions_begin(key), id, "\0"].concat().as_bytes());
        Ok(())
    }

    fn next(&mut self, prefix: &str) -> Result<Option<(String, String)>, CatalogError> {
        let Some((_, name, _)) = self.0.step()? else { return Ok(None) };
        if !name.starts_with(&*versions_prefix(prefix)) {
            return Ok(None);
        }
        split_upload(name).map(Some)
    }
}
