//! House rules: checks of the sources, and of the documents against the code.

mod circles;
#[path = "../../../stack/tests/common/mod.rs"]
mod common;
mod docs;
mod language;
mod tidy;
mod tutorials;
mod weight;
