use std::fmt::Write as _;

const DECLARATION: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
const NAMESPACE: &str = " xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"";

/// An element under construction; its children are written as they come.
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

/// Characters that XML 1.0 cannot hold are written as references, as S3 does: clients that list such
/// keys ask for `encoding-type=url`.
fn escape(text: &str, out: &mut String) {
    let mut clean_from = 0;
    for (at, char) in text.char_indices() {
        let replacement = match char {
            '&' => "&amp;",
            '<' => "&lt;",
            '>' => "&gt;",
            '"' => "&quot;",
            '\n' | '\t' => continue,
            '\u{0}'..='\u{1f}' | '\u{7f}' | '\u{fffe}' | '\u{ffff}' => "",
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
    fn text_is_escaped_and_control_characters_become_references() {
        let mut out = String::new();
        escape("a<b>&\"\u{1}\r\u{7f}ü", &mut out);
        assert_eq!(out, "a&lt;b&gt;&amp;&quot;&#x1;&#xD;&#x7F;ü");
    }
}
