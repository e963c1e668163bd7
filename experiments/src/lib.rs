//! Reproduction of the figures, tables and printed claims of five papers, and experiments on open questions. One
//! command repeats each of them and prints a verdict.
//!
//! A [`manifest`] lists the items and the printed results; a [program](programs) computes an item in a [`session`];
//! the [`runner`] compares both, and generates pages from the results on disk. Each of these modules imports only the
//! ones before it.

pub mod assumptions;
pub mod cagc;
pub mod chart;
#[cfg(target_os = "linux")]
pub mod columns;
#[cfg(target_os = "linux")]
pub mod f2fs;
pub mod figures;
pub mod gecko;
pub mod gecko_ram;
pub mod heat_map;
pub mod hot_cold;
pub mod interval;
pub mod journal;
pub mod layer_model;
#[cfg(target_os = "linux")]
pub mod live;
pub mod log_on_log;
pub mod manifest;
pub mod merging_benefit;
pub mod moving_hot_set;
#[cfg(target_os = "linux")]
pub mod nvmfs;
pub mod paged;
pub mod programs;
#[cfg(target_os = "linux")]
pub mod recordings;
pub mod replicas;
pub mod runner;
pub mod session;
pub mod small_log;
pub mod stacks;
pub mod statements;
pub mod table;
pub mod theory;
pub mod traces;
pub mod validity_cost;
pub mod validity_probe;

/// Error that ends a reproduction.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;
