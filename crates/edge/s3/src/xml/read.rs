use std::{borrow::Cow, fmt};

/// Deepest nesting that any of S3's documents has, with room to spare.
const DEPTH_MAX: usize = 16;
/// Most elements of a document: ten thousand parts of nine elements each, and the root.
const NODES_MAX: usize = 1 + 10_000 * 10;

/// An element: its name without prefix, its own text, its children in order. What the document has as
/// it is meant is not copied.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Node<'a> {
    pub(crate) name: &'a str,
    pub(crate) text: Cow<'a, str>,
    pub(crate) children: Vec<Node<'a>>,
}

/// The document is not XML, or more than S3's documents need.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("malformed XML")
    }
}

impl<'a> Node<'a> {
    /// The first child of that name.
    pub(crate) fn child(&self, name: &str) -> Option<&Self> {
        self.children.iter().find(|child| child.name == name)
    }

    /// The text of the first child of that name.
    pub(crate) fn text_of(&self, name: &str) -> Option<&str> {
        self.child(name).map(|child| &*child.text)
    }

    /// All children of that name.
    pub(crate) fn all<'b>(&'b self, name: &'b str) -> impl Iterator<Item = &'b Node<'a>> {
        self.children.iter().filter(move |child| child.name == name)
    }
}

/// Reads a document: its root element. Document types are refused, so no entity can grow.
pub(crate) fn parse(document: &[u8]) -> Result<Node<'_>, Malformed> {
    let text = std::str::from_utf8(document).map_err(|_| Malformed)?;
    let mut reader = Reader { rest: text.trim_start_matches('\u{feff}'), nodes_left: NODES_MAX };
    reader.skip_misc()?;
    let root = reader.element(0)?;
    reader.skip_misc()?;
    if reader.rest.is_empty() { Ok(root) } else { Err(Malformed) }
}

struct Reader<'a> {
    rest: &'a str,
    nodes_left: usize,
}

impl<'a> Reader<'a> {
    fn eat(&mut self, prefix: &str) -> bool {
        match self.rest.strip_prefix(prefix) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn until(&mut self, end: &str) -> Result<&'a str, Malformed> {
        let (before, after) = self.rest.split_once(end).ok_or(Malformed)?;
        self.rest = after;
        Ok(before)
    }

    fn skip_blank(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\r', '\n']);
    }

    /// Blanks, comments and processing instructions around the root.
    fn skip_misc(&mut self) -> Result<(), Malformed> {
        loop {
            self.skip_blank();
            if self.eat("<?") {
                self.until("?>")?;
            } else if self.eat("<!--") {
                self.until("-->")?;
            } else {
                return Ok(());
            }
        }
    }

    fn name(&mut self) -> Result<&'a str, Malformed> {
        let end = self
            .rest
            .find(|c: char| !(c.is_alphanumeric() || matches!(c, ':' | '_' | '-' | '.')))
            .ok_or(Malformed)?;
        let (name, rest) = self.rest.split_at(end);
        self.rest = rest;
        if name.is_empty() { Err(Malformed) } else { Ok(name) }
    }

    fn attributes(&mut self) -> Result<(), Malformed> {
        loop {
            self.skip_blank();
            if self.rest.starts_with(['>', '/']) {
                return Ok(());
            }
            self.name()?;
            self.skip_blank();
            if !self.eat("=") {
                return Err(Malformed);
            }
            self.skip_blank();
            let quote = if self.eat("\"") {
                "\""
            } else if self.eat("'") {
                "'"
            } else {
                return Err(Malformed);
            };
            self.until(quote)?;
        }
    }

    fn element(&mut self, depth: usize) -> Result<Node<'a>, Malformed> {
        self.nodes_left = self.nodes_left.checked_sub(1).ok_or(Malformed)?;
        if depth >= DEPTH_MAX || !self.eat("<") {
            return Err(Malformed);
        }
        let full_name = self.name()?;
        self.attributes()?;
        let name = full_name.rsplit(':').next().unwrap_or(full_name);
        let mut node = Node { name, ..Node::default() };
        if self.eat("/>") {
            return Ok(node);
        }
        if !self.eat(">") {
            return Err(Malformed);
        }
        loop {
            let end = self.rest.find('<').ok_or(Malformed)?;
            let (text, rest) = self.rest.split_at(end);
            unescape(text, &mut node.text)?;
            self.rest = rest;
            if self.eat("</") {
                let closed = self.name()?;
                self.skip_blank();
                if closed != full_name || !self.eat(">") {
                    return Err(Malformed);
                }
                return Ok(node);
            } else if self.eat("<!--") {
                self.until("-->")?;
            } else if self.eat("<![CDATA[") {
                append(self.until("]]>")?, &mut node.text);
            } else if self.eat("<?") {
                self.until("?>")?;
            } else {
                node.children.push(self.element(depth + 1)?);
            }
        }
    }
}

