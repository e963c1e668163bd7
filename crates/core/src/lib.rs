//! The Wearwell engine.

pub mod trace;
