//! MD5 of several bodies at once.
//!
//! S3's entity tags are MD5 (RFC 1321), whose steps wait for one another: a processor computes one
//! digest no faster than about 0.6 GB/s, however many units it has. [`Hall`] gathers what several
//! bodies have waiting and computes eight digests side by side, one in each lane of the vector
//! registers, in half as long again as one takes. It deliberately knows nothing of connections and
//! requests, and computes no other digest.
//!
//! ```
//! use ripstop_digest::{Hall, Md5};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let md5 = Hall::shared().update(Md5::default(), vec!["message ".into(), "digest".into()]).await;
//! assert_eq!(md5.finish()[..4], [0xf9, 0x6b, 0x69, 0x7d]);
//! # }
//! ```

mod hall;
mod kernel;
mod lane;
mod stream;

pub use hall::{Hall, Seat};
pub use stream::Md5;
