//! What the experiments share: replicas in parallel, confidence intervals, tables, charts and arguments.

pub mod args;
pub mod cagc;
pub mod chart;
pub mod figures;
pub mod gecko;
pub mod heat_map;
pub mod hot_cold;
pub mod interval;
pub mod log_on_log;
pub mod nvmfs;
pub mod paged;
pub mod replicas;
pub mod small_log;
pub mod stacks;
pub mod statements;
pub mod table;
pub mod theory;
pub mod validity_cost;
pub mod validity_probe;

/// Why an experiment stopped.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;
