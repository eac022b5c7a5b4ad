mod copies;
mod corrupt;
mod disk;
mod failing;
mod flips;
mod power;
mod seek;
mod usage;
