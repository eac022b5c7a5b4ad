//! Fig. 6: how long a chunk is served.

use super::play::{Budget, FigureError, check};
use crate::Law;
use libm::exp;
use ripstop_delay::Dice;
use ripstop_experiment::{Expected, Part};
use ripstop_figure::{Axis, Figure, Panel, Series, Table};
use ripstop_placement::testbed;

const DRAWS: usize = 20_000;
const POINTS: usize = 100;

pub(super) fn part(_: Budget) -> Result<Part, FigureError> {
    let service = testbed::service();
    let (law, mut dice) = (Law::new(&service), Dice::new(6));
    let mut drawn: Vec<f64> = (0..DRAWS).map(|_| law.draw(&mut dice)).collect();
    drawn.sort_by(f64::total_cmp);
    let exponential = |mean: f64, seconds: f64| 1.0 - exp(-seconds / mean);
    let mut table = Table::new(["distribution", "service_s", "share"]);
    let mut farthest = [0.0f64; 2];
    for point in 0..=POINTS {
        let seconds = 40.0 * point as f64 / POINTS as f64;
        let within = drawn.partition_point(|draw| *draw <= seconds) as f64 / DRAWS as f64;
        let others = [exponential(service.mean(), seconds), exponential(service.sd(), seconds)];
        for (farthest, other) in farthest.iter_mut().zip(others) {
            *farthest = farthest.max((within - other).abs());
        }
        let rows = ["measured moments", "exponential, same mean", "exponential, same variance"];
        for (name, share) in rows.into_iter().zip([within, others[0], others[1]]) {
            table.push([name.into(), seconds.into(), share.into()]);
        }
    }
    let x = Axis::linear("service of a chunk, s").from(0.0);
    let mut panel = Panel::new("", x, Axis::linear("share").from(0.0).to(1.0));
    for (name, points) in table.series("distribution", "service_s", "share")? {
        panel = panel.series(Series::line(name, points));
    }
    let claim = "greatest distance of the service's distribution from an exponential's, same ";
    let far = |what: &str, found| {
        check(6, &format!("{claim}{what}"), found, Expected::AtLeast(0.25), String::new())
    };
    Ok(Part {
        file: "figure-06",
        caption: "Service times with the paper's moments, and exponentials.",
        figure: Figure::new("Service is not exponential").panel(panel),
        table,
        checks: vec![far("mean", farthest[0]), far("variance", farthest[1])],
    })
}
