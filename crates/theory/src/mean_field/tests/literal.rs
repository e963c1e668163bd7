//! Drifts exactly as printed, term by term, for two classes: sums over all contents, binomials, and the full matrix K
//! of the internal frontier. Very slow beyond small blocks, but obviously correct.

// The indices of loops are those of the paper's equations.
#![allow(clippy::needless_range_loop)]

use super::*;
use crate::selection::DChoices;

fn choose(n: usize, k: usize) -> f64 {
    if k > n { 0.0 } else { (1..=k).map(|i| (n - k + i) as f64 / i as f64).product() }
}

fn binomial(n: usize, k: usize, p: f64) -> f64 {
    choose(n, k) * p.powi(k as i32) * (1.0 - p).powi((n - k) as i32)
}

/// Drive parameters and the state `m[i][j]`.
struct LiteralDrift {
    pages: usize,
    load: f64,
    choices: f64,
    hot_writes: f64,
    hot_space: f64,
    blocks: Vec<Vec<f64>>,
}

impl LiteralDrift {
    /// Returns the probabilities `p_ij` by eq. (3) and the equations that follow it.
    fn selected(&self) -> Vec<Vec<f64>> {
        let b = self.pages;
        let level = |j: usize| -> f64 { (0..=j).map(|i| self.blocks[i][j]).sum() };
        let tail = |j: usize| -> f64 { (j..=b).map(level).sum() };
        let mut selected = vec![vec![0.0; b + 1]; b + 1];
        for j in 0..=b {
            let share = tail(j).powf(self.choices) - tail(j + 1).powf(self.choices);
            for i in 0..=j {
                selected[i][j] = if level(j) > 0.0 { share * self.blocks[i][j] / level(j) } else { 0.0 };
            }
        }
        selected
    }

    /// Returns the change of `m[i][j]` by invalidated pages while the host writes one page: the bracket of eq. (7).
    fn invalidation_drift(&self, i: usize, j: usize) -> f64 {
        let valid = self.pages as f64 * self.load;
        let hot =
            |i: usize, j: usize| i as f64 * self.blocks[i][j] * self.hot_writes / (valid * self.hot_space);
        let cold = |i: usize, j: usize| {
            (j - i) as f64 * self.blocks[i][j] * (1.0 - self.hot_writes) / (valid * (1.0 - self.hot_space))
        };
        let arriving = if j < self.pages { hot(i + 1, j + 1) + cold(i, j + 1) } else { 0.0 };
        arriving - hot(i, j) - cold(i, j)
    }

    /// Returns the largest drift by eq. (7) and (8).
    fn single(&self) -> f64 {
        let b = self.pages;
        let p = self.selected();
        let share = |j: usize| -> f64 { (0..=j).map(|i| p[i][j]).sum() };
        let host: f64 = (1..=b).map(|k| k as f64 * share(b - k)).sum();
        let mut drift = 0.0;
        for j in 0..=b {
            for i in 0..=j {
                let mut change = host * self.invalidation_drift(i, j) - p[i][j];
                if j == b {
                    for k in 0..=i {
                        let fresh =
                            (i - k..=b - k).map(|j| p[i - k][j] * binomial(b - j, k, self.hot_writes));
                        change += fresh.sum::<f64>();
                    }
                }
                drift += change.abs();
            }
        }
        drift
    }

    /// Returns the probability that a random choice of `kept` pages of a victim holds `hot` hot pages.
    fn hypergeometric(victim_hot: usize, victim_pages: usize, kept: usize, hot: usize) -> f64 {
        if hot > victim_hot || kept < hot || kept - hot > victim_pages - victim_hot {
            return 0.0;
        }
        choose(victim_hot, hot) * choose(victim_pages - victim_hot, kept - hot) / choose(victim_pages, kept)
    }

