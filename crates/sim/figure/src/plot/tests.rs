use super::*;
use expect_test::expect_file;

fn curve(base: f64) -> Vec<(f64, f64)> {
    (1..14)
        .map(|step| f64::from(step) * 5.0)
        .map(|rate| (rate, base + 4000.0 / (80.0 - rate)))
        .collect()
}

/// Four panels of six series each, as the comparison of policies has them.
fn policies() -> Figure {
    let mut figure = Figure::new("Delay of reads against rate, six policies (1 < 2 & \"3\")");
    for (panel, factor) in
        [("mean", 1.0), ("median", 0.8), ("90th percentile", 2.0), ("99th percentile", 4.0)]
    {
        let axes = (Axis::linear("rate, requests/s").from(0.0), Axis::log("delay, ms"));
        let mut panel = Panel::new(panel, axes.0, axes.1).rule_x(77.0, "capacity");
        for (index, name) in [
            "TOFEC",
            "greedy",
            "best fixed",
            "basic (1,1)",
            "replication (2,1)",
            "fixed dimension k = 6",
        ]
        .into_iter()
        .enumerate()
        {
            let points = curve((60.0 + 25.0 * index as f64) * factor);
            let band = points.iter().map(|(x, y)| (*x, y * 0.9, y * 1.1)).collect();
            panel = panel.series(Series::line(name, points).markers().band(band));
        }
        figure = figure.panel(panel);
    }
    figure
}

fn shares() -> Panel {
    let mut panel =
        Panel::new("", Axis::linear("rate, requests/s"), Axis::linear("share").from(0.0).to(1.0));
    for k in 1..=6 {
        let points = (1..=7).map(|rate| (f64::from(rate) * 10.0, f64::from((rate * k) % 7 + 1)));
        let points = points.map(|(rate, share)| {
            let sum: i32 = (1..=6).map(|k| (rate as i32 / 10 * k) % 7 + 1).sum();
            (rate, share / f64::from(sum))
        });
        panel = panel.series(Series::bar(format!("k = {k}"), points.collect()));
    }
    panel
}

fn distribution() -> Panel {
    let axes = (Axis::log("delay, ms").to(2000.0), Axis::log("share above").from(1e-4).to(1.0));
    let tail = |scale: f64| {
        (0..200)
            .map(move |i| (scale * (1.0 + f64::from(i) / 20.0), libm::exp(-f64::from(i) / 20.0)))
    };
    Panel::new("", axes.0, axes.1)
        .series(Series::step("1 MB", tail(40.0).collect()))
        .series(Series::step("3 MB", tail(90.0).chain([(f64::NAN, 0.1), (2000.0, 0.0)]).collect()))
        .series(Series::points("fit", vec![(50.0, 0.5), (100.0, 0.05), (1e9, 1e-9)]))
        .rule_y(0.01, "1 %")
}

#[test]
fn figures_are_drawn_the_same_everywhere() {
    expect_file!["../../tests/golden/policies.svg"].assert_eq(&policies().svg());
    let figure = Figure::new("Share of each k").panel(shares());
    expect_file!["../../tests/golden/shares.svg"].assert_eq(&figure.svg());
    let figure = Figure::new("Delay of one task").panel(distribution());
    expect_file!["../../tests/golden/distribution.svg"].assert_eq(&figure.svg());
}

#[test]
fn a_figure_of_nothing_is_one() {
    let empty = Panel::new("", Axis::linear("x"), Axis::log("y"));
    for figure in [
        Figure::new(""),
        Figure::new("").panel(empty.clone()),
        Figure::new("").panel(empty.clone().series(Series::line("", Vec::new()))),
        Figure::new("")
            .panel(empty.series(Series::bar("a", vec![(f64::NAN, 1.0), (1.0, f64::NAN)]))),
    ] {
        let svg = figure.svg();
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }
}

#[test]
fn sizes_follow_the_number_of_panels() {
    let panel = || Panel::new("", Axis::linear("x"), Axis::linear("y"));
    let size = |figure: Figure| figure.svg().lines().next().unwrap().to_owned();
    assert!(size(Figure::new("").panel(panel())).contains("viewBox=\"0 0 720 440\""));
    assert!(size(policies()).contains("viewBox=\"0 0 1000 720\""));
    assert!(size(policies().columns(4)).contains("viewBox=\"0 0 2000 380\""));
    assert!(size(policies().size(300, 200)).contains("viewBox=\"0 0 300 200\""));
}

#[test]
fn a_name_looks_the_same_in_every_panel() {
    let panel = |names: &[&str]| {
        let panel = Panel::new("", Axis::linear("x"), Axis::linear("y"));
        names.iter().fold(panel, |panel, name| {
            panel.series(Series::line(*name, vec![(0.0, 0.0), (1.0, 1.0)]))
        })
    };
    let svg = Figure::new("").panel(panel(&["a", "b"])).panel(panel(&["b"])).svg();
    let strokes =
        |colour: &str| svg.matches(&format!("stroke=\"{colour}\" stroke-width=\"2\"")).count();
    // Its lines, and its sample in the legend.
    assert_eq!((strokes(style::colour(0)), strokes(style::colour(1))), (2, 3));
    let told = Figure::new("").panel(panel(&[]).series(Series::line("c", vec![]).style(1))).svg();
    assert!(told.contains(style::colour(1)) && !told.contains(style::colour(0)));
}

#[test]
fn texts_are_escaped() {
    let svg = policies().svg();
    assert!(svg.contains(
        "<title>Delay of reads against rate, six policies (1 &lt; 2 &amp; &quot;3&quot;)</title>"
    ));
}

#[test]
fn points_too_near_to_be_seen_are_left_out_but_for_the_last() {
    let many = (0..100_000).map(|index| (f64::from(index), 1.0)).collect();
    let panel =
        Panel::new("", Axis::linear("x"), Axis::linear("y")).series(Series::line("a", many));
    let svg = Figure::new("").panel(panel).svg();
    assert!(svg.len() < 50_000, "{}", svg.len());
}
