//! The figures, tables and printed claims of five papers, and questions that they leave open, each run again by one command
//! with its verdict.
//!
//! A [`manifest`] says what there is to reproduce and what was printed; a [program](programs) finds it out; [`judge`] holds the
//! two together; [`pages`] are made of what is left on disk.

pub mod assumptions;
pub mod cagc;
pub mod chart;
pub mod crew;
#[cfg(target_os = "linux")]
pub mod f2fs;
pub mod figures;
pub mod gecko;
pub mod gecko_ram;
pub mod heat_map;
pub mod hot_cold;
pub mod interval;
pub mod journal;
pub mod judge;
pub mod layer_model;
#[cfg(target_os = "linux")]
pub mod live;
pub mod log_on_log;
pub mod manifest;
pub mod moving;
#[cfg(target_os = "linux")]
pub mod nvmfs;
pub mod paged;
pub mod pages;
pub mod programs;
#[cfg(target_os = "linux")]
pub mod recordings;
pub mod replicas;
pub mod reproduce;
pub mod sensitivity;
pub mod session;
pub mod small_log;
pub mod stacks;
pub mod statements;
pub mod table;
pub mod theory;
pub mod traces;
pub mod validity_cost;
pub mod validity_probe;
pub mod worth;

/// Why a reproduction stopped.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;
