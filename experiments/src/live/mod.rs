//! Real file systems and databases on live drives: what the whole stack writes for what an application writes.
//!
//! One disk is mounted, and several [drives] take its requests side by side: they see the same, bytes and all, and what one
//! answers is held against the others.

pub mod cases;
pub mod drives;
pub mod f2fs_loads;
pub mod file_systems;
pub mod loads;
pub mod measure;
pub mod needs;
