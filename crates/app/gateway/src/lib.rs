//! What serves, as a library: everything that makes a gateway of a configuration.
//!
//! [`config`] says what an operator configures; [`assemble`] puts a store together of it;
//! [`Gateway`] takes the data folder and the ports, serves, reloads, and stops; [`serve`] is both
//! in one. [`AdminPort`] asks one that runs. Who plans pools that plan themselves is handed in
//! ([`StartPlanning`]): this crate knows neither the planner nor the simulator.
//!
//! It deliberately parses no arguments, prints nothing, and hears no signals: a program does.
//!
//! ```
//! let config = ripstop_assembly::config::parse("[gateway]\nlisten = \"127.0.0.1:0\"", [])?;
//! assert_eq!(config.pools[0].code.to_string(), "(6,4)");
//! # anyhow::Ok(())
//! ```

mod admin_port;
mod allocator;
mod assembly;
mod check;
pub mod config;
mod credentials;
mod data_folder;
mod descriptors;
mod fleet;
mod folder_format;
mod giving;
mod inventory;
mod kms;
mod kv;
mod moved;
mod object_keys;
mod opened_catalog;
mod owner_only;
mod planning;
mod ports;
mod readiness;
mod reload;
mod scrub;
mod secret_file;
mod serve;
mod socket;
mod store_key;
mod telemetry;
mod tiers;
mod users;
mod watch;
mod webhook;

pub use admin_port::{AdminPort, Kept, Lines};
pub use assembly::{Assembly, NumberedNode, assemble, assemble_over, number_nodes, pool_id};
pub use check::{catalog_report, told_of};
pub use credentials::CredentialsOrigin;
pub use data_folder::{ADMIN_FILE, CATALOG_FILE, DataFolder, FolderError, plan_file};
pub use kms::check_kms;
pub use moved::{MOVING_FILE, free_name, put_aside};
pub use object_keys::{copy_ring, note_object_keys, read_ring, rotate_ring};
pub use opened_catalog::{OpenedCatalog, audited, open_catalog};
pub use planning::{PlannedPool, Planning, StartPlanning};
pub use readiness::DAMAGED;
pub use reload::Reread;
pub use serve::{Gateway, Signals, Start, log_as, serve};
pub use store_key::{KeyFile, StoreKeys, copy as copy_key, keys_of, note_keys, reading_seals};
pub use telemetry::Telemetry;
pub use users::{
    KeyShown, PolicyShown, UserAnswer, UserCommand, UserShown, UsersFile, read_secret, write_keys,
};
pub use watch::{Unwatched, VERSION, Watch};
