//! Gateways over one catalog: who lives, and what each may take of what they have together.
//!
//! Each gateway tells the catalog, beat after beat, that it is alive, what it could use of each
//! node's lanes and of each tenant's promise, and what it takes of them; and reads what the others
//! tell. The share of each follows from what all want ([`ripstop_shaping::divide`]). Whoever is to
//! have less takes less at once; whoever is to have more tells it first, reads again, and takes
//! only what nobody else tells to take: so at no time do all together take more than there is. A
//! gateway whose beats fail lets go of all but the least before the others count it as dead and
//! take its part.
//!
//! It deliberately does not decide who sweeps (leases do) nor whose writes count (sessions and
//! their watermarks do): a gateway that is wrong about who lives slows others down, and breaks
//! nothing.

mod division;
mod fleet;
mod pools;
mod seen;
mod settings;
mod state;
mod thing;

pub use fleet::Fleet;
pub use seen::GatewaySight;
pub use settings::{CLAIMS_MAX, FleetSettings};
