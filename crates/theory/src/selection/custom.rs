//! Custom policies: any smooth law `p_j(m)` given as a function.

use super::Selection;

/// Policy of class C given by a function of masses and mean valid pages that writes the probabilities.
pub struct CustomSelection<F> {
    name: String,
    probabilities: F,
}

impl<F: Fn(&[f64], f64, &mut [f64]) + Sync> CustomSelection<F> {
    /// Returns the policy `name` whose victims have the distribution that `probabilities` writes (see
    /// [`Selection::probabilities`]).
    pub fn new(name: impl Into<String>, probabilities: F) -> Self {
        CustomSelection { name: name.into(), probabilities }
    }
}

impl<F: Fn(&[f64], f64, &mut [f64]) + Sync> Selection for CustomSelection<F> {
    fn describe(&self) -> String {
        self.name.clone()
    }

    fn probabilities(&self, masses: &[f64], mean_valid_pages: f64, victims: &mut [f64]) {
        (self.probabilities)(masses, mean_valid_pages, victims);
    }
}
