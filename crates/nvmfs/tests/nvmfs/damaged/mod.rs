//! Damaged images and failing drives: clear errors, no panics, guaranteed termination, and successful repair by
//! fsck.

mod damage;
mod flips;
mod image;
mod life_cycle;
mod mounted;
mod nvrams;
mod ssds;
mod structures;