fn append<'a>(text: &'a str, out: &mut Cow<'a, str>) {
    if out.is_empty() {
        *out = Cow::Borrowed(text);
    } else if !text.is_empty() {
        out.to_mut().push_str(text);
    }
}

fn unescape<'a>(text: &'a str, out: &mut Cow<'a, str>) -> Result<(), Malformed> {
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        append(before, out);
        let (entity, after) = after.split_once(';').ok_or(Malformed)?;
        let char = match entity {
            "amp" => '&',
            "lt" => '<',
            "gt" => '>',
            "quot" => '"',
            "apos" => '\'',
            number => {
                let digits = number.strip_prefix('#').ok_or(Malformed)?;
                let value = match digits.strip_prefix(['x', 'X']) {
                    Some(hex) => u32::from_str_radix(hex, 16),
                    None => digits.parse(),
                };
                value.ok().and_then(char::from_u32).ok_or(Malformed)?
            }
        };
        out.to_mut().push(char);
        rest = after;
    }
    append(rest, out);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_text_entities_and_cdata_are_read() {
        let root = parse(
            b"<?xml version=\"1.0\"?><!-- c --><a:Delete xmlns=\"x\"><Quiet>true</Quiet>\
              <Object><Key>a&amp;b&#x1;&#65;<![CDATA[<c>]]></Key></Object><Object/></a:Delete>\n",
        )
        .unwrap();
        assert_eq!(root.name, "Delete");
        assert_eq!(root.text_of("Quiet"), Some("true"));
        assert_eq!(root.all("Object").count(), 2);
        assert_eq!(root.child("Object").unwrap().text_of("Key"), Some("a&b\u{1}A<c>"));
    }

    #[test]
    fn what_is_not_xml_is_refused() {
        for document in [
            "",
            "x",
            "<a>",
            "<a></b>",
            "<a/><b/>",
            "<a b=c/>",
            "<a>&x;</a>",
            "<a>&#xd800;</a>",
            "<!DOCTYPE a [<!ENTITY x \"y\">]><a>&x;</a>",
            "<a",
            "<a b",
            "</a>",
            "<a>&#x110000;</a>",
        ] {
            assert_eq!(parse(document.as_bytes()), Err(Malformed), "{document}");
        }
        assert_eq!(parse(b"<a>\xff</a>"), Err(Malformed));
        assert_eq!(parse("<a>".repeat(40).as_bytes()), Err(Malformed));
    }

    #[test]
    fn a_document_has_as_many_elements_as_the_longest_needs_and_no_more() {
        let part = format!("<Part>{}</Part>", "<x>y</x>".repeat(9));
        let document = |more: &str| format!("<a>{}{more}</a>", part.repeat(10_000));
        assert_eq!(parse(document("").as_bytes()).unwrap().children.len(), 10_000);
        assert_eq!(parse(document("<x/>").as_bytes()), Err(Malformed));
    }
}
