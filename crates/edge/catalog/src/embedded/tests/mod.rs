mod corrupt;
mod disk;
mod power;
mod seek;
