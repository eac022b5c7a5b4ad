use super::{
    axis::Laid,
    legend::{Legend, line_style},
    panel::Panel,
    series::{Series, Shape},
    style::{colour, mark},
    svg::{Span, Svg, px, text_width},
};

const LABEL_X: f64 = 42.0;
const RIGHT: f64 = 14.0;
/// Points nearer to each other than this are drawn as one.
const THIN: f64 = 0.25;

/// Draws a panel into a rectangle.
pub(super) fn panel(svg: &mut Svg, panel: &Panel, legend: &Legend, across: Span, down: Span) {
    let titled = if panel.title.is_empty() { 8.0 } else { 24.0 };
    let down_inner = Span { from: down.to - LABEL_X, to: down.from + titled };
    let layers = layers(panel);
    let y = panel.y.lay(values_y(panel, &layers), down_inner);
    let labels = y.ticks.iter().map(|tick| text_width(&tick.label, 12.0)).fold(28.0, f64::max);
    let across_inner = Span { from: across.from + 26.0 + labels, to: across.to - RIGHT };
    let x = panel.x.lay(values_x(panel), across_inner);
    frame(svg, panel, (&x, &y), across, (across_inner, down_inner));
    let (left, top) = (px(across_inner.from), px(down_inner.to));
    let (width, height) = (px(across_inner.len()), px(down_inner.len()));
    let view = [left.as_str(), &top, &width, &height].join(" ");
    let place = [("x", left.as_str()), ("y", &top), ("width", &width), ("height", &height)];
    // An inner picture cuts off what leaves it, and needs no name that another figure on a page
    // might have.
    svg.open("svg", &[&place[..], &[("viewBox", &view)]].concat());
    for layer in &layers {
        draw_layer(svg, layer, &legend.fill(layer.series), (panel, &x, &y));
    }
    for series in panel.series.iter().filter(|series| !series.is_stacked()) {
        draw_band(svg, series, legend.style(series), (panel, &x, &y));
    }
    for series in panel.series.iter().filter(|series| !series.is_stacked()) {
        draw_line(svg, series, legend.style(series), (panel, &x, &y));
    }
    svg.close("svg");
    for series in panel.series.iter().filter(|series| series.is_marked) {
        let shown = series.points.iter().filter(|(a, b)| panel.x.shows(*a) && panel.y.shows(*b));
        for at in shown.map(|(a, b)| (x.place(*a), y.place(*b))) {
            let inside = at.0 >= across_inner.from - 0.5 && at.0 <= across_inner.to + 0.5;
            if inside && at.1 >= down_inner.to - 0.5 && at.1 <= down_inner.from + 0.5 {
                mark(svg, legend.style(series), at);
            }
        }
    }
}

fn values_x(panel: &Panel) -> impl Iterator<Item = f64> {
    let bars = panel.series.iter().filter(|series| series.shape == Shape::Bar);
    let mut xs: Vec<f64> = bars.flat_map(|series| series.points.iter().map(|(x, _)| *x)).collect();
    let half = gap(&mut xs) / 2.0;
    let ends = xs.into_iter().flat_map(move |x| [x - half, x + half]);
    let points = panel.series.iter().filter(|series| series.shape != Shape::Bar);
    let points = points.flat_map(|series| series.points.iter().map(|(x, _)| *x));
    let rules = panel.rules.iter().filter(|rule| rule.is_upright).map(|rule| rule.at);
    ends.chain(points).chain(rules)
}

