//! Write amplification as a function of the drawn numbers of a workload: solved at a few points, and interpolated
//! between them.

use super::distribution::{Distribution, Law};
use std::collections::HashMap;
use std::f64::consts::PI;

/// Interpolation nodes along one drawn number.
#[derive(Clone, Debug, PartialEq)]
enum Axis {
    /// Interval: Chebyshev points of the second kind; each level includes the points of the previous level.
    Interval(f64, f64),
    /// A few values, each solved separately.
    Values(Vec<f64>),
}

/// Maximum number of values that are solved separately.
const MAX_SEPARATE_VALUES: usize = 33;

impl Axis {
    fn of(distribution: &Distribution) -> Axis {
        let (low, high) = distribution.support();
        match distribution {
            Distribution::Drawn(Law::Values { values, .. }) if values.len() <= MAX_SEPARATE_VALUES => {
                let mut values = values.clone();
                values.sort_by(f64::total_cmp);
                values.dedup();
                Axis::Values(values)
            }
            _ if low == high => Axis::Values(vec![low]),
            _ => Axis::Interval(low, high),
        }
    }

    fn nodes(&self, intervals: usize) -> Vec<f64> {
        match self {
            Axis::Values(values) => values.clone(),
            Axis::Interval(low, high) => {
                let node = |at: usize| 0.5 - 0.5 * libm::cos(PI * at as f64 / intervals as f64);
                (0..=intervals).map(|at| low + (high - low) * node(at)).collect()
            }
        }
    }

    /// Computes the weight of each node at `value`: the second barycentric form (Berrut and Trefethen, 2004).
    fn weights(&self, nodes: &[f64], value: f64, weights: &mut Vec<f64>) {
        weights.clear();
        weights.resize(nodes.len(), 0.0);
        let nearest = |nodes: &[f64]| {
            let distance = |at: &usize| (nodes[*at] - value).abs();
            (0..nodes.len()).min_by(|a, b| distance(a).total_cmp(&distance(b))).unwrap_or(0)
        };
        let exact = match self {
            Axis::Values(_) => Some(nearest(nodes)),
            Axis::Interval(..) => nodes.iter().position(|node| *node == value),
        };
        if let Some(at) = exact {
            weights[at] = 1.0;
            return;
        }
        let mut sum = 0.0;
        for (at, node) in nodes.iter().enumerate() {
            let sign = if at % 2 == 0 { 1.0 } else { -1.0 };
            let end = if at == 0 || at + 1 == nodes.len() { 0.5 } else { 1.0 };
            weights[at] = sign * end / (value - node);
            sum += weights[at];
        }
        weights.iter_mut().for_each(|weight| *weight /= sum);
    }
}

/// Write amplification as a function of the drawn numbers.
#[derive(Clone, Debug)]
pub struct Surface {
    axes: Vec<Axis>,
    nodes: Vec<Vec<f64>>,
    /// Logarithms of write amplification; the last axis varies fastest.
    logarithms: Vec<f64>,
    /// Number of points that were solved.
    pub points: usize,
    /// Largest relative error of the previous level at the points that the last level added.
    pub error: f64,
}

/// Resolution and tolerance of an interpolation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GridResolution {
    /// Number of intervals of the first level; a power of two.
    pub first: usize,
    /// Number of intervals of the last level.
    pub last: usize,
    /// Allowed relative error of the interpolation.
    pub tolerance: f64,
}

/// Working memory of [`Surface::at`].
#[derive(Debug, Default)]
pub struct Scratch {
    weights: Vec<f64>,
    values: Vec<f64>,
}

/// Returns the bit patterns of a point, used as its key.
fn point_key(point: &[f64]) -> Vec<u64> {
    point.iter().map(|value| value.to_bits()).collect()
}

impl Surface {
    /// Solves at more and more points until the interpolation meets the tolerance of `resolution`, or reaches its last
    /// level. `solve` computes the write amplification at many points.
    ///
    /// # Errors
    /// Returns the errors of `solve`.
    pub fn solve<E>(
        distributions: &[&Distribution],
        resolution: GridResolution,
        mut solve: impl FnMut(&[Vec<f64>]) -> Result<Vec<f64>, E>,
    ) -> Result<Surface, E> {
        let axes: Vec<Axis> = distributions.iter().map(|distribution| Axis::of(distribution)).collect();
        let is_interpolated = axes.iter().any(|axis| matches!(axis, Axis::Interval(..)));
        let mut solved_points: HashMap<Vec<u64>, f64> = HashMap::new();
        let mut before: Option<Surface> = None;
        let mut intervals = resolution.first;
        loop {
            let nodes: Vec<Vec<f64>> = axes.iter().map(|axis| axis.nodes(intervals)).collect();
            let all = products(&nodes);
            let new: Vec<Vec<f64>> =
                all.iter().filter(|point| !solved_points.contains_key(&point_key(point))).cloned().collect();
            let solved = solve(&new)?;
            let mut scratch = Scratch::default();
            let error = before.as_ref().map_or(0.0, |before: &Surface| {
                let off =
                    |(point, value): (&Vec<f64>, &f64)| (before.at(point, &mut scratch) / value - 1.0).abs();
                new.iter().zip(&solved).map(off).fold(0.0, f64::max)
            });
            solved_points.extend(new.iter().map(|point| point_key(point)).zip(solved));
            let logarithms = all.iter().map(|point| libm::log(solved_points[&point_key(point)])).collect();
            let surface =
                Surface { axes: axes.clone(), nodes, logarithms, points: solved_points.len(), error };
            let is_fine = before.is_some() && error <= resolution.tolerance;
            if !is_interpolated || is_fine || intervals >= resolution.last {
                return Ok(surface);
            }
            before = Some(surface);
            intervals *= 2;
        }
    }

