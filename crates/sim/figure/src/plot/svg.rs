use std::fmt::Write;

/// A length on the picture, from one coordinate to another, in pixels. May run backwards.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Span {
    pub(super) from: f64,
    pub(super) to: f64,
}

impl Span {
    pub(super) fn len(self) -> f64 {
        (self.to - self.from).abs()
    }

    /// The coordinate at a share of the way.
    pub(super) fn at(self, share: f64) -> f64 {
        self.from + (self.to - self.from) * share
    }
}

/// A text with what means something in XML and HTML escaped, and without characters that XML
/// forbids.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            c if c.is_control() && !matches!(c, '\n' | '\t') => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

/// A coordinate: hundredths of a pixel.
pub(super) fn px(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".into() } else { text.to_owned() }
}

/// How wide a text is, about; sans-serif letters are half as wide as high.
pub(super) fn text_width(text: &str, size: f64) -> f64 {
    text.chars().count() as f64 * size * 0.56
}

/// SVG text that grows.
#[derive(Debug, Default)]
pub(super) struct Svg {
    pub(super) text: String,
}

impl Svg {
    /// An element without content; values are escaped.
    pub(super) fn element(&mut self, name: &str, attributes: &[(&str, &str)]) {
        self.open(name, attributes);
        self.text.truncate(self.text.len() - 2);
        self.text.push_str("/>\n");
    }

    pub(super) fn open(&mut self, name: &str, attributes: &[(&str, &str)]) {
        self.text.push('<');
        self.text.push_str(name);
        for (name, value) in attributes {
            // Writing to a string does not fail.
            let _ = write!(self.text, " {name}=\"{}\"", escape(value));
        }
        self.text.push_str(">\n");
    }

    pub(super) fn close(&mut self, name: &str) {
        let _ = writeln!(self.text, "</{name}>");
    }

    pub(super) fn line(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
        let [x1, y1, x2, y2] = [x1, y1, x2, y2].map(px);
        self.element("line", &[("x1", &x1), ("y1", &y1), ("x2", &x2), ("y2", &y2)]);
    }

    /// A text; further attributes as given.
    pub(super) fn words(&mut self, (x, y): (f64, f64), words: &str, more: &[(&str, &str)]) {
        let (x, y) = (px(x), px(y));
        let attributes = [&[("x", x.as_str()), ("y", y.as_str())], more].concat();
        self.open("text", &attributes);
        self.text.pop();
        self.text.push_str(&escape(words));
        self.close("text");
    }
}
