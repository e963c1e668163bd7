//! One file per command.

pub mod advise;
pub mod check;
pub mod compare;
pub mod drive;
#[cfg(feature = "explore")]
pub mod explore;
#[cfg(not(feature = "explore"))]
#[path = "no_explore.rs"]
pub mod explore;
pub mod fleet;
pub mod list;
pub mod model;
#[cfg(not(all(target_os = "linux", feature = "nvmfs")))]
#[path = "no_nvmfs.rs"]
pub mod nvmfs;
#[cfg(all(target_os = "linux", feature = "nvmfs"))]
pub mod nvmfs;
#[cfg(not(feature = "plot"))]
#[path = "no_plot.rs"]
pub mod plot;
#[cfg(feature = "plot")]
pub mod plot;
pub mod power;
pub mod report;
#[cfg(not(all(target_os = "linux", feature = "reproduce")))]
#[path = "no_reproduce.rs"]
pub mod reproduce;
#[cfg(all(target_os = "linux", feature = "reproduce"))]
pub mod reproduce;
pub mod run;
pub mod scenario;
pub mod shell;
pub mod sweep;
pub mod theory;
pub mod trace;
