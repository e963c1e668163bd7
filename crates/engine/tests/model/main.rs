//! The engine beside a naive model of itself, beside itself in its other forms, and beside closed forms.

mod agreement;
mod atomic;
mod closed_forms;
mod conformance;
mod content;
mod content_recovery;
mod coordination;
mod direct;
mod edges;
mod engine;
mod eviction;
mod flash;
mod foresight;
mod idle;
mod lsm;
mod metadata;
#[path = "../naive/mod.rs"]
mod naive;
mod partitions;
mod paths;
mod placements;
mod recovery;
mod stack;
mod timed;
mod wear;
mod zones;
