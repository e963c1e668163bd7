//! Paths of the mean field in time.

use super::*;
use crate::selection::{DChoices, GreedyLimit};

const ALL: [InitialState; 3] = [InitialState::Fresh, InitialState::Sequential, InitialState::Mixed];

fn path(
    structure: Structure,
    from: InitialState,
    drive_writes: f64,
    points: usize,
) -> (Vec<PathPoint>, SteadyState) {
    let selection = DChoices::new(8.0).unwrap();
    let model =
        MeanField::new(Drive::new(12, 0.15).unwrap(), hot_cold(0.8, 0.2), structure, &selection).unwrap();
    (model.transient(from, drive_writes, points).unwrap(), model.steady_state().unwrap())
}

/// Block fractions sum to 1 along the path; once every page has been written, hot and cold pages keep their numbers.
#[test]
fn blocks_and_pages_of_each_class_are_conserved() {
    let pages = [12.0 * 0.85 * 0.2, 12.0 * 0.85 * 0.8];
    for structure in BOTH {
        for from in ALL {
            for point in path(structure, from, 12.0, 24).0 {
                let blocks: f64 = point.valid_pages.iter().sum();
                assert!((blocks + point.erased - 1.0).abs() < 1e-9);
                for (found, all) in point.class_pages.iter().zip(pages) {
                    // A fresh drive fills as pages are written for the first time: 1 - exp(-heat * drive writes).
                    let heat = if all < 5.0 { 4.0 } else { 0.25 };
                    let written = if from == InitialState::Fresh {
                        1.0 - (-heat * point.drive_writes).exp()
                    } else {
                        1.0
                    };
                    assert!((found / (all * written) - 1.0).abs() < 1e-6, "{from:?} {point:?}");
                }
            }
        }
    }
}

/// No page is moved before the erased blocks run out, and every path ends in the steady state.
#[test]
fn paths_start_without_amplification_and_end_steady() {
    for structure in BOTH {
        for from in ALL {
            let (points, steady) = path(structure, from, 80.0, 800);
            let first = &points[0];
            match from {
                InitialState::Mixed => assert!(first.write_amplification > 1.5),
                InitialState::Fresh | InitialState::Sequential => {
                    assert!((first.write_amplification - 1.0).abs() < 1e-9, "{first:?}");
                    let free = if from == InitialState::Fresh { 1.0 } else { 0.15 };
                    assert!((first.erased - (free - 0.1 * 0.85)).abs() < 1e-9, "{first:?}");
                }
            }
            let last = &points[799];
            assert!(
                (last.write_amplification / steady.write_amplification - 1.0).abs() < 1e-5,
                "{from:?}: {last:?}"
            );
            for (found, expected) in last.valid_pages.iter().zip(&steady.valid_pages) {
                assert!((found - expected).abs() < 1e-5);
            }
        }
    }
}

/// The number of output points does not change the path.
#[test]
fn number_of_points_does_not_change_the_path() {
    let (often, _) = path(Structure::Double, InitialState::Sequential, 6.0, 60);
    let (few_points, _) = path(Structure::Double, InitialState::Sequential, 6.0, 3);
    for (a, b) in often.last().unwrap().valid_pages.iter().zip(&few_points.last().unwrap().valid_pages) {
        assert!((a - b).abs() < 1e-5);
    }
}

#[test]
fn invalid_paths_are_refused() {
    let selection = DChoices::new(2.0).unwrap();
    let drive = Drive::new(8, 0.1).unwrap();
    let model = MeanField::new(drive, Classes::uniform(), Structure::Single, &selection).unwrap();
    for (drive_writes, points) in [(0.0, 5), (1e-9, 5), (f64::NAN, 5), (-1.0, 5), (1.0, 0)] {
        assert!(model.transient(InitialState::Fresh, drive_writes, points).is_err());
    }
    let greedy = MeanField::new(drive, Classes::uniform(), Structure::Single, &GreedyLimit).unwrap();
    assert!(greedy.transient(InitialState::Fresh, 1.0, 2).is_err(), "no smooth law");
}

/// Every move preserves the number of hot pages; a hot set that barely moves behaves like a fixed one.
#[test]
fn moves_keep_the_number_of_hot_pages() {
    let selection = DChoices::new(8.0).unwrap();
    for structure in BOTH {
        let drive = Drive::new(12, 0.15).unwrap();
        let model = MeanField::new(drive, hot_cold(0.8, 0.2), structure, &selection).unwrap();
        let pages = [12.0 * 0.85 * 0.2, 12.0 * 0.85 * 0.8];
        let path = model.transient_moving(InitialState::Sequential, 12.0, 24, 0.7).unwrap();
        for point in path {
            assert!((point.valid_pages.iter().sum::<f64>() + point.erased - 1.0).abs() < 1e-9);
            for (found, all) in point.class_pages.iter().zip(pages) {
                assert!((found / all - 1.0).abs() < 1e-6, "{point:?}");
            }
        }
        let still = model.transient(InitialState::Mixed, 5.0, 5).unwrap();
        assert_eq!(model.transient_moving(InitialState::Mixed, 5.0, 5, 6.0).unwrap(), still);
    }
}

/// A hot set that moves faster than blocks are cleaned behaves like uniform writes.
#[test]
fn very_fast_moves_match_uniform_writes() {
    let selection = DChoices::new(8.0).unwrap();
    let drive = Drive::new(12, 0.15).unwrap();
    for structure in BOTH {
        let model = MeanField::new(drive, hot_cold(0.8, 0.2), structure, &selection).unwrap();
        let uniform = MeanField::new(drive, Classes::uniform(), structure, &selection).unwrap();
        let uniform = uniform.steady_state().unwrap().write_amplification;
        let found =
            model.transient_moving(InitialState::Mixed, 6.0, 6, 0.002).unwrap()[5].write_amplification;
        assert!((found / uniform - 1.0).abs() < 2e-3, "{structure:?}: {found} {uniform}");
    }
}

#[test]
fn invalid_moves_are_refused() {
    let selection = DChoices::new(2.0).unwrap();
    let drive = Drive::new(8, 0.1).unwrap();
    let refusal = |classes: Classes, every: f64| {
        let model = MeanField::new(drive, classes, Structure::Single, &selection).unwrap();
        model.transient_moving(InitialState::Mixed, 1.0, 2, every).unwrap_err().to_string()
    };
    assert!(refusal(Classes::uniform(), 1.0).starts_with("classes: 1 are no hot"));
    assert!(refusal(hot_cold(0.8, 0.6), 1.0).starts_with("hot_space: 0.6"));
    assert!(refusal(hot_cold(0.8, 0.2), 0.0).starts_with("moves_every: 0"));
    assert!(refusal(hot_cold(0.8, 0.2), 1e-9).starts_with("moves_every: 1e-9 makes more"));
}
