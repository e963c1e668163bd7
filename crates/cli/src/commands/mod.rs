//! One file per command.

pub mod advise;
pub mod check;
pub mod compare;
pub mod drive;
#[cfg(feature = "explore")]
pub mod explore;
pub mod fleet;
#[cfg(feature = "serve")]
pub mod image;
pub mod limit;
pub mod list;
#[cfg(feature = "serve")]
pub mod live;
#[allow(unused_macros, reason = "nothing is absent where every command is there")]
mod missing;
pub mod model;
#[cfg(all(target_os = "linux", feature = "nvmfs"))]
pub mod nvmfs;
#[cfg(feature = "play")]
pub mod play;
#[cfg(feature = "plot")]
pub mod plot;
pub mod power;
#[cfg(feature = "serve")]
pub mod pull_plug;
pub mod report;
#[cfg(all(target_os = "linux", feature = "reproduce"))]
pub mod reproduce;
#[cfg(feature = "parquet")]
pub mod results;
pub mod run;
pub mod scenario;
#[cfg(feature = "serve")]
pub mod serve;
pub mod shell;
pub mod sweep;
pub mod theory;
#[cfg(feature = "serve")]
pub mod top;
pub mod trace;

#[allow(unused_imports, reason = "nothing is absent where every command is there")]
pub use missing::*;
