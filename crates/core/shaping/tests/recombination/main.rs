//! Recombination: laws that every discipline keeps, and what each one promises.

mod decomposition;
mod driver;
mod fair;
mod laws;
mod miser;
mod pclock;
mod split;
