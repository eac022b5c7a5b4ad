use crate::{
    Dice, Luck,
    normal::{exponential_at, normal_below},
};
use ripstop_model::RequestId;

/// How much alike the delays of a request's tasks are.
///
/// A Gaussian copula: throw number i of a task is z = √ρ · common + √(1−ρ) · own, both standard
/// normal, where `common` is the same for throw i of every task of the request; z's rank then picks
/// the throw from its distribution. So each delay keeps its law, whatever ρ is.
///
/// What is set is the linear correlation of two such exponentials (and so of two tasks' delays
/// under a shifted exponential, whatever their sizes). Expanding −ln(1−Φ(z)) in Hermite polynomials
/// gives it as 0.8158ρ + 0.1774ρ² + 0.0067ρ³ + 0.0001ρ⁴ + …: 0.25 takes ρ = 0.288, 0.5 takes 0.547,
/// 0.75 takes 0.782. Delays of other laws are correlated less, the heavier their tails: those of
/// the preset `s3-2025-busy` 0.26 where 0.5 is set.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Correlation {
    /// √ρ
    common: f64,
    /// √(1−ρ)
    own: f64,
}

/// Factors of ρ, ρ², ρ³; the last has the rest of the series, less than 0.0002, in it.
const SERIES: [f64; 3] = [0.815_765, 0.177_391, 0.006_844];

impl Correlation {
    /// Every task by itself.
    pub const NONE: Self = Self { common: 0.0, own: 1.0 };

    /// So that the exponentials of two tasks have the linear correlation `exponentials`, 0 (or
    /// less) for none, 1 (or more) for equal luck.
    pub fn new(exponentials: f64) -> Self {
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..53 {
            let middle = 0.5 * (low + high);
            let reached = middle * (SERIES[0] + middle * (SERIES[1] + middle * SERIES[2]));
            *(if reached <= exponentials { &mut low } else { &mut high }) = middle;
        }
        let normals = if exponentials >= 1.0 { 1.0 } else { low };
        Self { common: libm::sqrt(normals), own: libm::sqrt(1.0 - normals) }
    }

    /// ρ, the correlation of the normals behind the throws.
    pub fn of_normals(self) -> f64 {
        self.common * self.common
    }

    /// The linear correlation of two tasks' exponentials.
    pub fn of_exponentials(self) -> f64 {
        let normals = self.of_normals();
        normals * (SERIES[0] + normals * (SERIES[1] + normals * SERIES[2]))
    }
}

/// The luck of one task among the tasks of its request.
///
/// What the tasks have in common is drawn again for each of them from a stream that the seed and
/// the request determine, so nothing is stored from one to the next. Without correlation it is the
/// luck of the task's own dice.
#[derive(Debug)]
pub struct Correlated<'a> {
    correlation: Correlation,
    common: Dice,
    own: &'a mut Dice,
}

impl<'a> Correlated<'a> {
    /// The luck of the next task of `request`, in the run of `seed`, with dice of its `own`.
    pub const fn new(
        correlation: Correlation,
        seed: u64,
        request: RequestId,
        own: &'a mut Dice,
    ) -> Self {
        Self { correlation, common: Dice::numbered(seed, request.0), own }
    }

    fn is_alone(&self) -> bool {
        self.correlation.common == 0.0
    }
}

impl Luck for Correlated<'_> {
    fn uniform(&mut self) -> f64 {
        if self.is_alone() { self.own.uniform() } else { normal_below(self.normal()) }
    }

    fn normal(&mut self) -> f64 {
        let own = self.own.normal();
        if self.is_alone() {
            return own;
        }
        self.correlation.common * self.common.normal() + self.correlation.own * own
    }

    fn exponential(&mut self) -> f64 {
        if self.is_alone() { self.own.exponential() } else { exponential_at(self.normal()) }
    }
}
