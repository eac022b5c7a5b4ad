//! The machine in the middle: events in, actions out.
