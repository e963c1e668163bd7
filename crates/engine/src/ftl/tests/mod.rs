//! FTLs on tiny drives: every merge and synchronisation worked out by hand, and power cuts at every operation.

mod bast;
mod cuts;
pub mod drives;
mod fast;
mod free_logs;
mod frequent_cuts;
mod lasting_commands;
mod paged;
mod power_cycles;
mod results;
pub mod stored_bytes;
