use super::{
    panel::Panel,
    series::{Series, Shape},
    style::{colour, dashes, mark, shade},
    svg::{Svg, px, text_width},
};

const ROW: f64 = 19.0;
const SAMPLE: f64 = 30.0;
const GAP: f64 = 18.0;

/// What a series looks like wherever its name stands.
#[derive(Clone, PartialEq, Debug)]
struct Entry {
    name: String,
    shape: Shape,
    is_marked: bool,
    style: usize,
}

/// The names of a figure's series with their looks, set in rows.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Legend {
    entries: Vec<Entry>,
    /// Where each entry stands: offset from the left, row.
    places: Vec<(f64, usize)>,
    layers: usize,
}

impl Legend {
    pub(super) fn of(panels: &[Panel], width: f64) -> Self {
        let mut entries: Vec<Entry> = Vec::new();
        let (mut lines, mut layers) = (0, 0);
        for series in panels.iter().flat_map(|panel| &panel.series) {
            if let Some(known) = entries.iter_mut().find(|entry| entry.name == series.name) {
                known.is_marked |= series.is_marked;
                continue;
            }
            let count = if series.is_stacked() { &mut layers } else { &mut lines };
            let style = series.style.unwrap_or(*count);
            *count += 1;
            let (name, shape, is_marked) = (series.name.clone(), series.shape, series.is_marked);
            entries.push(Entry { name, shape, is_marked, style });
        }
        let mut places = Vec::new();
        let (mut left, mut row) = (0.0, 0);
        for entry in &entries {
            let need = SAMPLE + 6.0 + text_width(&entry.name, 12.0) + GAP;
            if left > 0.0 && left + need > width {
                (left, row) = (0.0, row + 1);
            }
            places.push((left, row));
            left += need;
        }
        Self { entries, places, layers }
    }

    pub(super) fn height(&self) -> f64 {
        self.places.last().map_or(0.0, |(_, row)| (row + 1) as f64 * ROW)
    }

    pub(super) fn style(&self, series: &Series) -> usize {
        let entry = self.entries.iter().find(|entry| entry.name == series.name);
        series.style.or(entry.map(|entry| entry.style)).unwrap_or(0)
    }

    /// The colour of a layer.
    pub(super) fn fill(&self, series: &Series) -> String {
        shade(self.style(series), self.layers)
    }

    pub(super) fn draw(&self, svg: &mut Svg, left: f64, top: f64) {
        for (entry, (across, row)) in self.entries.iter().zip(&self.places) {
            let (x, y) = (left + across + 4.0, top + (*row as f64 + 0.5) * ROW);
            match entry.shape {
                Shape::Area | Shape::Bar => {
                    let fill = shade(entry.style, self.layers);
                    let (x, y) = (px(x + SAMPLE - 18.0), px(y - 6.0));
                    let size = [("width", "16"), ("height", "12"), ("fill", fill.as_str())];
                    svg.element("rect", &[&[("x", x.as_str()), ("y", &y)], &size[..]].concat());
                }
                Shape::Line | Shape::Step => {
                    svg.open("g", &line_style(entry.style));
                    svg.line((x, y), (x + SAMPLE, y));
                    svg.close("g");
                }
                Shape::Points => {}
            }
            if entry.is_marked {
                mark(svg, entry.style, (x + SAMPLE / 2.0, y));
            }
            svg.words((x + SAMPLE + 6.0, y + 4.0), &entry.name, &[]);
        }
    }
}

/// What a line of a style looks like.
pub(super) fn line_style(style: usize) -> Vec<(&'static str, &'static str)> {
    let mut looks = vec![("fill", "none"), ("stroke", colour(style)), ("stroke-width", "2")];
    looks.push(("stroke-linejoin", "round"));
    if !dashes(style).is_empty() {
        looks.push(("stroke-dasharray", dashes(style)));
    }
    looks
}
