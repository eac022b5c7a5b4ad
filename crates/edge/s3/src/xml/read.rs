#[cfg(test)]
mod tests;

use crate::error::{Code, Failure};
use quick_xml::{
    Reader,
    events::{BytesRef, BytesStart, Event},
};
use std::{borrow::Cow, fmt};

/// Most attributes of an element: namespaces, which are not looked at, and a type.
const ATTRIBUTES_MAX: usize = 16;

/// How much a document may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Limits {
    /// Its bytes.
    pub(crate) bytes: usize,
    /// Elements within each other, the root among them.
    pub(crate) depth: usize,
    /// Its elements.
    pub(crate) elements: usize,
}

/// An element: its name without prefix, its own text, its children in order. Namespaces are not
/// looked at: clients send S3's, older ones of its, and none. What the document has as it is meant
/// is not copied.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Node<'a> {
    pub(crate) name: &'a str,
    pub(crate) text: Cow<'a, str>,
    /// Its `xsi:type`, as it is written.
    pub(crate) kind: Option<Box<str>>,
    pub(crate) children: Vec<Node<'a>>,
}

/// The document is not XML, more than its limits allow, or not what its schema says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("malformed XML")
    }
}

impl From<Malformed> for Failure {
    fn from(_: Malformed) -> Self {
        Code::MalformedXml.into()
    }
}

impl<'a> Node<'a> {
    /// The element itself, if that is its name.
    pub(crate) fn named(&self, name: &str) -> Result<&Self, Malformed> {
        if self.name == name { Ok(self) } else { Err(Malformed) }
    }

    /// The child of that name, if there is one. Where the schema has one, two are an error: which
    /// is meant would be a guess.
    pub(crate) fn child(&self, name: &str) -> Result<Option<&Self>, Malformed> {
        let mut found = self.children.iter().filter(|child| child.name == name);
        let first = found.next();
        if found.next().is_some() { Err(Malformed) } else { Ok(first) }
    }

    /// The text of the child of that name, which holds nothing else.
    pub(crate) fn text_of(&self, name: &str) -> Result<Option<&str>, Malformed> {
        match self.child(name)? {
            Some(child) if !child.children.is_empty() => Err(Malformed),
            child => Ok(child.map(|child| &*child.text)),
        }
    }

    /// Refuses an element that has children of other names than these.
    pub(crate) fn only(&self, names: &[&str]) -> Result<(), Malformed> {
        let is_known = |child: &Node<'_>| names.contains(&child.name);
        if self.children.iter().all(is_known) { Ok(()) } else { Err(Malformed) }
    }

    /// All children of that name.
    pub(crate) fn all<'b>(&'b self, name: &'b str) -> impl Iterator<Item = &'b Node<'a>> {
        self.children.iter().filter(move |child| child.name == name)
    }
}

/// Reads a document: its root element. Document types are refused, so no entity can grow.
pub(crate) fn parse(document: &[u8], limits: Limits) -> Result<Node<'_>, Malformed> {
    if document.len() > limits.bytes {
        return Err(Malformed);
    }
    let text = std::str::from_utf8(document).map_err(|_| Malformed)?;
    let text = text.trim_start_matches('\u{feff}').trim_ascii_start();
    let mut tree = Tree { text, limits, open: Vec::new(), elements: 0, root: None };
    let mut reader = Reader::from_str(text);
    loop {
        let at = usize::try_from(reader.buffer_position()).map_err(|_| Malformed)?;
        match reader.read_event().map_err(|_| Malformed)? {
            Event::Start(start) => tree.begin(&start, at)?,
            Event::Empty(start) => {
                tree.begin(&start, at)?;
                tree.end()?;
            }
            // The library has seen that it is the end of what is open.
            Event::End(_) => tree.end()?,
            Event::Text(text) => tree.text(text.decode().map_err(|_| Malformed)?)?,
            Event::CData(_) if tree.open.is_empty() => return Err(Malformed),
            Event::CData(text) => tree.text(text.decode().map_err(|_| Malformed)?)?,
            Event::GeneralRef(reference) => tree.reference(&reference)?,
            Event::Comment(_) | Event::PI(_) => {}
            Event::Decl(_) if at == 0 => {}
            Event::Decl(_) | Event::DocType(_) => return Err(Malformed),
            Event::Eof => return tree.whole(),
        }
    }
}