    /// Returns the stationary distribution of K, eq. (12), by repeated multiplication with the matrix.
    fn internal(&self, p: &[Vec<f64>]) -> Vec<((usize, usize), f64)> {
        let b = self.pages;
        let states: Vec<(usize, usize)> = (1..=b).flat_map(|j| (0..=j).map(move |i| (i, j))).collect();
        let step = |from: (usize, usize), to: (usize, usize)| {
            let mut chance = 0.0;
            if from.1 <= to.1 && from.0 <= to.0 && to.0 - from.0 <= to.1 - from.1 {
                chance += p[to.0 - from.0][to.1 - from.1];
            }
            if to.1 <= from.1 {
                let victim_pages = b - from.1 + to.1;
                let spilled = (0..=victim_pages)
                    .map(|i| p[i][victim_pages] * Self::hypergeometric(i, victim_pages, to.1, to.0));
                chance += spilled.sum::<f64>();
            }
            chance
        };
        let matrix: Vec<Vec<f64>> =
            states.iter().map(|from| states.iter().map(|to| step(*from, *to)).collect()).collect();
        for row in &matrix {
            assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-10, "K is stochastic");
        }
        let mut distribution = vec![1.0 / states.len() as f64; states.len()];
        for _ in 0..20_000 {
            let next: Vec<f64> = (0..states.len())
                .map(|to| (0..states.len()).map(|from| distribution[from] * matrix[from][to]).sum())
                .collect();
            let change: f64 = next.iter().zip(&distribution).map(|(a, b)| (a - b).abs()).sum();
            distribution = next;
            if change < 1e-15 {
                break;
            }
        }
        states.into_iter().zip(distribution).collect()
    }

    /// Returns the largest drift by eq. (9) to (11), and the lumped distribution of the internal frontier.
    fn double(&self) -> (f64, Vec<f64>) {
        let b = self.pages;
        let p = self.selected();
        let share = |j: usize| -> f64 { (0..=j).map(|i| p[i][j]).sum() };
        let internal = self.internal(&p);
        let mut drift = vec![vec![0.0; b + 1]; b + 1];
        for &((hot, pages), chance) in &internal {
            let host = b as f64 * (0..=b - pages).map(share).sum::<f64>();
            for j in 0..=b {
                for i in 0..=j {
                    let mut change = host * self.invalidation_drift(i, j) - p[i][j];
                    if j == b {
                        change += host * binomial(b, i, self.hot_writes) / b as f64;
                        if i >= hot {
                            let victims = (b - pages + 1..=b).flat_map(|j| (0..=j).map(move |i| (i, j)));
                            let completed = victims.map(|(from, victim_pages)| {
                                p[from][victim_pages]
                                    * Self::hypergeometric(from, victim_pages, b - pages, i - hot)
                            });
                            change += completed.sum::<f64>();
                        }
                    }
                    drift[i][j] += chance * change;
                }
            }
        }
        let lumped = (1..=b)
            .map(|j| internal.iter().filter(|((_, pages), _)| *pages == j).map(|(_, chance)| chance).sum());
        (drift.iter().flatten().map(|change: &f64| change.abs()).sum(), lumped.collect())
    }
}

/// Returns the solver's final state, by content.
fn literal(pages: u32, spare: f64, choices: f64, r: f64, f: f64, structure: Structure) -> LiteralDrift {
    let selection = DChoices::new(choices).unwrap();
    let model =
        MeanField::new(Drive::new(pages, spare).unwrap(), hot_cold(r, f), structure, &selection).unwrap();
    let start = InitialGuess::cyclic(&model.drive, &model.classes, structure, &model.lattice).unwrap();
    let (levels, ..) = model.solve_from(&start).unwrap();
    let b = pages as usize;
    let mut blocks = vec![vec![0.0; b + 2]; b + 2];
    for j in 0..=b {
        for i in 0..=j {
            let hazard = levels.victims[j] / levels.masses[j];
            blocks[i][j] = levels.selected[j][i] / hazard;
        }
    }
    LiteralDrift { pages: b, load: 1.0 - spare, choices, hot_writes: r, hot_space: f, blocks }
}

#[test]
fn printed_drift_of_one_frontier_vanishes() {
    for (pages, spare, choices, r, f) in
        [(8, 0.15, 4.0, 0.8, 0.2), (12, 0.1, 10.0, 0.9, 0.1), (5, 0.3, 2.5, 0.3, 0.6)]
    {
        let drift = literal(pages, spare, choices, r, f, Structure::Single).single();
        assert!(drift < 1e-10, "b = {pages}: {drift:e}");
    }
}

#[test]
fn printed_drift_of_two_frontiers_vanishes() {
    for (pages, spare, choices, r, f) in
        [(6, 0.15, 4.0, 0.8, 0.2), (9, 0.1, 10.0, 0.9, 0.1), (4, 0.3, 2.5, 0.3, 0.6)]
    {
        let (drift, lumped) = literal(pages, spare, choices, r, f, Structure::Double).double();
        assert!(drift < 1e-9, "b = {pages}: {drift:e}");
        for share in lumped {
            assert!(
                (share * f64::from(pages) - 1.0).abs() < 1e-9,
                "the internal frontier is uniform on 1..=b"
            );
        }
    }
}
