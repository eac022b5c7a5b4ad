use std::fmt::Write as _;

const DECLARATION: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
const OF_STS: &str = " xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"";
const NAMESPACE: &str = " xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"";

/// An element under construction; its children are written as they come.
#[derive(Debug)]
pub(crate) struct Element {
    out: String,
    name: &'static str,
}

impl Element {
    /// A root element without namespace (errors).
    pub(crate) fn new(name: &'static str) -> Self {
        Self { out: format!("{DECLARATION}<{name}>"), name }
    }

    /// A root element in S3's namespace.
    pub(crate) fn in_namespace(name: &'static str) -> Self {
        Self { out: format!("{DECLARATION}<{name}{NAMESPACE}>"), name }
    }

    /// A root element in the namespace of the Security Token Service.
    pub(crate) fn of_sts(name: &'static str) -> Self {
        Self { out: format!("{DECLARATION}<{name}{OF_STS}>"), name }
    }

    /// A page for browsers.
    pub(crate) fn html() -> Self {
        Self { out: "<html>".to_owned(), name: "html" }
    }

    /// A child that holds text.
    pub(crate) fn text(&mut self, name: &str, text: &str) -> &mut Self {
        let _ = write!(self.out, "<{name}>");
        escape(text, &mut self.out);
        let _ = write!(self.out, "</{name}>");
        self
    }

    /// A child that holds text, if there is any.
    pub(crate) fn optional(&mut self, name: &str, text: Option<&str>) -> &mut Self {
        if let Some(text) = text {
            self.text(name, text);
        }
        self
    }

    /// A child that holds a number or a truth value.
    pub(crate) fn value(&mut self, name: &str, value: impl std::fmt::Display) -> &mut Self {
        let _ = write!(self.out, "<{name}>{value}</{name}>");
        self
    }

    /// A child with children of its own.
    pub(crate) fn child(&mut self, name: &str, fill: impl FnOnce(&mut Self)) -> &mut Self {
        self.child_with(name, "", fill)
    }

    /// A child with attributes (written as given, with a leading blank) and children of its own.
    pub(crate) fn child_with(
        &mut self,
        name: &str,
        attributes: &str,
        fill: impl FnOnce(&mut Self),
    ) -> &mut Self {
        let _ = write!(self.out, "<{name}{attributes}>");
        fill(self);
        let _ = write!(self.out, "</{name}>");
        self
    }

    /// The whole document.
    pub(crate) fn document(mut self) -> String {
        let _ = write!(self.out, "</{}>", self.name);
        self.out
    }

    /// An element that holds text only (`LocationConstraint`).
    pub(crate) fn only_text(name: &'static str, text: &str) -> String {
        let mut element = Self::in_namespace(name);
        escape(text, &mut element.out);
        element.document()
    }
}

/// Whether XML 1.0 can hold a character, be it as a reference: not so most that control something.
const fn can_hold_char(char: char) -> bool {
    !matches!(char, '\u{0}'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}')
}

/// Whether XML 1.0 can hold a text as it is.
pub(crate) fn can_hold(text: &str) -> bool {
    text.chars().all(can_hold_char)
}

/// What XML 1.0 cannot hold is shown as U+FFFD, so that a document can be read whatever is in it.
fn escape(text: &str, out: &mut String) {
    let mut clean_from = 0;
    for (at, char) in text.char_indices() {
        let replacement = match char {
            '&' => "&amp;",
            '<' => "&lt;",
            '>' => "&gt;",
            '"' => "&quot;",
            '\r' | '\u{7f}' => "",
            _ if !can_hold_char(char) => "\u{fffd}",
            _ => continue,
        };
        out.push_str(&text[clean_from..at]);
        if replacement.is_empty() {
            let _ = write!(out, "&#x{:X};", u32::from(char));
        } else {
            out.push_str(replacement);
        }
        clean_from = at + char.len_utf8();
    }
    out.push_str(&text[clean_from..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_and_what_xml_cannot_hold_is_replaced() {
        let mut out = String::new();
        escape("a<b>&\"\u{1}\0\r\n\t\u{7f}ü\u{ffff}", &mut out);
        assert_eq!(out, "a&lt;b&gt;&amp;&quot;\u{fffd}\u{fffd}&#xD;\n\t&#x7F;ü\u{fffd}");
        assert!(can_hold("a\r\n\t\u{7f}ü") && !can_hold("a\u{1f}") && !can_hold("\u{fffe}"));
    }
}
