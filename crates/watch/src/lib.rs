//! Monitoring of live drives.
//!
//! A [`ControlServer`] is an optional server for queries from this machine. It serves an HTML page, the same data as
//! JSON, and metrics for Prometheus. All of these show one [`Reading`](wearwell_serve::Reading). Readings are taken on
//! demand, at most a few times per second for all clients together. The drive waits only while its counters are copied.

mod client;
mod control;
mod history;
pub mod metrics;
mod observed;
mod page;
pub mod top;

pub use client::{Client, QueryError};
pub use control::{ControlError, ControlServer};
