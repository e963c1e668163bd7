//! Distribution of valid pages over blocks and victims, as a table with bars.

use crate::report::grid;

/// Shares below this are not shown.
const MIN_SHOWN_SHARE: f64 = 5e-4;

/// Largest number of rows; neighbouring levels are combined if there are more.
const MAX_ROWS: usize = 32;

/// Length of the longest bar.
const MAX_BAR_LENGTH: f64 = 24.0;

/// Returns the table of both distributions; entry `[j]` is the share with `j` valid pages.
pub fn table(blocks: &[f64], victims: &[f64]) -> String {
    let shown = |j: &usize| blocks[*j] > MIN_SHOWN_SHARE || victims[*j] > MIN_SHOWN_SHARE;
    let levels: Vec<usize> = (0..blocks.len()).filter(shown).collect();
    let width = levels.len().div_ceil(MAX_ROWS).max(1);
    let sum_of_levels = |shares: &[f64], first: usize| -> f64 {
        shares[first..(first + width).min(shares.len())].iter().sum()
    };
    let firsts: Vec<usize> = (0..blocks.len()).step_by(width).collect();
    let rows: Vec<(usize, f64, f64)> = firsts
        .into_iter()
        .map(|first| (first, sum_of_levels(blocks, first), sum_of_levels(victims, first)))
        .filter(|(_, blocks, victims)| *blocks > MIN_SHOWN_SHARE || *victims > MIN_SHOWN_SHARE)
        .collect();
    let longest = rows.iter().fold(0.0, |longest: f64, row| longest.max(row.1).max(row.2));
    let cells = rows.into_iter().map(|(first, of_blocks, of_victims)| {
        let last = (first + width).min(blocks.len()) - 1;
        let level = if first == last { first.to_string() } else { format!("{first} to {last}") };
        let bar = |share: f64| "▪".repeat((share / longest * MAX_BAR_LENGTH).round() as usize);
        let percent = |share: f64| format!("{:.2} %", 100.0 * share);
        vec![level, percent(of_blocks), bar(of_blocks), percent(of_victims), bar(of_victims)]
    });
    grid(&["valid pages", "blocks", "", "victims", ""], cells.collect(), &[0, 1, 3])
}

/// Returns the mean of a distribution over levels.
pub fn mean(shares: &[f64]) -> f64 {
    shares.iter().enumerate().map(|(j, share)| j as f64 * share).sum()
}
