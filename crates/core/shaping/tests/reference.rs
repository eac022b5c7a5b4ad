//! The reference numbers of the search engine's trace. It cannot be shipped, so the test wants to
//! be told where it is.

use ripstop_model::Timestamp;
use ripstop_shaping::{Arrivals, Fraction, MinMaxLoad, Question, Rule, capacities, responses};
use std::{fs, time::Duration};

const BOUND: Duration = Duration::from_millis(10);
const FRACTIONS: [&str; 6] = ["0.9", "0.95", "0.99", "0.995", "0.999", "1"];
const REFERENCE: [(Rule, [u64; 6]); 3] = [
    (Rule::Exact, [486, 559, 720, 794, 966, 1520]),
    (Rule::Count, [478, 529, 700, 766, 900, 1500]),
    (Rule::Floor, [500, 600, 766, 800, 1000, 1564]),
];

#[test]
fn the_reference_of_the_search_engine_trace() {
    let Some(path) = std::env::var_os("RIPSTOP_WSRCH_TRACE") else {
        eprintln!(
            "skipped: RIPSTOP_WSRCH_TRACE does not name the trace of WebSearch1, first minute"
        );
        return;
    };
    let text = fs::read_to_string(path).expect("the trace is a text file");
    let nanos = text.lines().map(|line| line.split(' ').next().and_then(|time| time.parse().ok()));
    let nanos: Option<Vec<u64>> = nanos.collect();
    let times = nanos.expect("nanoseconds come first").into_iter().map(Timestamp::from_nanos);
    let times: Vec<_> = times.collect();
    assert_eq!(times.len(), 24_783);
    let arrivals = Arrivals::new(&times).unwrap();

    let fractions = FRACTIONS.map(|fraction| fraction.parse::<Fraction>().unwrap());
    for (rule, reference) in REFERENCE {
        let need = fractions.map(|fraction| fraction.of(arrivals.count()));
        let questions = need.map(|need| Question { rule, bound: BOUND, need });
        assert_eq!(capacities(arrivals, &questions), reference, "{rule}");
    }
    for seed in 0..5 {
        let load = MinMaxLoad::new(arrivals, fractions[0], Duration::from_millis(100), seed);
        assert_eq!((load.cap, load.capacity(BOUND)), (41, 1520), "whatever is dropped");
    }
    let mut responses: Vec<_> = responses(arrivals, 478).collect();
    responses.sort_unstable();
    let within = responses.partition_point(|response| *response <= BOUND);
    assert_eq!((within * 1000 + 5 * responses.len()) / (10 * responses.len()), 44, "{within}");
    let nine_tenths = responses[fractions[0].of(24_783) as usize - 1];
    assert_eq!(nine_tenths.as_micros().div_ceil(1000), 108, "{nine_tenths:?}");
}
