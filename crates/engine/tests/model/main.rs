//! The engine compared with a naive model, with its other monomorphised instances, and with closed forms.

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
mod recording;
mod recovery;
mod stack;
mod wear;
mod zones;
