//! Damaged images and failing drives: errors are clear, nothing panics or hangs, and fsck repairs the damage.

mod damage;
mod flips;
mod image;
mod life_cycle;
mod mounted;
mod nvrams;
mod ssds;
mod structures;