    /// Interpolates the write amplification at a point, which has one coordinate for each drawn number.
    pub fn at(&self, point: &[f64], scratch: &mut Scratch) -> f64 {
        let Scratch { weights, values } = scratch;
        values.clear();
        values.extend_from_slice(&self.logarithms);
        // Reduces the values along each axis to one, starting with the last axis.
        for ((axis, nodes), &value) in self.axes.iter().zip(&self.nodes).zip(point).rev() {
            axis.weights(nodes, value, weights);
            let rows = values.len() / nodes.len();
            for row in 0..rows {
                let along = &values[row * nodes.len()..(row + 1) * nodes.len()];
                values[row] = along.iter().zip(&*weights).map(|(value, weight)| value * weight).sum();
            }
            values.truncate(rows);
        }
        libm::exp(values[0])
    }
}

/// Returns all combinations; the last axis varies fastest.
fn products(nodes: &[Vec<f64>]) -> Vec<Vec<f64>> {
    nodes.iter().fold(vec![Vec::new()], |points, axis| {
        let longer =
            |point: &Vec<f64>| axis.iter().map(|value| [&point[..], &[*value]].concat()).collect::<Vec<_>>();
        points.iter().flat_map(longer).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    fn uniform(low: f64, high: f64) -> Distribution {
        Distribution::Drawn(Law::Uniform { low, high })
    }

    const FINE_RESOLUTION: GridResolution = GridResolution { first: 4, last: 32, tolerance: 1e-4 };

    fn surface(distributions: &[&Distribution], amplification: impl Fn(&[f64]) -> f64) -> Surface {
        let solve = |points: &[Vec<f64>]| {
            Ok::<_, Infallible>(points.iter().map(|point| amplification(point)).collect())
        };
        Surface::solve(distributions, FINE_RESOLUTION, solve).unwrap()
    }

    #[test]
    fn surface_without_drawn_numbers_is_solved_once() {
        let surface = surface(&[], |_| 3.5);
        assert_eq!((surface.points, surface.error), (1, 0.0));
        assert!((surface.at(&[], &mut Scratch::default()) - 3.5).abs() < 1e-15);
    }

    #[test]
    fn smooth_function_is_interpolated_within_tolerance() {
        let smooth = |point: &[f64]| 1.0 + point[0] * point[0] / (1.2 - point[1]);
        let surface = surface(&[&uniform(0.5, 2.0), &uniform(0.0, 0.9)], smooth);
        assert!(surface.error <= 1e-4 && surface.points < 600, "{} {}", surface.error, surface.points);
        let mut scratch = Scratch::default();
        for at in 0..500 {
            let point = [0.5 + 1.5 * f64::from(at * 37 % 500) / 500.0, 0.9 * f64::from(at) / 500.0];
            let off = surface.at(&point, &mut scratch) / smooth(&point) - 1.0;
            assert!(off.abs() <= surface.error.max(1e-9), "{point:?}: {off}");
        }
    }

    #[test]
    fn discrete_values_are_solved_separately() {
        let values =
            Distribution::Drawn(Law::Values { values: vec![4.0, 1.0, 2.0, 1.0], weights: Vec::new() });
        // A function that is not smooth.
        let surface = surface(&[&values], |point| if point[0] == 2.0 { 9.0 } else { point[0] });
        assert_eq!((surface.points, surface.error), (3, 0.0));
        let found = [1.0, 2.0, 4.0].map(|value| surface.at(&[value], &mut Scratch::default()));
        assert!(
            found
                .iter()
                .zip([1.0, 9.0, 4.0])
                .all(|(found, expected)| (found / expected - 1.0f64).abs() < 1e-14)
        );
    }

    #[test]
    fn step_function_reports_its_interpolation_error() {
        let surface = surface(&[&uniform(0.0, 1.0)], |point| if point[0] < 0.37 { 1.0 } else { 2.0 });
        assert!(surface.points == 33 && surface.error > 0.1, "{}", surface.error);
    }
}
