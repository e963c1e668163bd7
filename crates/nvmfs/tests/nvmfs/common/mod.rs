//! Operations on file systems, made up and compared.
#![allow(dead_code, unused_imports, reason = "each test uses a part")]

mod compare;
mod nvmfs;
mod op;
mod outcome;
mod twin;

pub use compare::compare;
pub use nvmfs::{NVRAM_BYTES, Remount, Small, small, small_on};
pub use op::{Attribute, OP_WORDS, Op, Position, ops_of_bytes, random_ops};
pub use outcome::{Files, Outcome, attempt, content, error_name, list, run, seen};
pub use twin::{Room, Twin};
