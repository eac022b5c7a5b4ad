mod copies;
mod corrupt;
mod failing;
mod flips;
mod live;
mod older;
mod passing;
mod power;
mod seek;
mod usage;

use super::disk;
