//! Objects over stripes: write, read, copy, sweep, check, rebuild.
