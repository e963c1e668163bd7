//! Code that the experiments on NVMFS share: recordings of real file systems, and replays of recordings on two FTLs.

pub mod assumed_values;
pub mod clean_up;
pub mod guest;
pub mod host;
pub mod interpretation;
pub mod job;
pub mod load;
pub mod nilfs_logs;
pub mod observations;
pub mod pace;
pub mod recorder;
pub mod recording;
pub mod replay;
pub mod sign_changes;
pub mod simulate;
pub mod spare;
pub mod stop;
pub mod timed_mount;
pub mod timed_replay;
pub mod trial;
