//! Anderson acceleration of a fixed-point iteration (Walker and Ni, SIAM J. Numer. Anal. 49(4), 2011).

/// Recent steps of an iteration, from which the next point is extrapolated.
pub(super) struct Anderson {
    depth: usize,
    last: Option<(Vec<f64>, Vec<f64>)>,
    /// Differences of successive residuals, oldest first.
    residual_steps: Vec<Vec<f64>>,
    /// Differences of successive images, oldest first.
    image_steps: Vec<Vec<f64>>,
}

/// A residual difference whose independent part is below this fraction of its length adds only noise.
const MIN_INDEPENDENCE: f64 = 1e-9;

impl Anderson {
    pub fn new(depth: usize) -> Self {
        Anderson { depth, last: None, residual_steps: Vec::new(), image_steps: Vec::new() }
    }

    /// Clears the history.
    pub fn restart(&mut self) {
        self.last = None;
        self.residual_steps.clear();
        self.image_steps.clear();
    }

    /// Returns the point after `point`, whose image under the map is `image`.
    pub fn next(&mut self, point: &[f64], image: &[f64]) -> Vec<f64> {
        let residual: Vec<f64> = image.iter().zip(point).map(|(image, point)| image - point).collect();
        if let Some((last_residual, last_image)) = &self.last {
            self.residual_steps.push(difference(&residual, last_residual));
            self.image_steps.push(difference(image, last_image));
            if self.residual_steps.len() > self.depth {
                self.residual_steps.remove(0);
                self.image_steps.remove(0);
            }
        }
        let mut next = image.to_vec();
        for (step, weight) in self.image_steps.iter().zip(self.weights(&residual)) {
            for (next, step) in next.iter_mut().zip(step) {
                *next -= weight * step;
            }
        }
        self.last = Some((residual, image.to_vec()));
        next
    }

    /// Returns the weights of the residual steps that best approximate `residual`: least squares by modified
    /// Gram-Schmidt, newest step first; steps that depend on newer steps are omitted.
    fn weights(&self, residual: &[f64]) -> Vec<f64> {
        let count = self.residual_steps.len();
        let mut basis: Vec<(usize, Vec<f64>)> = Vec::with_capacity(count);
        let mut triangle = vec![vec![0.0; count]; count];
        for index in (0..count).rev() {
            let mut vector = self.residual_steps[index].clone();
            let length = dot(&vector, &vector).sqrt();
            let mut parts = vec![0.0; basis.len()];
            for (part, (_, unit)) in parts.iter_mut().zip(&basis) {
                *part = dot(&vector, unit);
                add(&mut vector, -*part, unit);
            }
            let remainder = dot(&vector, &vector).sqrt();
            if remainder <= MIN_INDEPENDENCE * length || remainder == 0.0 {
                continue;
            }
            let at = basis.len();
            for (row, part) in parts.into_iter().enumerate() {
                triangle[row][at] = part;
            }
            triangle[at][at] = remainder;
            vector.iter_mut().for_each(|value| *value /= remainder);
            basis.push((index, vector));
        }
        let mut weights = vec![0.0; count];
        let mut unexplained = residual.to_vec();
        let mut along: Vec<f64> = Vec::with_capacity(basis.len());
        for (_, unit) in &basis {
            let part = dot(&unexplained, unit);
            add(&mut unexplained, -part, unit);
            along.push(part);
        }
        for at in (0..basis.len()).rev() {
            let known: f64 =
                (at + 1..basis.len()).map(|other| triangle[at][other] * weights[basis[other].0]).sum();
            weights[basis[at].0] = (along[at] - known) / triangle[at][at];
        }
        weights
    }
}

fn difference(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn add(to: &mut [f64], weight: f64, from: &[f64]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to += weight * from;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A linear map in n dimensions is solved in n + 1 steps, even if it contracts slowly.
    #[test]
    fn linear_map_is_solved_in_n_plus_1_steps() {
        let rates = [0.999, 0.9, -0.5, 0.3];
        let map =
            |x: &[f64]| -> Vec<f64> { x.iter().zip(rates).map(|(x, rate)| 1.0 + rate * (x - 1.0)).collect() };
        let mut anderson = Anderson::new(5);
        let mut point = vec![5.0, -3.0, 0.0, 9.0];
        for _ in 0..7 {
            point = anderson.next(&point, &map(&point));
        }
        assert!(point.iter().all(|x| (x - 1.0).abs() < 1e-9), "{point:?}");
    }
}
