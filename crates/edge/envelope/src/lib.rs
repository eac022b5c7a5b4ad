//! Keys of encrypted objects.
//!
//! Each object that is encrypted has a [`DataKey`] of its own. It encrypts the object's streams
//! (the whole, or each part by itself) block by block, with a [`StreamCipher`], and is kept beside
//! them *wrapped*: encrypted with a key that is kept elsewhere, and bound to the object's name.
//! That key is the client's, or one of a [`KeyRing`], which [`ObjectKeys`] holds while a gateway
//! serves, or one that a [`KeyService`] has sealed with a key of its own.
//!
//! It deliberately does not know headers or requests, read files, or speak over a network: who does
//! is behind [`KeyService`].
//!
//! ```
//! use ripstop_envelope::{Binding, DataKey, KeyRing, ObjectKeys};
//!
//! let keys = ObjectKeys::new(KeyRing::generate());
//! let binding = Binding { bucket: "photos", key: "sea", context: "" };
//! let data_key = DataKey::generate();
//! let wrapped = keys.wrap(&data_key, None, &binding)?;
//! let stream = data_key.stream(&[7; 8]);
//! let mut block = b"waves".to_vec();
//! stream.encrypt(0, &mut block);
//!
//! let unwrapped = keys.unwrap(&wrapped, &binding)?;
//! let len = unwrapped.stream(&[7; 8]).decrypt(0, &mut block)?;
//! assert_eq!(&block[..len], b"waves");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod data_key;
mod object_keys;
mod ring;
mod served;
mod service;
mod wrap;

pub use data_key::{Altered, DataKey, StreamCipher};
pub use object_keys::{ObjectKeys, WrappedKey};
pub use ring::{DEFAULT_NAME, KeyRing, RingError, name_of};
pub use service::{KeyFault, KeyService, KeyUse, WrappingKey};
pub use wrap::{Binding, CustomerKey};
