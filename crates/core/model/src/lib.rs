//! The nouns every other crate speaks: time, ids, codes, strips, stripe shapes.
//!
//! Plain values without behaviour beyond arithmetic: no clock, no I/O, no allocation.
//!
//! ```
//! use ripstop_model::{Code, StripeShape};
//! let code = Code::new(6, 4).expect("4 of 6 is a code");
//! let shape = StripeShape::new(code, 8 << 20).expect("within limits");
//! assert_eq!(shape.strip_len(), 2 << 20);
//! ```
#![no_std]

mod block_len;
mod code;
mod id;
mod layout;
mod operation;
mod price;
mod strip_set;
mod stripe;
mod timestamp;

pub use block_len::BlockLen;
pub use code::{Code, CodeError};
pub use id::{FragmentId, NodeId, ParseIdError, PoolId, RequestId, StripeId, TaskId, TenantId};
pub use layout::Layout;
pub use operation::Operation;
pub use price::Price;
pub use strip_set::StripSet;
pub use stripe::{STRIPE_PAYLOAD_MAX, StripeShape};
pub use timestamp::Timestamp;
