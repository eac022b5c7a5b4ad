//! What a client asks for, as data.

use bytes::Bytes;

/// Bytes of a key, at most.
pub(crate) const KEY_LEN_MAX: usize = 250;

/// A command, read to its end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Request {
    pub(crate) command: Command,
    /// `noreply` or `q`: which answers are left out depends on the command.
    pub(crate) is_quiet: bool,
}

impl Request {
    /// A line that depends on nothing, whatever the client said of answers.
    pub(crate) const fn say(line: &'static str) -> Self {
        Self { command: Command::Say(line), is_quiet: false }
    }

    /// The same, unless the client wants no answer.
    pub(crate) const fn say_unless(is_quiet: bool, line: &'static str) -> Self {
        Self { command: Command::Say(line), is_quiet }
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Command {
    /// Answers this line.
    Say(&'static str),
    Get(Get),
    Store(Store),
    /// An item that is longer than one may be: it is not stored, and what is there goes, lest it
    /// be taken for the newer one.
    TooLarge {
        key: Bytes,
        removes: bool,
    },
    Delete(Bytes),
    Count(Count),
    Touch {
        key: Bytes,
        exptime: i32,
    },
    MetaGet(Meta),
    MetaDelete(Meta),
    MetaCount(Meta),
    /// What is known of an item.
    MetaDebug {
        key: Bytes,
    },
    /// Ends what was asked for with `q`.
    MetaEnd,
    Flush {
        delay: i32,
    },
    Stats(StatsOf),
    /// Somebody says who they are.
    Enter {
        is_known: bool,
    },
    Version,
    Quit,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Get {
    pub(crate) keys: Vec<Bytes>,
    pub(crate) with_cas: bool,
    /// `gat`: items end then instead.
    pub(crate) touch: Option<i32>,
}

/// How a store treats what is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StoreMode {
    Set,
    Add,
    Replace,
    Append,
    Prepend,
    Cas,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Store {
    pub(crate) mode: StoreMode,
    pub(crate) key: Bytes,
    pub(crate) flags: u32,
    pub(crate) exptime: i32,
    /// The version that is to be there; 0: any, or in [`StoreMode::Cas`] none.
    pub(crate) cas: u64,
    pub(crate) value: Bytes,
    /// What `ms` adds.
    pub(crate) meta: Option<Meta>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Count {
    pub(crate) key: Bytes,
    pub(crate) is_up: bool,
    pub(crate) by: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StatsOf {
    Conns,
    All,
    Settings,
    Items,
    Slabs,
    Sizes,
    Reset,
}

/// Flags of a meta command, at most.
pub(crate) const META_FLAGS_MAX: usize = 17;

/// What all meta commands have.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Meta {
    pub(crate) key: Bytes,
    /// The key came as base64, and is answered so.
    pub(crate) is_binary: bool,
    /// The letters of its flags, in their order, for that is the answer's.
    pub(crate) letters: Letters,
    /// `O` and what follows it.
    pub(crate) opaque: Bytes,
    /// `q`.
    pub(crate) is_quiet: bool,
    /// `T`: the new end.
    pub(crate) exptime: Option<i32>,
    /// `N`: a missing item is made, with this end.
    pub(crate) vivify: Option<i32>,
    /// `R`: an item that ends before this is to be renewed by one of those who ask.
    pub(crate) recache: Option<i32>,
    /// `F`.
    pub(crate) flags: u32,
    /// `C`.
    pub(crate) cas: Option<u64>,
    /// `M`.
    pub(crate) mode: Option<u8>,
    /// `J`: what a missing number begins with.
    pub(crate) initial: u64,
    /// `D`.
    pub(crate) delta: Option<u64>,
}

impl Meta {
    pub(crate) fn has(&self, letter: u8) -> bool {
        self.letters.as_slice().contains(&letter)
    }
}

/// Letters of flags.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Letters {
    letters: [u8; META_FLAGS_MAX],
    len: u8,
}

impl Letters {
    /// Adds one, if there is room: what could not be added is false.
    pub(crate) fn push(&mut self, letter: u8) -> bool {
        let room = self.letters.get_mut(usize::from(self.len));
        let fits = room.is_some();
        if let Some(room) = room {
            *room = letter;
            self.len += 1;
        }
        fits
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.letters[..self.len.into()]
    }
}
