//! Where chunks go, how many, and who serves them: joint latency and cost (JLCM), with a
//! certificate.
//!
//! Requests for a file go to k of the n nodes that store a chunk of it, each node being chosen with
//! a planned probability. Then every node is an M/G/1 queue, and the mean latency of all requests
//! has a bound that depends on the nodes' loads alone (Xiang, Lan, Aggarwal, Chen: Joint Latency
//! and Cost Optimization for Erasure-Coded Data Center Storage, 2016; equation numbers here are
//! its).
//!
//! * [`Service`], [`Sojourn`], [`LatencyBound`]: moments of a node's service, of its M/G/1 queue
//!   (6), (7), (10), (11), and the bounds on a request's mean latency (5), (8) and on its tail.
//! * [`Problem`] and [`solve`]: from nodes and classes of equal files to a [`Plan`]. Redundancy is
//!   a constraint, not paid for in latency: files survive the loss of nodes and of whole sites, no
//!   vendor holds enough to read them. The [`Certificate`] says how far the plan is from the best
//!   possible one. With a previous plan, chunks move only where it pays; the answer lists the
//!   moves.
//! * [`exactly`], [`renew`]: plans for stripes of a code, and which of them a pool goes over to.
//! * [`planning`]: a pool that plans itself: when, from which measurements, beginning where.
//! * [`Spread`]: which group of its class a file belongs to, by its number.
//! * [`moving`]: which stripe goes to which group, and when a mover walks through them.
//! * [`selection`]: which k of n serve a request, without allocation.
//! * [`Published`], [`baseline`], [`testbed`]: the paper's algorithm, its rivals and its setup.
//!
//! How [`solve`] works: the latency is convex in the loads for every z (though not because of the
//! paper's Lemma 6, see `curve`), so that the relaxation in which parts of files are placed can be
//! solved: by Frank–Wolfe steps over placements of classes, whose linear step is an exact small
//! flow problem under the sites' caps, and joint Newton steps over all placements found. Lagrange's
//! bound at its prices, with a search over z, is the certificate. Whole files are then chosen one
//! after the other, and single ones moved about where that still helps.
//!
//! It deliberately knows no clock, no bytes and no queue lengths but those it is given; it measures
//! nodes by lines of a task log that it is handed; and it takes the chunks of all classes to be
//! served alike, as the paper does:
//! [`Service::resized`] gives the moments of another chunk size.
//!
//! ```
//! use ripstop_placement::{Class, StorageNode, StorageNodeState, Problem, Service, solve};
//!
//! let node = |site, seconds, price_per_chunk| StorageNode {
//!     service: Service::from_mean_sd(seconds, 0.03, None).expect("positive"),
//!     price_per_chunk,
//!     price_per_byte: 0.0,
//!     site,
//!     vendor: site,
//!     capacity_bytes: u64::MAX,
//!     state: StorageNodeState::Up,
//! };
//! let problem = Problem {
//!     nodes: (0..9).map(|at| node(at / 3, 0.1, f64::from(at % 3))).collect(),
//!     classes: vec![Class {
//!         rate: 10.0,
//!         files: 1000,
//!         k: 4,
//!         chunk_bytes: 2 << 20,
//!         survive_nodes: 2,
//!         survive_sites: 1,
//!         spread: true,
//!     }],
//!     seconds_per_money: 1e-5,
//!     seconds_per_moved_byte: 0.0,
//! };
//! let plan = solve(&problem, None).expect("nine nodes at three sites are enough");
//! assert!(plan.certificate.gap() < 0.01);
//! assert!(plan.classes[0].iter().all(|group| group.nodes.len() == 6));
//! assert_eq!(solve(&problem, Some(&plan)).expect("as before").moves, []);
//! ```
#![no_std]
extern crate alloc;

pub mod baseline;
mod block;
mod bound;
mod certificate;
mod choice;
mod corrective;
mod curve;
mod domain;
mod draft;
mod exact;
mod field;
mod improvement;
mod movement;
pub mod moving;
mod plan;
pub mod planning;
mod problem;
mod published;
mod relaxation;
mod renewal;
mod rounding;
pub mod selection;
mod service;
mod sojourn;
mod solve;
mod spread;
mod start;
pub mod testbed;
#[cfg(test)]
mod tests;

pub use bound::LatencyBound;
pub use certificate::Certificate;
pub use exact::{exactly, is_exact};
pub use plan::{Group, Move, Plan};
pub use problem::{Class, PlanError, Problem, StorageNode, StorageNodeState};
pub use published::{Published, project};
pub use renewal::{Renewal, renew};
pub use service::{Service, ServiceError};
pub use sojourn::Sojourn;
pub use solve::solve;
pub use spread::Spread;
