//! Power cuts of the whole file system: whatever moment the power goes at, what was done before is there afterwards, what
//! was being done is there or is not, and nothing else is different.
//!
//! `WEARWELL_CUTS=n` makes n times as many cuts, `WEARWELL_CUT=seed:event` or `seed:event:second` repeats one that
//! failed.

mod closing;
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
mod tally;
mod tree;
