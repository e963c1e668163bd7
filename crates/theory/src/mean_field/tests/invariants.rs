//! Properties that hold for all parameters.

use super::*;
use crate::closed_forms;
use crate::selection::{CustomSelection, DChoices, GreedyLimit, Random, RandomNotFull, RandomPlusPlus};
use crate::{Class, solve_spare};
use proptest::prelude::*;

fn assert_near(actual: f64, expected: f64, relative: f64) {
    assert!((actual / expected - 1.0).abs() < relative, "{actual}, expected {expected}");
}

#[test]
fn one_choice_gives_the_inverse_of_the_spare_factor() {
    for structure in BOTH {
        for selection in [&DChoices::new(1.0).unwrap() as &dyn Selection, &Random] {
            for (pages, spare, r, f) in [(1, 0.2, 0.8, 0.2), (16, 0.1, 0.9, 0.1), (64, 0.02, 0.4, 0.6)] {
                assert_near(
                    steady(pages, spare, hot_cold(r, f), structure, selection).write_amplification,
                    1.0 / spare,
                    1e-9,
                );
            }
        }
    }
}

/// For these drives the initial guess by cyclic cleaning is far from the solution. Write amplification approximately
/// follows `a - c / b` with `b` pages per block, so the results for 64 and 128 pages predict the result for 256.
#[test]
fn large_blocks_converge_from_small_blocks() {
    for (r, f, choices, spare) in [(0.99, 0.01, 10.0, 0.1), (0.9, 0.1, 100.0, 0.07)] {
        let selection = DChoices::new(choices).unwrap();
        let [small, middle, large] = [64, 128, 256].map(|pages| {
            steady(pages, spare, hot_cold(r, f), Structure::Single, &selection).write_amplification
        });
        assert_near(large, middle + (middle - small) / 2.0, 0.01);
        assert!(large > middle);
    }
}

/// A block of one page is either valid or not: `WA = 1 / (1 - rho^d)` for any hot set.
#[test]
fn blocks_of_one_page_have_a_closed_form() {
    for structure in BOTH {
        for (spare, choices, r, f) in [(0.2, 3.0, 0.8, 0.2), (0.05, 12.0, 0.3, 0.5)] {
            let selection = DChoices::new(choices).unwrap();
            let found = steady(1, spare, hot_cold(r, f), structure, &selection);
            assert_near(found.write_amplification, 1.0 / (1.0 - (1.0 - spare).powf(choices)), 1e-10);
        }
    }
}

#[test]
fn equally_hot_classes_give_equal_results_with_one_or_two_frontiers() {
    for (pages, spare, choices, f) in [(16, 0.1, 4.0, 0.3), (32, 0.05, 10.0, 0.5), (64, 0.2, 2.5, 0.9)] {
        let selection = DChoices::new(choices).unwrap();
        let of =
            |classes, structure| steady(pages, spare, classes, structure, &selection).write_amplification;
        let uniform = of(Classes::uniform(), Structure::Single);
        for structure in BOTH {
            assert_near(of(hot_cold(f, f), structure), uniform, 1e-10);
            assert_near(of(Classes::uniform(), structure), uniform, 1e-10);
        }
    }
}

/// Splitting a class in two changes nothing: compares the rows of three classes with the single row of two.
#[test]
fn split_classes_give_the_same_result() {
    let half_class = |write_share: f64, space_share: f64| Class { write_share, space_share };
    let three = [half_class(0.5, 0.05), half_class(0.4, 0.04), half_class(0.1, 0.91)];
    let four =
        [half_class(0.9, 0.09), half_class(0.05, 0.455), half_class(0.02, 0.182), half_class(0.03, 0.273)];
    let selection = DChoices::new(6.0).unwrap();
    for structure in BOTH {
        let two = steady(10, 0.1, hot_cold(0.9, 0.09), structure, &selection);
        for classes in [&three[..], &four[..]] {
            let found = steady(10, 0.1, Classes::new(classes).unwrap(), structure, &selection);
            assert_near(found.write_amplification, two.write_amplification, 1e-9);
            for (a, b) in found.valid_pages.iter().zip(&two.valid_pages) {
                assert!((a - b).abs() < 1e-10);
            }
        }
    }
}

#[test]
fn swapping_hot_and_cold_changes_nothing() {
    let selection = DChoices::new(7.0).unwrap();
    for structure in BOTH {
        let found = steady(24, 0.12, hot_cold(0.8, 0.3), structure, &selection);
        let swapped = steady(24, 0.12, hot_cold(1.0 - 0.8, 1.0 - 0.3), structure, &selection);
        assert_near(found.write_amplification, swapped.write_amplification, 1e-11);
    }
}

