//! Damaged images and failing drives: clear errors, never a panic, always an end, and fsck makes it whole.

mod damage;
mod flips;
mod image;
mod life;
mod mounted;
mod nvrams;
mod pieces;
mod ssds;
