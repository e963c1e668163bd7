//! Power cuts of the whole file system. After a cut at any moment, completed operations are present, the interrupted
//! operation is either present or absent, and nothing else differs.
//!
//! `WEARWELL_CUTS=n` makes n times as many cuts; `WEARWELL_CUT=seed:event` or `seed:event:second` repeats a cut that
//! failed.

mod closing;
mod cut_counts;
mod cuts;
mod epochs;
mod expected;
mod inodes;
mod machine;
mod points;
mod random;
mod recovery;
mod script;
mod scripted;
mod snapshots;
mod tree;
