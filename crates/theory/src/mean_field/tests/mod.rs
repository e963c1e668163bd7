//! Mean field compared with published values, its own invariants, and its literal equations.

mod invariants;
mod literal;
mod paths;
mod published;

use super::*;

fn steady(
    pages: u32,
    spare: f64,
    classes: Classes,
    structure: Structure,
    selection: &dyn Selection,
) -> SteadyState {
    let drive = Drive::new(pages, spare).unwrap();
    MeanField::new(drive, classes, structure, selection).unwrap().steady_state().unwrap()
}

fn hot_cold(hot_writes: f64, hot_space: f64) -> Classes {
    Classes::hot_cold(hot_writes, hot_space).unwrap()
}

const BOTH: [Structure; 2] = [Structure::Single, Structure::Double];
