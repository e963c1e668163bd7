//! Common code of the experiments on NVMFS: recordings of real file systems, and replays of recordings on two FTLs.

pub mod assumed;
pub mod clean_up;
pub mod clocked;
pub mod course;
pub mod guest;
pub mod host;
pub mod job;
pub mod load;
pub mod nilfs_logs;
pub mod pace;
pub mod reading;
pub mod recorder;
pub mod recording;
pub mod replay;
pub mod simulate;
pub mod spare;
pub mod stop;
pub mod surfaces;
pub mod timed;
pub mod trial;
