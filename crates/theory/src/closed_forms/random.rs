//! Random cleaning: the victim is a random block.

use super::super::{Drive, TheoryError};

/// Computes the write amplification of cleaning a random block, `1 / S_f`.
///
/// A random block holds as many valid pages as the average block, `b rho`, independent of the workload and of page
/// placement. Van Houdt, SIGMETRICS 2013 (the random algorithm); the model of `d` choices at `d = 1`.
///
/// Accepts every drive.
pub fn random(drive: &Drive) -> Result<f64, TheoryError> {
    Ok(1.0 / drive.spare_factor())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_cleaning_is_the_inverse_of_the_spare_factor() {
        assert_eq!(random(&Drive::new(32, 0.125).unwrap()), Ok(8.0));
        assert_eq!(random(&Drive::new(1, 0.5).unwrap()), Ok(2.0));
    }
}
