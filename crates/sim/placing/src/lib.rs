//! Plans rehearsed: the figures of the paper on JLCM, latencies simulated under a plan, and what
//! latency costs.
//!
//! * [`Run`]: requests that come as a Poisson stream to the nodes of a
//!   [`Plan`](ripstop_placement::Plan), each node first come, first served on its lanes, with
//!   [`Law`] for service times.
//! * [`tradeoff`], [`tradeoff_figure`]: latency against cost as θ runs.
//! * [`jlcm`]: the evaluation of Xiang, Lan, Aggarwal, Chen: Joint Latency and Cost Optimization
//!   for Erasure-Coded Data Center Storage (2016), Figs. 6 to 13, and what must hold of them.
//!
//! It deliberately plans nothing itself, and its nodes know neither failures nor sizes: what a
//! chunk takes is drawn from the node's service alone, as in the analysis.
//!
//! ```
//! use ripstop_placement::{solve, testbed};
//! use ripstop_placing::{Dispatch, Run};
//!
//! let problem = testbed::problem(1000, 2.0);
//! let plan = solve(&problem, None).expect("twelve nodes suffice");
//! let run = Run { problem: &problem, plan: &plan, dispatch: Dispatch::Probabilistic };
//! let latencies = run.play(2000, 1);
//! let all: Vec<f64> = latencies.concat();
//! let mean = all.iter().sum::<f64>() / all.len() as f64;
//! assert!(mean < plan.latency);
//! ```

pub mod jlcm;
mod law;
mod run;
mod trade;

pub use law::Law;
pub use run::{Dispatch, Run};
pub use trade::{Chosen, tradeoff, tradeoff_figure};
