use crate::{
    Outliers, Sample,
    line::{Point, sturdy_line},
    size::Size,
    sizes::{Classes, TimesBySize},
};
use alloc::{collections::BTreeMap, vec::Vec};
use ripstop_model::NodeId;

/// Standard deviation of the mean of n delays' quicker six tenths, in the law's mean excesses over
/// √n: that of an exponential cut at this quantile and counted there, by what is kept of it.
const MEAN_UNSURE: f64 = 0.55;
/// Rounds in which nodes and sizes are settled by turns.
const ROUNDS: usize = 100;

/// How long a node takes beside the others, whatever sizes each of them served.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct NodePace {
    /// This many times as long as the nodes on average (the mean of the logarithms, each node by
    /// its finished tasks).
    pub factor: f64,
    /// Standard deviation of that factor's logarithm, as chance alone has it.
    pub deviation: f64,
    /// Tasks that finished, of the sizes that took part.
    pub finished: u64,
    /// Whether sizes tie it to the others: each two of those that are tied served a size in
    /// common, or others between them did. Without that, how delays grow with the size is the line
    /// through all sizes, and a node that is slow and one whose chunks are slow look the same.
    pub tied: bool,
}

/// A node's tasks of one size.
#[derive(Clone, Copy, Debug)]
struct Cell {
    node: usize,
    size: usize,
    mean_ms: f64,
    weight: f64,
    /// Variance of the mean's logarithm.
    variance: f64,
}

/// The paces of nodes by their samples, all of one operation: the mean delay of a node and a size
/// is taken for a product of the node's factor and the size's delay, and the least squares of the
/// logarithms give both. The mean is that of the quicker six tenths: what a factor multiplies, it
/// multiplies too, and slow outliers hardly move it.
pub fn paces(samples: &BTreeMap<NodeId, Vec<Sample>>) -> BTreeMap<NodeId, NodePace> {
    let (cells, nodes, bytes) = cells(samples);
    let group = groups(&cells, nodes.len(), bytes.len());
    let tied = group.iter().all(|&one| one == group[0]);
    let mut factors: Vec<f64> = nodes.iter().map(|_| 0.0).collect();
    let mut sizes: Vec<f64> = bytes.iter().map(|_| 0.0).collect();
    for _ in 0..ROUNDS {
        if tied {
            sizes = mean(&cells, sizes.len(), |cell| {
                (cell.size, libm::log(cell.mean_ms) - factors[cell.node])
            });
        } else {
            sizes = on_the_line(&cells, &bytes, &factors);
        }
        factors = mean(&cells, factors.len(), |cell| {
            (cell.node, libm::log(cell.mean_ms) - sizes[cell.size])
        });
    }
    let finished = |node| cells.iter().filter(move |cell| cell.node == node).map(|c| c.weight);
    let weight: f64 = cells.iter().map(|cell| cell.weight).sum();
    let middle = cells.iter().map(|c| c.weight * factors[c.node]).sum::<f64>() / weight;
    let pace = |(at, node): (usize, NodeId)| {
        let own = cells.iter().filter(|cell| cell.node == at);
        let certainty: f64 = own.map(|cell| 1.0 / cell.variance).sum();
        let pace = NodePace {
            factor: libm::exp(factors[at] - middle),
            deviation: libm::sqrt(1.0 / certainty),
            finished: finished(at).sum::<f64>() as u64,
            tied: group.iter().filter(|&&one| one == group[at]).count() > 1 || nodes.len() == 1,
        };
        (node, pace)
    };
    nodes.iter().copied().enumerate().map(pace).collect()
}

/// What takes part: cells, the nodes and the sizes that they count by.
fn cells(samples: &BTreeMap<NodeId, Vec<Sample>>) -> (Vec<Cell>, Vec<NodeId>, Vec<u64>) {
    let (mut cells, mut nodes, mut bytes) = (Vec::new(), Vec::new(), Vec::<u64>::new());
    let classes = Classes::of(samples.values().flatten().map(|sample| sample.bytes));
    for (&node, own) in samples {
        let mut times = TimesBySize::default();
        let same = |sample: &Sample| Sample { bytes: classes.size(sample.bytes), ..*sample };
        times.fill(own.iter().map(same));
        let before = cells.len();
        for size in Size::all(&times, Some(Outliers::NONE)) {
            let (mean_ms, weight) = (size.bulk.mean_ms, size.finished as f64);
            if mean_ms <= 0.0 {
                continue;
            }
            let at = bytes.iter().position(|&one| one == size.bytes).unwrap_or_else(|| {
                bytes.push(size.bytes);
                bytes.len() - 1
            });
            let spread = (MEAN_UNSURE * size.excess_ms / mean_ms).max(1e-3);
            let variance = spread * spread / weight;
            cells.push(Cell { node: nodes.len(), size: at, mean_ms, weight, variance });
        }
        if cells.len() > before {
            nodes.push(node);
        }
    }
    (cells, nodes, bytes)
}

/// For each node the first of those that sizes tie it to.
fn groups(cells: &[Cell], nodes: usize, sizes: usize) -> Vec<usize> {
    let mut node_group: Vec<usize> = (0..nodes).collect();
    let mut size_group = alloc::vec![usize::MAX; sizes];
    let mut moved = true;
    while moved {
        moved = false;
        for cell in cells {
            let (node, size) = (&mut node_group[cell.node], &mut size_group[cell.size]);
            let first = (*node).min(*size);
            moved |= (*node, *size) != (first, first);
            (*node, *size) = (first, first);
        }
    }
    node_group
}

/// Weighted means of values by where they belong.
fn mean(cells: &[Cell], count: usize, of: impl Fn(&Cell) -> (usize, f64)) -> Vec<f64> {
    let mut sums: Vec<(f64, f64)> = (0..count).map(|_| (0.0, 0.0)).collect();
    for cell in cells {
        let (at, value) = of(cell);
        sums[at].0 += cell.weight * value;
        sums[at].1 += cell.weight;
    }
    sums.into_iter().map(|(sum, weight)| sum / weight.max(f64::MIN_POSITIVE)).collect()
}

/// Logarithms of the sizes' delays on the line through all cells, each without its node's factor.
fn on_the_line(cells: &[Cell], bytes: &[u64], factors: &[f64]) -> Vec<f64> {
    let point = |cell: &Cell| Point {
        x: bytes[cell.size] as f64 * 1e-6,
        y: cell.mean_ms / libm::exp(factors[cell.node]),
        weight: cell.weight,
    };
    let points: Vec<Point> = cells.iter().map(point).collect();
    let (intercept, slope) = sturdy_line(&points);
    let on = |&bytes: &u64| libm::log((intercept + slope * bytes as f64 * 1e-6).max(1e-9));
    bytes.iter().map(on).collect()
}
