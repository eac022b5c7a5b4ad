use super::{PaperFigure, evaluate, runs};
use crate::{
    Budget, Check, Expected,
    Verdict::{Fails, Holds, WithinError},
};
use core::num::NonZero;
use ripstop_figure::{Estimate, Table};
use std::{fs, path::PathBuf};

const TINY: Budget = Budget { seeds: 1, requests: 500 };

#[test]
fn every_figure_is_drawn_and_is_the_same_on_any_number_of_threads() {
    let counted = std::sync::atomic::AtomicU64::new(0);
    let done = || {
        counted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    };
    let one = evaluate(TINY, NonZero::new(1), done);
    assert_eq!(counted.into_inner(), runs(TINY));
    let many = evaluate(TINY, NonZero::new(3), || ());
    assert_eq!(one.report().unwrap().html(), many.report().unwrap().html());
    assert_eq!(one, many);
    for (figure, table) in &one.tables {
        assert!(!table.rows().is_empty(), "{figure:?}");
        let read = Table::from_csv(&table.to_csv()).unwrap();
        for ((_, drawing), (_, again)) in
            figure.draw(table).unwrap().iter().zip(figure.draw(&read).unwrap())
        {
            let svg = drawing.svg();
            assert_eq!(svg, again.svg(), "{figure:?}");
            assert!(svg.contains("<path") || svg.contains("<polygon"), "{figure:?}: nothing drawn");
        }
    }
}

#[test]
fn committed_drawings_show_the_committed_tables() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../docs/figures/tofec");
    for figure in PaperFigure::ALL {
        let table = Table::read(folder.join(figure.name() + ".csv")).unwrap();
        for (end, drawing) in figure.draw(&table).unwrap() {
            let file = figure.name() + end + ".svg";
            let committed = fs::read_to_string(folder.join(&file)).unwrap();
            assert!(drawing.svg() == committed, "{file}: cargo xtask figures --bless");
        }
    }
}

#[test]
fn a_table_of_another_figure_is_refused() {
    let table = Table::new(["delays", "x"]);
    for figure in PaperFigure::ALL {
        assert!(figure.draw(&table).is_err(), "{figure:?}");
    }
}

#[test]
fn a_check_fails_only_beyond_its_error() {
    let verdict = |mean: f64, half_width: f64, expected: Expected| {
        Check::of(8, "", Estimate { mean, half_width, count: 5 }, expected).verdict()
    };
    for (mean, half, expected, wanted) in [
        (2.3, 0.0, Expected::AtLeast(2.3), Holds),
        (2.25, 0.1, Expected::AtLeast(2.3), WithinError),
        (2.25, 0.01, Expected::AtLeast(2.3), Fails),
        (1.06, 0.0, Expected::AtMost(1.06), Holds),
        (1.07, 0.02, Expected::AtMost(1.06), WithinError),
        (1.08, 0.01, Expected::AtMost(1.06), Fails),
        (2.0, 9.0, Expected::Between(1.5, 2.7), Holds),
        (2.75, 0.06, Expected::Between(1.5, 2.7), WithinError),
        (1.4, 0.05, Expected::Between(1.5, 2.7), Fails),
        (101.0, 0.0, Expected::within(100.0, 0.02), Holds),
        (103.0, 1.5, Expected::within(100.0, 0.02), WithinError),
        (97.0, 0.5, Expected::within(100.0, 0.02), Fails),
        (f64::NAN, 0.0, Expected::AtMost(1.0), Fails),
        // One seed has no interval, which excuses nothing.
        (2.25, f64::INFINITY, Expected::AtLeast(2.3), Fails),
    ] {
        assert_eq!(verdict(mean, half, expected), wanted, "{mean} ± {half}, {expected}");
    }
}

#[test]
fn checks_are_shown_with_their_numbers() {
    let found = Estimate { mean: 2.359, half_width: 0.019, count: 5 };
    let checks = [
        Check::of(8, "gain", found, Expected::AtLeast(2.3))
            .with(super::paper::PRESETS[1])
            .at("2/s"),
        Check::new(10, "share", 0.5, Expected::Near { value: 0.8, tolerance: 0.1 }),
    ];
    expect_test::expect![[r"
        fig.  claim  delays     found          expected      at
        8     gain   s3-2013-b  2.359 ± 0.019  at least 2.3  2/s  holds
        10    share             0.5            0.8 ± 0.1          DOES NOT HOLD
    "]]
    .assert_eq(&Check::text(&checks));
}