fn values_y(panel: &Panel, layers: &[Layer<'_>]) -> impl Iterator<Item = f64> {
    let lines = panel.series.iter().filter(|series| !series.is_stacked());
    let points = lines.clone().flat_map(|series| series.points.iter().map(|(_, y)| *y));
    let bands =
        lines.flat_map(|series| series.band.iter().flat_map(|(_, low, high)| [*low, *high]));
    let stacks =
        layers.iter().flat_map(|layer| layer.runs.iter().flat_map(|(_, low, high)| [*low, *high]));
    let rules = panel.rules.iter().filter(|rule| !rule.is_upright).map(|rule| rule.at);
    points.chain(bands).chain(stacks).chain(rules)
}

/// Grid, labels, rules and titles.
fn frame(svg: &mut Svg, panel: &Panel, (x, y): (&Laid, &Laid), across: Span, inner: (Span, Span)) {
    let (Span { from: left, to: right }, Span { from: bottom, to: top }) = inner;
    let bold = [("font-size", "13"), ("font-weight", "bold")];
    svg.words((left, top - 9.0), &panel.title, &bold);
    for (labelled, stroke) in [(false, "#f0f0f0"), (true, "#d8d8d8")] {
        svg.open("g", &[("stroke", stroke)]);
        for tick in x.ticks.iter().filter(|tick| tick.label.is_empty() != labelled) {
            svg.line((x.place(tick.at), bottom), (x.place(tick.at), top));
        }
        for tick in y.ticks.iter().filter(|tick| tick.label.is_empty() != labelled) {
            svg.line((left, y.place(tick.at)), (right, y.place(tick.at)));
        }
        svg.close("g");
    }
    svg.open("g", &[("stroke", "#555555")]);
    svg.line((left, bottom), (right, bottom));
    svg.line((left, bottom), (left, top));
    svg.close("g");
    for tick in x.ticks.iter().filter(|tick| !tick.label.is_empty()) {
        svg.words((x.place(tick.at), bottom + 16.0), &tick.label, &[("text-anchor", "middle")]);
    }
    for tick in y.ticks.iter().filter(|tick| !tick.label.is_empty()) {
        svg.words((left - 6.0, y.place(tick.at) + 4.0), &tick.label, &[("text-anchor", "end")]);
    }
    let middle = (f64::midpoint(left, right), f64::midpoint(top, bottom));
    svg.words((middle.0, bottom + 33.0), &panel.x.label, &[("text-anchor", "middle")]);
    let at = (across.from + 13.0, middle.1);
    let turn = ["rotate(-90 ", &px(at.0), " ", &px(at.1), ")"].concat();
    svg.words(at, &panel.y.label, &[("text-anchor", "middle"), ("transform", &turn)]);
    for rule in &panel.rules {
        let dashed = [("stroke", "#777777"), ("stroke-dasharray", "4 3")];
        let small = [("font-size", "11"), ("fill", "#555555"), ("text-anchor", "end")];
        let (axis, laid) = if rule.is_upright { (&panel.x, x) } else { (&panel.y, y) };
        if !axis.shows(rule.at) {
            continue;
        }
        let at = laid.place(rule.at);
        svg.open("g", &dashed);
        if rule.is_upright {
            svg.line((at, bottom), (at, top));
        } else {
            svg.line((left, at), (right, at));
        }
        svg.close("g");
        let place = if rule.is_upright { (at - 4.0, top + 11.0) } else { (right - 2.0, at - 4.0) };
        svg.words(place, &rule.label, &small);
    }
}

/// A panel and its axes as laid out.
type Ground<'a> = (&'a Panel, &'a Laid, &'a Laid);

fn draw_line(svg: &mut Svg, series: &Series, style: usize, (panel, x, y): Ground<'_>) {
    if series.shape == Shape::Points {
        return;
    }
    let mut path = String::new();
    // The last point drawn, and one left out since.
    let mut last: Option<(f64, f64)> = None;
    let mut left_out: Option<(f64, f64)> = None;
    let draw = |path: &mut String, from: Option<(f64, f64)>, to: (f64, f64)| match from {
        None => path.push_str(&["M", &px(to.0), " ", &px(to.1)].concat()),
        Some(_) if series.shape == Shape::Step => {
            path.push_str(&["H", &px(to.0), "V", &px(to.1)].concat());
        }
        Some(_) => path.push_str(&["L", &px(to.0), " ", &px(to.1)].concat()),
    };
    for (a, b) in &series.points {
        if !panel.x.shows(*a) || !panel.y.shows(*b) {
            if let Some(point) = left_out.take() {
                draw(&mut path, last, point);
            }
            last = None;
            continue;
        }
        let at = (x.place(*a), y.place(*b));
        let is_near =
            |last: (f64, f64)| (last.0 - at.0).abs() < THIN && (last.1 - at.1).abs() < THIN;
        if last.is_some_and(is_near) {
            left_out = Some(at);
            continue;
        }
        left_out = None;
        draw(&mut path, last, at);
        last = Some(at);
    }
    if let Some(point) = left_out {
        draw(&mut path, last, point);
    }
    if !path.is_empty() {
        svg.element("path", &[&[("d", path.as_str())], &line_style(style)[..]].concat());
    }
}

