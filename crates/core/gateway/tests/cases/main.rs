//! What the machine does, case by case, as a reader would check it by hand.

mod placement;
mod reads;
mod scene;
mod spares;
mod writes;
