//! What a node's load adds to the mean latency: the terms of (13).
//!
//! Mapping of letters: X = E Q − z, Y = Var Q, u = Λ/(1 − ρ), b = E X²/2, a = E X³/3, with X/c in
//! their place at a node of c lanes ([`Service::with_lanes`]). A term is F(Λ) = Λ/(2λ̂) · (X +
//! √(X² + Y)).
//!
//! **F is convex in Λ for every z**, though Lemma 6's proof of it fails: it claims that G = X +
//! √(X² + Y) is convex, which it is not where Y is nearly linear and X nearly constant. With S =
//! X² + Y and t = √S, F″ ≥ 0 is 8X′(X + t) + 4Y′ + 4ΛX′² + 4ΛX″(X + t) + 2ΛY″ ≥ Λ(2XX′ + Y′)²/S. By
//! Cauchy and Schwarz the right side is at most Λ(4X′² + Y′²/Y), and X′, X″, X + t ≥ 0, so that it
//! is enough that 4Y′ + 2ΛY″ ≥ ΛY′²/Y, which says that Λ√Y is convex. With w(u) = √(σ² + au +
//! b²u²), (1 − ρ)³ (Λw)″ = 2ẇ + uẅ ≥ (3a²u + …)/(4w³) ≥ 0, the dots being derivatives by u, because
//! w² ≥ au.
//!
//! Jointly in Λ and z the sum is *not* convex, so that the certificate searches over z.

use crate::{Service, bound::minimiser};
use libm::sqrt;

/// Above this utilisation a term goes on as a parabola, so that a descent can start anywhere.
pub(crate) const UTILISATION_MAX: f64 = 0.9995;

/// A function's value and first two derivatives.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Term {
    pub(crate) value: f64,
    pub(crate) slope: f64,
    pub(crate) curvature: f64,
}

/// One node's term, as a function of its load and z.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Curve {
    mean: f64,
    variance: f64,
    /// E X³/3.
    a: f64,
    /// E X²/2.
    b: f64,
    /// 1/(2λ̂), or 0 without requests.
    weight: f64,
    /// Utilisation by a chunk per second.
    busy: f64,
}

impl Curve {
    /// Of a node, when `rate` requests per second come in all.
    pub(crate) fn new(service: &Service, rate: f64) -> Self {
        let lanes = service.lanes();
        Self {
            mean: service.mean(),
            variance: service.variance(),
            a: service.third() / (3.0 * lanes * lanes * lanes),
            b: service.second() / (2.0 * lanes * lanes),
            weight: if rate > 0.0 { 0.5 / rate } else { 0.0 },
            busy: service.mean() / lanes,
        }
    }

    /// The load at which the parabola begins, chunks per second.
    pub(crate) fn load_max(&self) -> f64 {
        UTILISATION_MAX / self.busy
    }

    /// F and its derivatives by the load.
    #[inline]
    pub(crate) fn at(&self, load: f64, z: f64) -> Term {
        let last = self.load_max();
        if load <= last {
            return self.exact(load, z);
        }
        let (edge, beyond) = (self.exact(last, z), load - last);
        Term {
            value: edge.value + beyond * (edge.slope + 0.5 * beyond * edge.curvature),
            slope: edge.slope + beyond * edge.curvature,
            curvature: edge.curvature,
        }
    }

    #[inline]
    #[expect(clippy::many_single_char_names, reason = "the letters of the formula")]
    fn exact(&self, load: f64, z: f64) -> Term {
        let free = 1.0 / (1.0 - load * self.busy);
        let (u, u1) = (load * free, free * free);
        let u2 = 2.0 * self.busy * free * u1;
        let (x1, x2) = (self.b * u1, self.b * u2);
        if z == f64::NEG_INFINITY {
            let mean = self.mean + self.b * u;
            let w = 2.0 * self.weight;
            return Term {
                value: w * load * mean,
                slope: w * (mean + load * x1),
                curvature: w * (2.0 * x1 + load * x2),
            };
        }
        let x = self.mean + self.b * u - z;
        let rise = self.a + 2.0 * self.b * self.b * u;
        let y = self.variance + self.a * u + self.b * self.b * u * u;
        let (y1, y2) = (rise * u1, 2.0 * self.b * self.b * u1 * u1 + rise * u2);
        let root = sqrt(x * x + y).max(1e-300);
        let inverse = 1.0 / root;
        let g = if x >= 0.0 { x + root } else { y / (root - x) };
        let g1 = (x1 * g + 0.5 * y1) * inverse;
        let bend = 4.0 * x1 * x1 * y - 4.0 * x * x1 * y1 - y1 * y1;
        let g2 = (x2 * g + 0.5 * y2 + 0.25 * bend * inverse * inverse) * inverse;
        Term {
            value: self.weight * load * g,
            slope: self.weight * (g + load * g1),
            curvature: self.weight * (2.0 * g1 + load * g2),
        }
    }

    /// F's first and second derivative by z.
    #[inline]
    fn by_z(&self, load: f64, z: f64) -> (f64, f64) {
        let sojourn = self.sojourn(load);
        let x = sojourn.0 - z;
        let root = sqrt(x * x + sojourn.1).max(1e-300);
        let g = if x >= 0.0 { x + root } else { sojourn.1 / (root - x) };
        let w = self.weight * load;
        (-w * g / root, w * sojourn.1 / (root * root * root))
    }

    /// (E Q, Var Q) at a load, which is held below the node's limit.
    fn sojourn(&self, load: f64) -> (f64, f64) {
        let load = load.min(self.load_max());
        let u = load / (1.0 - load * self.busy);
        (self.mean + self.b * u, self.variance + self.a * u + self.b * self.b * u * u)
    }
}

/// Whether the chunks per request are so few that the best z is −∞ and the bound is exact.
pub(crate) fn single(curves: &[Curve], loads: &[f64]) -> bool {
    let chunks: f64 = curves.iter().zip(loads).map(|(curve, load)| 2.0 * curve.weight * load).sum();
    chunks <= 1.0 + 1e-9
}

/// The z that makes z + Σ F least at these loads.
pub(crate) fn best_z(curves: &[Curve], loads: &[f64]) -> f64 {
    if single(curves, loads) {
        return f64::NEG_INFINITY;
    }
    let used = || curves.iter().zip(loads.iter().copied()).filter(|&(_, load)| load > 0.0);
    let chunks: f64 = used().map(|(curve, load)| 2.0 * curve.weight * load).sum();
    let reach = sqrt(0.25 * chunks / (chunks - 1.0)) + sqrt(0.25 * chunks) + 1.0;
    let mut range = (f64::INFINITY, f64::NEG_INFINITY);
    for (curve, load) in used() {
        let (mean, variance) = curve.sojourn(load);
        range.0 = range.0.min(mean - reach * sqrt(variance));
        range.1 = range.1.max(mean + reach * sqrt(variance));
    }
    let slope = |z| {
        used().fold((1.0, 0.0), |(slope, curvature), (curve, load)| {
            let (s, c) = curve.by_z(load, z);
            (slope + s, curvature + c)
        })
    };
    minimiser(slope, range)
}
