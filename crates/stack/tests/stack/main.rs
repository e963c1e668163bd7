//! Scenarios: counts of their runs, sums that hold in every stack, and refusals.

mod attribution;
#[path = "../common/mod.rs"]
mod common;
mod coordination;
mod deduplication;
mod devices;
mod fitted_drives;
mod ftls;
mod golden;
mod metadata;
mod old_results;
mod pairs;
mod placements;
mod replay;
mod scenarios;
mod structures;
mod tenants;
mod timed;
