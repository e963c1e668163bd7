//! Tests of the control server of a live drive.

mod answers;
mod common;
mod hostile;
mod prometheus;
