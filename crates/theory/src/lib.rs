//! Analytic write amplification: mean fields, closed forms and limits.
//!
//! This crate does not depend on the simulator; tests in `study` and `wearwell check theory` compare the two.

pub mod closed_forms;
pub mod dedup;
pub mod ftl;
pub mod mean_field;
pub mod selection;

mod classes;
mod drive;
mod error;
mod large_blocks;
mod many_classes;
mod search;
mod stacked;
mod zipf;

pub use classes::{Class, Classes};
pub use drive::{Drive, MAX_PAGES_PER_BLOCK};
pub use error::TheoryError;
pub use large_blocks::LargeBlockAmplification;
pub use many_classes::{ClassMerging, ManyClasses, SolvedClasses};
pub use search::{ChoiceCount, OptimalChoices, scan_choices, solve_spare};
pub use stacked::{StackedAmplification, StackedLogs};
