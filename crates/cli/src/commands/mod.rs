//! One file per command.

pub mod advise;
pub mod check;
pub mod list;
pub mod model;
#[cfg(target_os = "linux")]
pub mod nvmfs;
pub mod power;
pub mod run;
pub mod scenario;
pub mod shell;
pub mod sweep;
pub mod theory;
pub mod trace;