fn draw_band(svg: &mut Svg, series: &Series, style: usize, (panel, x, y): Ground<'_>) {
    let shown = series
        .band
        .iter()
        .filter(|(a, low, high)| panel.x.shows(*a) && panel.y.shows(*low) && panel.y.shows(*high));
    let runs: Vec<_> =
        shown.map(|(a, low, high)| (x.place(*a), y.place(*low), y.place(*high))).collect();
    outline(svg, &runs, &[("fill", colour(style)), ("fill-opacity", "0.18")]);
}

/// Fills what lies between two lines: (x, one y, other y).
fn outline(svg: &mut Svg, runs: &[(f64, f64, f64)], looks: &[(&str, &str)]) {
    let there = runs.iter().map(|(x, low, _)| (x, low));
    let back = runs.iter().rev().map(|(x, _, high)| (x, high));
    let points = there.chain(back).map(|(x, y)| [px(*x), px(*y)].join(","));
    let points = points.collect::<Vec<_>>().join(" ");
    if runs.len() > 1 {
        svg.element("polygon", &[&[("points", points.as_str())], looks].concat());
    }
}

/// A stacked series: (x, where it begins, where it ends).
struct Layer<'a> {
    series: &'a Series,
    runs: Vec<(f64, f64, f64)>,
    /// Distance of neighbouring x.
    gap: f64,
}

/// The least distance of neighbours; sorts them, and drops what is not finite or there twice.
fn gap(xs: &mut Vec<f64>) -> f64 {
    xs.retain(|x| x.is_finite());
    xs.sort_by(f64::total_cmp);
    xs.dedup();
    let gap = xs.windows(2).map(|pair| pair[1] - pair[0]).fold(f64::INFINITY, f64::min);
    if gap.is_finite() { gap } else { 1.0 }
}

fn layers(panel: &Panel) -> Vec<Layer<'_>> {
    let stacked = || panel.series.iter().filter(|series| series.is_stacked());
    let points = stacked().flat_map(|series| &series.points);
    let mut xs: Vec<f64> = points.map(|(x, _)| x + 0.0).collect();
    let gap = gap(&mut xs);
    let mut heights = vec![0.0; xs.len()];
    let mut layer = |series: &'_ Series| {
        let runs = xs.iter().zip(&mut heights).map(|(x, height)| {
            let here = |own: f64| (own + 0.0).total_cmp(x).is_eq();
            let own = series.points.iter().filter(|(own, y)| here(*own) && y.is_finite());
            let low = *height;
            *height += own.map(|(_, y)| *y).sum::<f64>();
            (*x, low, *height)
        });
        runs.collect()
    };
    stacked().map(|series| Layer { series, runs: layer(series), gap }).collect()
}

fn draw_layer(svg: &mut Svg, layer: &Layer<'_>, fill: &str, (panel, x, y): Ground<'_>) {
    let looks = [("fill", fill), ("stroke", "#ffffff"), ("stroke-width", "0.7")];
    let shown = layer.runs.iter().filter(|(a, _, high)| panel.x.shows(*a) && panel.y.shows(*high));
    // On a logarithmic axis the lowest layer begins at the frame.
    let low_place =
        |low: f64| if panel.y.shows(low) { y.place(low) } else { y.place(f64::MIN_POSITIVE) };
    if layer.series.shape == Shape::Area {
        let runs: Vec<_> =
            shown.map(|(a, low, high)| (x.place(*a), low_place(*low), y.place(*high))).collect();
        outline(svg, &runs, &looks);
        return;
    }
    for (a, low, high) in shown.filter(|(_, low, high)| high > low) {
        let wide = (x.place(a + layer.gap * 0.4) - x.place(a - layer.gap * 0.4)).abs();
        let wide = if wide.is_finite() { wide.clamp(1.0, 60.0) } else { 12.0 };
        let (top, height) = (y.place(*high), low_place(*low) - y.place(*high));
        let numbers = [x.place(*a) - wide / 2.0, top, wide, height].map(px);
        let names = ["x", "y", "width", "height"];
        let place: Vec<_> = names.into_iter().zip(numbers.iter().map(String::as_str)).collect();
        svg.element("rect", &[&place[..], &looks].concat());
    }
}
