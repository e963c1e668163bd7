//! How a live drive is watched.
//!
//! A [`Control`] is what a drive that is served tells of itself to this machine, where its user asked for that: a page, the same as
//! JSON, and metrics for Prometheus. All of them show one [`Reading`](wearwell_serve::Reading), which is taken when somebody asks, and
//! a few times a second at most, however many ask: the drive waits only while its counters are copied.

mod client;
mod control;
mod history;
pub mod metrics;
mod page;
pub mod top;
mod watched;

pub use client::{AskError, Client};
pub use control::{Control, ControlError};