/// What was read of a document.
struct Tree<'a> {
    text: &'a str,
    limits: Limits,
    /// Elements that have not ended, each within the one before.
    open: Vec<Node<'a>>,
    elements: usize,
    root: Option<Node<'a>>,
}

impl<'a> Tree<'a> {
    /// An element begins at this byte of the text.
    fn begin(&mut self, start: &BytesStart<'_>, at: usize) -> Result<(), Malformed> {
        self.elements += 1;
        let fits = self.elements <= self.limits.elements && self.open.len() < self.limits.depth;
        if self.root.is_some() || !fits {
            return Err(Malformed);
        }
        let mut kind = None;
        for (before, attribute) in start.attributes().enumerate() {
            let attribute = attribute.map_err(|_| Malformed)?;
            if before == ATTRIBUTES_MAX {
                return Err(Malformed);
            }
            if attribute.key.local_name().as_ref() == b"type" {
                kind = std::str::from_utf8(&attribute.value).ok().map(Box::from);
            }
        }
        // Behind the bracket. The event's own name would not live as long as the document.
        let from = at + 1;
        let full_name = self.text.get(from..from + start.name().as_ref().len()).ok_or(Malformed)?;
        let in_names = |c: char| c.is_alphanumeric() || matches!(c, ':' | '_' | '-' | '.');
        if full_name.is_empty() || !full_name.chars().all(in_names) {
            return Err(Malformed);
        }
        let name = full_name.rsplit(':').next().unwrap_or(full_name);
        self.open.push(Node { name, kind, ..Node::default() });
        Ok(())
    }

    fn end(&mut self) -> Result<(), Malformed> {
        let ended = self.open.pop().ok_or(Malformed)?;
        match self.open.last_mut() {
            Some(parent) => parent.children.push(ended),
            None => self.root = Some(ended),
        }
        Ok(())
    }

    /// Lines end as they were sent: of a key it would be another, were they made alike.
    fn text(&mut self, text: Cow<'a, str>) -> Result<(), Malformed> {
        match self.open.last_mut() {
            Some(node) if node.text.is_empty() => node.text = text,
            Some(node) => node.text.to_mut().push_str(&text),
            None if text.trim_ascii().is_empty() => {}
            None => return Err(Malformed),
        }
        Ok(())
    }

    fn reference(&mut self, reference: &BytesRef<'_>) -> Result<(), Malformed> {
        let name = reference.decode().map_err(|_| Malformed)?;
        let char = match &*name {
            "amp" => '&',
            "lt" => '<',
            "gt" => '>',
            "quot" => '"',
            "apos" => '\'',
            // Whether XML can hold the character is not asked: keys of objects can. The library
            // asks it of one alone.
            nul if is_nul(nul) => '\0',
            _ => reference.resolve_char_ref().map_err(|_| Malformed)?.ok_or(Malformed)?,
        };
        let node = self.open.last_mut().ok_or(Malformed)?;
        node.text.to_mut().push(char);
        Ok(())
    }

    fn whole(self) -> Result<Node<'a>, Malformed> {
        if self.open.is_empty() { self.root.ok_or(Malformed) } else { Err(Malformed) }
    }
}

/// Whether a reference is to the character zero.
fn is_nul(reference: &str) -> bool {
    let digits = reference.strip_prefix("#x").or_else(|| reference.strip_prefix('#'));
    digits.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|digit| digit == b'0'))
}