#[test]
fn greedy_limit_matches_greedy_under_uniform_writes() {
    for (pages, spare) in [(8, 0.1), (32, 0.07), (64, 0.3)] {
        let drive = Drive::new(pages, spare).unwrap();
        let closed = closed_forms::greedy(&drive).unwrap();
        for structure in BOTH {
            assert_near(
                steady(pages, spare, Classes::uniform(), structure, &GreedyLimit).write_amplification,
                closed,
                1e-9,
            );
        }
    }
}

/// Random among blocks that are not full, uniform writes: `1 / WA = S_f + rho / b`.
#[test]
fn random_not_full_has_a_closed_form() {
    for (pages, spare) in [(8u32, 0.1), (32, 0.2)] {
        let found =
            steady(pages, spare, Classes::uniform(), Structure::Single, &RandomNotFull).write_amplification;
        assert_near(1.0 / found, spare + (1.0 - spare) / f64::from(pages), 1e-9);
    }
}

/// Solves a selection law given as a function, with unknown hazards, and compares with the built-in law solved level by
/// level.
#[test]
fn custom_selection_agrees_with_built_in_selection() {
    let built_in = DChoices::new(5.0).unwrap();
    let custom = CustomSelection::new("five choices", |masses: &[f64], mean: f64, victims: &mut [f64]| {
        DChoices::new(5.0).unwrap().probabilities(masses, mean, victims);
    });
    for structure in BOTH {
        let expected = steady(16, 0.1, hot_cold(0.8, 0.2), structure, &built_in).write_amplification;
        assert_near(
            steady(16, 0.1, hot_cold(0.8, 0.2), structure, &custom).write_amplification,
            expected,
            1e-9,
        );
    }
}

#[test]
fn search_from_a_similar_drive_finds_the_same_solution() {
    let (similar_selection, target_selection) = (DChoices::new(9.0).unwrap(), DChoices::new(12.0).unwrap());
    for structure in BOTH {
        let model = |selection| {
            MeanField::new(Drive::new(16, 0.1).unwrap(), hot_cold(0.8, 0.2), structure, selection).unwrap()
        };
        let similar = model(&similar_selection).steady_state().unwrap();
        let found = model(&target_selection).steady_state_near(&similar).unwrap();
        let expected = model(&target_selection).steady_state().unwrap();
        assert_near(found.write_amplification, expected.write_amplification, 1e-10);
        assert!(found.evaluations <= expected.evaluations);
    }
}

#[test]
fn solve_spare_recovers_the_spare_factor() {
    let selection = DChoices::new(10.0).unwrap();
    let amplification = |drive: Drive| -> Result<f64, TheoryError> {
        Ok(MeanField::new(drive, hot_cold(0.8, 0.2), Structure::Double, &selection)?
            .steady_state()?
            .write_amplification)
    };
    let drive = solve_spare(2.5, 32, amplification).unwrap();
    assert_near(amplification(drive).unwrap(), 2.5, 1e-10);
    assert!(solve_spare(0.9, 32, amplification).is_err(), "less than one");
    assert!(solve_spare(f64::NAN, 32, amplification).is_err());
}

#[test]
fn invalid_parameters_are_refused() {
    for (pages, spare) in [(0, 0.1), (8193, 0.1), (32, 0.0), (32, 1.0), (32, -0.1), (32, f64::NAN)] {
        assert!(Drive::new(pages, spare).is_err(), "b = {pages}, S_f = {spare}");
    }
    for choices in [0.0, 0.5, -1.0, f64::INFINITY, f64::NAN] {
        assert!(DChoices::new(choices).is_err(), "d = {choices}");
    }
    for (r, f) in
        [(0.0, 0.2), (1.0, 0.2), (0.8, 0.0), (0.8, 1.0), (f64::NAN, 0.2), (0.8, f64::NAN), (1.2, 0.5)]
    {
        assert!(Classes::hot_cold(r, f).is_err(), "r = {r}, f = {f}");
    }
    for corner in [0.0, 1.0] {
        assert_eq!(Classes::hot_cold(corner, corner).unwrap(), Classes::uniform());
    }
    let selection = DChoices::new(2.0).unwrap();
    let classes = Classes::zipf(1.0, 100).unwrap();
    assert!(
        MeanField::new(Drive::new(64, 0.1).unwrap(), classes, Structure::Single, &selection).is_err(),
        "too many"
    );
}

