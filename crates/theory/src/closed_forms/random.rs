//! Random cleaning.

use super::super::{Drive, TheoryError};

/// Write amplification of cleaning a block drawn at random, `1 / S_f`.
///
/// A random block holds as many valid pages as the average block, `b rho`, whatever was written and however pages are
/// placed. Van Houdt, SIGMETRICS 2013 (the random algorithm), and the model of `d` choices at `d = 1`.
///
/// No drive is refused.
pub fn random(drive: &Drive) -> Result<f64, TheoryError> {
    Ok(1.0 / drive.spare_factor())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_inverse_of_the_spare_space() {
        assert_eq!(random(&Drive::new(32, 0.125).unwrap()), Ok(8.0));
        assert_eq!(random(&Drive::new(1, 0.5).unwrap()), Ok(2.0));
    }
}
