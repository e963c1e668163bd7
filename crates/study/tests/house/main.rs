//! House rules: checks of the sources, and of the documents against the code.

#[path = "../../../stack/tests/common/mod.rs"]
mod common;
mod cycles;
mod docs;
mod language;
mod tidy;
mod tutorials;
mod weight;