/// Parameters near the limits still have a solution.
#[test]
fn extreme_parameters_are_solved() {
    for structure in BOTH {
        for (pages, spare, choices) in
            [(1, 0.5, 1e6), (2, 1e-3, 3.0), (16, 0.999, 2.0), (256, 0.3, 1.0001), (3, 0.02, 100.0)]
        {
            for (r, f) in [(0.5, 0.5), (0.999, 0.001), (0.001, 0.999)] {
                let selection = DChoices::new(choices).unwrap();
                let found = steady(pages, spare, hot_cold(r, f), structure, &selection);
                assert!(
                    found.write_amplification >= 1.0 - 1e-12
                        && found.write_amplification <= 1.0 / spare * (1.0 + 1e-9)
                );
            }
        }
    }
}

/// If the search fails, the solver returns an error instead of a number. Here 0.1 % of the writes go to nearly all
/// pages, with almost no spare space and hundreds of choices.
#[test]
fn failed_search_returns_an_error() {
    let selection = DChoices::new(500.0).unwrap();
    let model =
        MeanField::new(Drive::new(3, 0.01).unwrap(), hot_cold(0.001, 0.999), Structure::Single, &selection)
            .unwrap();
    match model.steady_state() {
        Ok(state) => assert!(state.residual <= 1e-8),
        Err(error) => assert!(error.to_string().contains("b = 3"), "{error}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// The fixed point is found at random parameters, and is a distribution with the correct number of pages.
    #[test]
    fn random_points_are_solved(
        pages in prop::sample::select(vec![2u32, 4, 5, 8, 12, 16, 32, 48]),
        log_spare in -2.0..-0.3f64,
        log_choices in 0.0..2.3f64,
        r in 0.01..0.99f64,
        f in 0.01..0.99f64,
        is_double: bool,
    ) {
        let (spare, selection) = (10f64.powf(log_spare), DChoices::new(10f64.powf(log_choices)).unwrap());
        let structure = BOTH[usize::from(is_double)];
        let state = steady(pages, spare, hot_cold(r, f), structure, &selection);
        let b = f64::from(pages);
        let sum = |distribution: &[f64]| distribution.iter().sum::<f64>();
        let mean = |distribution: &[f64]| distribution.iter().enumerate().map(|(j, share)| j as f64 * share).sum::<f64>();
        prop_assert!((sum(&state.valid_pages) - 1.0).abs() < 1e-9);
        prop_assert!((sum(&state.victim_valid_pages) - 1.0).abs() < 1e-9);
        prop_assert!((sum(&state.moved_shares) - 1.0).abs() < 1e-9);
        prop_assert!((mean(&state.valid_pages) / (b * (1.0 - spare)) - 1.0).abs() < 1e-9);
        prop_assert!((b / (b - mean(&state.victim_valid_pages)) / state.write_amplification - 1.0).abs() < 1e-9);
        // d-choices is never worse than one draw, and never better than no cleaning.
        prop_assert!(state.write_amplification >= 1.0 && state.write_amplification <= 1.0 / spare * (1.0 + 1e-9));
        let victims = selection_of(&selection, &state.valid_pages, b * (1.0 - spare));
        for (found, expected) in state.victim_valid_pages.iter().zip(victims) {
            prop_assert!((found - expected).abs() < 1e-9);
        }
    }
}

fn selection_of(selection: &dyn Selection, masses: &[f64], mean: f64) -> Vec<f64> {
    let mut victims = vec![0.0; masses.len()];
    selection.probabilities(masses, mean, &mut victims);
    victims
}

/// Selection laws that depend on lower levels are solved with unknown hazards and must satisfy their definition.
#[test]
fn every_selection_holds_at_its_fixed_point() {
    let selections: [&dyn Selection; 4] =
        [&Random, &RandomNotFull, &RandomPlusPlus, &DChoices::new(3.0).unwrap()];
    for selection in selections {
        for structure in BOTH {
            let state = steady(20, 0.13, hot_cold(0.85, 0.15), structure, selection);
            let victims = selection_of(selection, &state.valid_pages, 20.0 * 0.87);
            for (found, expected) in state.victim_valid_pages.iter().zip(victims) {
                assert!((found - expected).abs() < 1e-9, "{}: {found} and {expected}", selection.describe());
            }
        }
    }
}
