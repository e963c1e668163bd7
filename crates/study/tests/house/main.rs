//! The rules of the house: what a machine can check of the sources, and the documents beside the code.

mod circles;
#[path = "../../../stack/tests/common/mod.rs"]
mod common;
mod docs;
mod tidy;
