//! Custom policies: any smooth law `p_j(m)` given as a function.

use super::Selection;

/// Policy of class C given by a function of masses and mean valid pages that writes the probabilities.
pub struct Law<F> {
    name: String,
    law: F,
}

impl<F: Fn(&[f64], f64, &mut [f64]) + Sync> Law<F> {
    /// Returns the policy `name` whose victims have the distribution that `law` writes (see
    /// [`Selection::probabilities`]).
    pub fn new(name: impl Into<String>, law: F) -> Self {
        Law { name: name.into(), law }
    }
}

impl<F: Fn(&[f64], f64, &mut [f64]) + Sync> Selection for Law<F> {
    fn describe(&self) -> String {
        self.name.clone()
    }

    fn probabilities(&self, masses: &[f64], mean_valid_pages: f64, victims: &mut [f64]) {
        (self.law)(masses, mean_valid_pages, victims);
    }
}
