//! The simulator held against theory.

mod agreement;
mod closed_form_agreement;
mod field_agreement;
#[path = "../../../stack/tests/common/mod.rs"]
mod common;
mod theory_agreement;
