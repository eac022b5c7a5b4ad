//! Who asks, and what they may do: access keys, principals, rights.
//!
//! [`Credentials`] hold access keys with their secrets, tenants and [`Rights`]; a [`Keyring`] is
//! the credentials in force, which can be exchanged while requests run. A front door verifies who
//! asks, gets the [`Principal`] from the credentials, and asks [`allows`] once for each thing that
//! is to be done. What policies say is asked where a request's circumstances are known.
//!
//! It deliberately knows no protocol: no signatures, no HTTP, no names of operations, nor which
//! buckets there are. So the answer for a bucket that is not there is the same as for one that is.
//!
//! ```
//! use ripstop_identity::{Privilege, Credentials, Resource, Right, Rights, BucketRights, allows};
//!
//! let mut credentials = Credentials::new();
//! credentials.insert("SHOP", "a secret of the shop".to_owned());
//! let rule = BucketRights::new("shop-*".parse()?, [Right::Read, Right::Write]);
//! credentials.grant("SHOP", Rights::of(vec![rule])?);
//! let shop = credentials.principal("SHOP").expect("it was just inserted");
//! let photo = Resource::Object { bucket: "shop-photos", key: "1.jpg" };
//! assert!(allows(&shop, Privilege::Write, &photo));
//! assert!(!allows(&shop, Privilege::Own, &Resource::Bucket("shop-photos")));
//! assert!(!allows(&shop, Privilege::Read, &Resource::Bucket("books")));
//! # Ok::<(), ripstop_identity::RightsError>(())
//! ```

mod action;
mod credentials;
mod error;
mod keyring;
mod pattern;
mod principal;
mod rights;
mod session;

pub use action::{Privilege, Resource, allows, rights_allow};
pub use credentials::Credentials;
pub use error::{RULES_MAX, RightsError};
pub use keyring::Keyring;
pub use pattern::BucketPattern;
pub use principal::Principal;
pub use rights::{BucketRights, Right, Rights, UserPolicy};
pub use session::TemporarySession;
