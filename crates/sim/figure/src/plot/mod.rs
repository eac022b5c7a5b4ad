mod axis;
mod draw;
mod legend;
mod panel;
mod series;
mod style;
mod svg;

pub use axis::Axis;
pub use panel::Panel;
pub use series::Series;
pub(crate) use svg::escape;

use legend::Legend;
use svg::{Span, Svg, px};

/// Height of the figure's title.
const TITLE: f64 = 34.0;
/// Around everything.
const MARGIN: f64 = 8.0;

/// A picture of panels with one legend, drawn as SVG.
///
/// Series of one name look the same in all panels. The legend stands below them.
#[derive(Clone, PartialEq, Debug)]
pub struct Figure {
    title: String,
    panels: Vec<Panel>,
    columns: usize,
    size: Option<(u32, u32)>,
}

impl Figure {
    /// A figure without panels.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), panels: Vec::new(), columns: 2, size: None }
    }

    /// Adds a panel, row by row from the upper left.
    #[must_use]
    pub fn panel(mut self, panel: Panel) -> Self {
        self.panels.push(panel);
        self
    }

    /// At most this many panels side by side; 2 by default.
    #[must_use]
    pub fn columns(mut self, columns: usize) -> Self {
        self.columns = columns.max(1);
        self
    }

    /// Its size in pixels; otherwise 720 × 440 for one panel, and 500 × 340 and what title and
    /// legend need for each of several.
    #[must_use]
    pub fn size(mut self, width: u32, height: u32) -> Self {
        self.size = Some((width, height));
        self
    }

    /// The figure as an SVG document, on white.
    pub fn svg(&self) -> String {
        let columns = self.columns.min(self.panels.len()).max(1);
        let rows = self.panels.len().div_ceil(columns).max(1);
        let (width, height) = self.size.unwrap_or(match (columns, rows) {
            (1, 1) => (720, 440),
            _ => (500 * columns as u32, 340 * rows as u32 + 40),
        });
        let (width, height) = (f64::from(width), f64::from(height));
        let legend = Legend::of(&self.panels, width - 2.0 * MARGIN);
        let mut svg = Svg::default();
        self.open(&mut svg, width, height);
        let top = if self.title.is_empty() { MARGIN } else { TITLE };
        let bottom = height - MARGIN - legend.height();
        let cell = ((width - 2.0 * MARGIN) / columns as f64, (bottom - top) / rows as f64);
        for (index, panel) in self.panels.iter().enumerate() {
            let left = MARGIN + (index % columns) as f64 * cell.0;
            let above = top + (index / columns) as f64 * cell.1;
            let (x, y) =
                (Span { from: left, to: left + cell.0 }, Span { from: above, to: above + cell.1 });
            draw::panel(&mut svg, panel, &legend, x, y);
        }
        legend.draw(&mut svg, MARGIN, bottom);
        svg.close("svg");
        svg.text
    }

    fn open(&self, svg: &mut Svg, width: f64, height: f64) {
        let (width, height) = (px(width), px(height));
        let view = ["0 0", &width, &height].join(" ");
        svg.open(
            "svg",
            &[
                ("xmlns", "http://www.w3.org/2000/svg"),
                ("viewBox", &view),
                ("width", &width),
                ("height", &height),
                ("role", "img"),
                ("font-family", "sans-serif"),
                ("font-size", "12"),
                ("fill", "#222222"),
            ],
        );
        if !self.title.is_empty() {
            svg.text.push_str(&["<title>", &escape(&self.title), "</title>\n"].concat());
        }
        svg.element("rect", &[("width", &width), ("height", &height), ("fill", "#ffffff")]);
        let bold = [("font-size", "16"), ("font-weight", "bold")];
        svg.words((MARGIN + 4.0, 22.0), &self.title, &bold);
    }
}

#[cfg(test)]
mod tests;
