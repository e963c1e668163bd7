//! Damaged images and failing drives: clear errors, never a panic, always an end, and fsck makes it whole.

#[path = "../common/mod.rs"]
mod common;
mod damage;
mod image;
mod life;
mod nvrams;
mod pieces;
mod ssds;
