//! The settings of the paper's figures.

use ripstop_placement::{Class, Problem, testbed};

/// Of the paper's plan for 150 MB: n of each class (Fig. 10).
pub(super) const CODES: [u32; 4] = [12, 10, 10, 8];
/// The file size whose chunks take as long as was measured.
///
/// The paper measured 12.5 MB chunks, yet runs chunks of 29 to 50 MB at rates at which twelve such
/// nodes would be overloaded. With 13.9 s for the chunks of 200 MB its loads are possible, and the
/// bound for 0.125 requests per second is 126 s, where its Fig. 13 has 110 to 128 s.
pub(super) const MEASURED_MB: f64 = 200.0;
/// How much slower the nodes of each site are than what was measured, where nodes differ.
const SLOWNESS: [f64; 3] = [0.9, 1.0, 1.15];

/// Files of this many MB at this many requests per second in the four classes, stored with the
/// paper's codes at least.
pub(super) fn coded(mb: f64, rate: f64, theta: f64) -> Problem {
    let mut problem = testbed::problem(FILES, theta);
    resize(&mut problem, mb);
    let scale = rate / problem.rate();
    for (class, n) in problem.classes.iter_mut().zip(CODES) {
        class.rate *= scale;
        class.survive_nodes = n - class.k;
        class.chunk_bytes = (mb * 1e6) as u64 / u64::from(class.k);
    }
    problem
}

/// All files.
pub(super) const FILES: u64 = 1000;

/// The three classes of Fig. 13, 200 MB each and 0.125 requests per second together.
pub(super) fn three(theta: f64) -> Problem {
    let mut problem = testbed::problem(FILES, theta);
    let class = |k: u32| Class {
        rate: 0.125 / 3.0,
        files: FILES / 3,
        k,
        chunk_bytes: 200_000_000 / u64::from(k),
        survive_nodes: 0,
        survive_sites: 0,
        spread: false,
    };
    problem.classes = [6, 7, 4].map(class).to_vec();
    problem.seconds_per_money = theta / problem.classes.iter().map(|c| c.files as f64).sum::<f64>();
    problem
}

/// The service of chunks of files of this many MB.
fn resize(problem: &mut Problem, mb: f64) {
    for node in &mut problem.nodes {
        node.service = node.service.resized(0.0, mb / MEASURED_MB).expect("a positive size");
    }
}

/// The testbed with sites that differ in speed; with prices that differ too, the faster the dearer,
/// if so wished.
pub(super) fn uneven(mut problem: Problem, prices: bool) -> Problem {
    for node in &mut problem.nodes {
        let slow = SLOWNESS[usize::from(node.site)];
        node.service = node.service.resized(0.0, slow).expect("positive");
        if prices {
            node.price_per_byte /= slow * slow;
        }
    }
    problem
}

/// Dollars for each file.
pub(super) fn per_file(problem: &Problem, money: f64) -> f64 {
    money / problem.classes.iter().map(|class| class.files as f64).sum::<f64>()
}
