//! Simulator compared with theory.

mod agreement;
mod closed_form_agreement;
#[path = "../../../stack/tests/common/mod.rs"]
mod common;
mod field_agreement;
mod hostile_reports;
mod limit;
mod theory_agreement;
