//! Arrival, response and service curves (Fig. 3 of the paper), around the busiest moment.

use ripstop_figure::{Cell, Points, Table};
use ripstop_model::Timestamp;
use ripstop_shaping::{Admission, Arrivals, Cascade, Rule, TierShare, responses};
use std::time::Duration;

/// Requests on the curves at most.
const REQUESTS_MAX: usize = 300;

/// The curves of a stretch of requests that a server takes, of the others, or of all.
pub(crate) struct Curves {
    /// Arrivals so far, over milliseconds.
    pub(crate) arrived: Points,
    /// How many must have ended.
    pub(crate) due: Points,
    /// How many have.
    pub(crate) served: Points,
}

/// The curves of all requests, first come, first served; and of those that decomposition keeps.
pub(crate) fn curves(
    arrivals: Arrivals<'_>,
    rule: Rule,
    bound: Duration,
    capacity: u64,
) -> [Curves; 2] {
    let stretch = stretch(arrivals, bound, capacity);
    let (first, last) = (stretch.start, stretch.end);
    let times = &arrivals.times()[first..last];
    let origin = times.first().copied().unwrap_or_default();
    let all: Vec<_> =
        times.iter().copied().zip(responses(arrivals, capacity).skip(first)).collect();
    let share = TierShare { capacity, bound };
    let mut kept = Vec::new();
    if let Ok(mut cascade) = Cascade::new(rule, &[share]) {
        for (at, now) in arrivals.times()[..last].iter().enumerate() {
            if let Admission::Admitted(admitted) = cascade.admit(*now, 1)
                && at >= first
            {
                kept.push((*now, admitted.end.since(*now)));
            }
        }
    }
    [all, kept].map(|requests| Curves::new(&requests, origin, bound))
}

impl Curves {
    fn new(requests: &[(Timestamp, Duration)], origin: Timestamp, bound: Duration) -> Self {
        let curve = |end: &dyn Fn(&(Timestamp, Duration)) -> Timestamp| {
            let counted = requests.iter().enumerate();
            let point = counted.map(|(at, request)| {
                (end(request).since(origin).as_secs_f64() * 1000.0, at as f64 + 1.0)
            });
            std::iter::once((0.0, 0.0)).chain(point).collect()
        };
        Self {
            arrived: curve(&|(now, _)| *now),
            due: curve(&|(now, _)| *now + bound),
            served: curve(&|(now, response)| *now + *response),
        }
    }
}

/// The requests around the one that ends last after its arrival: from the beginning of that busy
/// time, or as many as fit the figure.
fn stretch(arrivals: Arrivals<'_>, bound: Duration, capacity: u64) -> std::ops::Range<usize> {
    let times = arrivals.times();
    let late = responses(arrivals, capacity).enumerate();
    let worst = late.max_by_key(|(_, response)| *response).map_or(0, |(at, _)| at);
    let last = times.partition_point(|time| *time <= times[worst] + bound * 2);
    let last = last.min(worst + REQUESTS_MAX / 3);
    let before = Duration::from_nanos(
        times[worst].as_nanos().saturating_sub((bound * 20).as_nanos() as u64),
    );
    let first = times.partition_point(|time| time.as_nanos() < before.as_nanos() as u64);
    first.max(last.saturating_sub(REQUESTS_MAX))..last
}

/// The curves as a table.
pub(crate) fn curve_table(curves: &[Curves; 2]) -> Table {
    let mut table = Table::new(["requests", "curve", "time_ms", "count"]);
    for (of, curves) in ["all", "primary"].into_iter().zip(curves) {
        let named =
            [("arrived", &curves.arrived), ("due", &curves.due), ("served", &curves.served)];
        for (name, points) in named {
            for (time_ms, count) in points {
                let row: [Cell; 4] = [of.into(), name.into(), (*time_ms).into(), (*count).into()];
                table.push(row);
            }
        }
    }
    table
}
