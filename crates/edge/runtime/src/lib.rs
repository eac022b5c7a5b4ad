//! Drives the machine: real time, real bytes.
