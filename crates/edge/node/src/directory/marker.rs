use super::{
    leftover, name,
    place::{Folder, is_file},
};
use ripstop_model::FragmentId;
use rustix::io::Result;
use std::fmt;

/// Name of the file in a node's folder that says whose it is.
pub(super) const MARKER: &str = ".ripstop-node";
/// What a file system has in its root by itself.
const LOST_AND_FOUND: &str = "lost+found";
/// Most bytes of a marker.
const MARKER_LEN_MAX: u64 = 4096;
const FIRST_LINE: &str = "This folder is a node of a Ripstop store: leave what is in it alone.";
/// Programs that know format 1 alone cannot read sealed fragments, and take them for damaged ones.
const FORMAT: &str = "2";
const FORMAT_BEFORE: &str = "1";

/// Whose a node's folder is, as the marker in it says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeMark {
    /// The store's number.
    pub store: u64,
    /// The node's name.
    pub node: String,
}

impl fmt::Display for NodeMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node {:?} of store {:016x}", self.node, self.store)
    }
}

impl NodeMark {
    /// The marker's text.
    pub(super) fn text(&self) -> String {
        let (store, node) = (self.store, self.node.escape_default());
        format!("{FIRST_LINE}\nformat {FORMAT}\nstore {store:016x}\nnode {node}\n")
    }

    /// What a marker's text says, and whether in this format; or what is wrong with it.
    fn parse(text: &str) -> std::result::Result<(Self, bool), String> {
        let mut values = text.lines().skip(1).filter_map(|line| line.split_once(' '));
        let mut value = |key: &str| match values.next() {
            Some((found, value)) if found == key => Ok(value),
            Some(_) | None => Err(format!("it has no line {key:?} where one should be")),
        };
        let format = value("format")?;
        if ![FORMAT, FORMAT_BEFORE].contains(&format) {
            return Err(format!(
                "its format is {format:?}, and this version knows {FORMAT_BEFORE:?} and {FORMAT:?}"
            ));
        }
        let store = value("store")?;
        let number = u64::from_str_radix(store, 16);
        let number = number.map_err(|_| format!("{store:?} is no number of a store"))?;
        Ok((Self { store: number, node: unescaped(value("node")?) }, format == FORMAT))
    }
}

/// What `escape_default` made of a name, put back.
fn unescaped(escaped: &str) -> String {
    let (mut name, mut left) = (String::new(), escaped.chars());
    while let Some(next) = left.next() {
        if next != '\\' {
            name.push(next);
            continue;
        }
        match left.next() {
            Some('n') => name.push('\n'),
            Some('r') => name.push('\r'),
            Some('t') => name.push('\t'),
            Some('u') => {
                let code: String =
                    left.by_ref().skip(1).take_while(|digit| *digit != '}').collect();
                let letter = u32::from_str_radix(&code, 16).ok().and_then(char::from_u32);
                name.push(letter.unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            Some(other) => name.push(other),
            None => {}
        }
    }
    name
}

/// What a folder is to a node, before anything is written there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Standing {
    /// It has a marker, which says this.
    Marked(NodeMark),
    /// It has one of the format before, which says this.
    MarkedBefore(NodeMark),
    /// It has none, and nothing speaks against one: it is empty, or holds fragments.
    Free,
    /// It is somebody else's, by what was found there.
    Foreign(String),
}

/// Looks at a node's folder.
pub(super) fn look(root: &Folder) -> Result<Standing> {
    let Some((file, len)) = root.file(MARKER)? else {
        return match root.stat_of(MARKER) {
            Ok(_) => Ok(Standing::Foreign(format!("{MARKER:?} in it is no regular file"))),
            Err(_) => look_at_unmarked(root),
        };
    };
    if len > MARKER_LEN_MAX {
        return Ok(Standing::Foreign(format!("{MARKER:?} in it is {len} bytes long")));
    }
    let bytes = super::folder::read(&file, 0, len as usize).map_err(|error| {
        rustix::io::Errno::from_io_error(&error).unwrap_or(rustix::io::Errno::IO)
    })?;
    Ok(match NodeMark::parse(&String::from_utf8_lossy(&bytes)) {
        Ok((mark, true)) => Standing::Marked(mark),
        Ok((mark, false)) => Standing::MarkedBefore(mark),
        Err(wrong) => Standing::Foreign(format!("{MARKER:?} in it cannot be read: {wrong}")),
    })
}

/// What a folder of ours that is not marked can hold, in the root or below it.
enum Within {
    /// Nothing, or what we make beside fragments.
    Nothing,
    Fragment,
    Alien(String),
}

fn look_at_unmarked(root: &Folder) -> Result<Standing> {
    let mut alien = None;
    for entry in root.entries()? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy();
        let within = match &*name {
            leftover::FOLDER | LOST_AND_FOUND => Within::Nothing,
            leftover::FOLDER_BEFORE => look_at_temporary(root)?,
            other => match name::byte_of(other) {
                Some(byte) => look_at_fragments(root, other, byte)?,
                None => Within::Alien(other.to_owned()),
            },
        };
        match within {
            Within::Nothing => {}
            Within::Fragment => return Ok(Standing::Free),
            Within::Alien(name) => drop(alien.get_or_insert(name)),
        }
    }
    Ok(alien.map_or(Standing::Free, |name| {
        Standing::Foreign(format!("it has no {MARKER:?}, and holds {name:?} and no fragment"))
    }))
}

fn look_at_temporary(root: &Folder) -> Result<Within> {
    let Ok(folder) = root.within(leftover::FOLDER_BEFORE) else {
        return Ok(Within::Alien(leftover::FOLDER_BEFORE.into()));
    };
    for entry in folder.entries()? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy();
        if leftover::writer_of(&name).is_none() {
            return Ok(Within::Alien(format!("{}/{name}", leftover::FOLDER_BEFORE)));
        }
    }
    Ok(Within::Nothing)
}

fn look_at_fragments(root: &Folder, name: &str, byte: u8) -> Result<Within> {
    let Ok(folder) = root.within(name) else { return Ok(Within::Alien(name.into())) };
    let mut alien = None;
    for entry in folder.entries()? {
        let entry = entry?;
        let file = entry.file_name().to_string_lossy();
        let fragment = file.parse::<FragmentId>().ok();
        let is_there = |_: &FragmentId| folder.stat_of(&file).is_ok_and(|stat| is_file(&stat));
        let fragment = fragment.filter(|at| name::last_byte(*at) == byte);
        if fragment.as_ref().is_some_and(is_there) {
            return Ok(Within::Fragment);
        }
        alien.get_or_insert_with(|| format!("{name}/{file}"));
    }
    Ok(alien.map_or(Within::Nothing, Within::Alien))
}
