//! What the experiments on NVMFS share: recordings of real file systems, and replays of recordings on two FTLs.

pub mod clean_up;
pub mod guest;
pub mod host;
pub mod job;
pub mod recorded;
pub mod recorder;
pub mod replay;
pub mod simulate;
pub mod timed;
pub mod trial;
