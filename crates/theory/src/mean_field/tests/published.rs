//! Published tables, and independently computed values.

use super::*;
use crate::selection::{DChoices, GreedyLimit, RandomPlusPlus};

/// b, S_f, d, r, f, write amplification.
type Row = (u32, f64, f64, f64, f64, f64);

/// Van Houdt (2013), Table 1, ODE column: one frontier.
const TABLE_1: &[Row] = &[
    (16, 0.10, 16.0, 0.92, 0.23, 4.5925),
    (32, 0.07, 9.0, 0.81, 0.06, 7.6481),
    (32, 0.08, 5.0, 0.94, 0.25, 6.5347),
    (32, 0.13, 14.0, 0.87, 0.12, 4.4551),
    (64, 0.06, 4.0, 0.85, 0.17, 9.2976),
    (64, 0.09, 6.0, 0.79, 0.08, 6.5886),
    (64, 0.11, 11.0, 0.94, 0.28, 4.8997),
];

/// Van Houdt (2013), Table 2, ODE column: two frontiers.
const TABLE_2: &[Row] = &[
    (16, 0.05, 12.0, 0.83, 0.24, 6.7745),
    (32, 0.05, 6.0, 0.74, 0.15, 8.4562),
    (32, 0.08, 11.0, 0.81, 0.22, 5.5623),
    (32, 0.13, 2.0, 0.91, 0.24, 4.9148),
    (64, 0.05, 6.0, 0.87, 0.12, 8.2524),
    (64, 0.05, 20.0, 0.94, 0.26, 8.9138),
    (64, 0.09, 3.0, 0.94, 0.06, 4.6364),
];

#[test]
fn both_tables_agree_to_every_printed_digit() {
    for (rows, structure) in [(TABLE_1, Structure::Single), (TABLE_2, Structure::Double)] {
        for &(pages, spare, choices, r, f, printed) in rows {
            let selection = DChoices::new(choices).unwrap();
            let found = steady(pages, spare, hot_cold(r, f), structure, &selection).write_amplification;
            assert!(
                (found - printed).abs() <= 5e-5,
                "{structure:?}, b = {pages}: {found}, printed {printed}"
            );
        }
    }
}

/// Values computed independently of this code: uniform writes, the limit of greedy, random++.
#[test]
fn solver_agrees_with_independent_solutions() {
    let assert_near = |found: f64, expected: f64, digits: f64| {
        assert!((found - expected).abs() < digits, "{found}, expected {expected}");
    };
    let ten = DChoices::new(10.0).unwrap();
    for (pages, spare, expected) in [(32, 0.1, 4.7365), (128, 0.3, 1.8969), (128, 0.1, 5.1479)] {
        let found = steady(pages, spare, Classes::uniform(), Structure::Single, &ten);
        assert_near(found.write_amplification, expected, 5e-5);
    }
    let hot = || hot_cold(0.9, 0.1);
    assert_near(steady(32, 0.1, hot(), Structure::Single, &GreedyLimit).write_amplification, 5.5784, 5e-5);
    assert_near(steady(32, 0.1, hot(), Structure::Double, &GreedyLimit).write_amplification, 4.9722, 5e-5);
    let thousand = DChoices::new(1000.0).unwrap();
    assert_near(steady(32, 0.1, hot(), Structure::Double, &thousand).write_amplification, 4.9654, 5e-5);
    // Random++ never selects blocks with the mean number of valid pages or more; it cannot be worse than random
    // selection.
    let plus_plus = steady(32, 0.1, hot(), Structure::Single, &RandomPlusPlus);
    assert!(plus_plus.write_amplification < 10.0);
    assert!(
        plus_plus.victim_valid_pages[29..].iter().all(|share| *share == 0.0),
        "more than b rho = 28.8 pages"
    );
}

/// Optimum of d over 1 to 150, two frontiers, b = 32: found by brute force with other software.
#[test]
fn optimal_number_of_choices_agrees_with_brute_force() {
    let cases =
        [(0.8, 0.05, 9, 4.4498), (0.8, 0.2, 15, 5.5253), (0.9, 0.1, 8, 4.4714), (0.98, 0.02, 19, 1.7954)];
    for (r, f, choices, amplification) in cases {
        let drive = Drive::new(32, 0.08).unwrap();
        let found = optimal_choices(drive, &hot_cold(r, f), Structure::Double, 40);
        let best = found.unwrap().best;
        assert!(best.choices.abs_diff(choices) <= 1, "({r}, {f}): {best:?}");
        assert!((best.write_amplification - amplification).abs() < 1e-4, "({r}, {f}): {best:?}");
    }
}
