//! Surroundings and signals, which only a process of its own has.

/// At least so many cases.
pub const LEAST: usize = 0;
