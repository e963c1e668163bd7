//! Periods of host writes, after which a placement decays its counts.

use crate::config::ConfigError;

/// Counter of host writes that signals the end of each period.
#[derive(Clone, Copy, Debug)]
pub(super) struct Period {
    pages: u64,
    left: u64,
}

impl Period {
    /// Creates a period of `drive_writes` times the logical pages, from the setting `key`; at least one page.
    pub(super) fn of_drive_writes(
        drive_writes: f64,
        logical_pages: u32,
        key: &str,
    ) -> Result<Self, ConfigError> {
        if !(drive_writes.is_finite() && drive_writes > 0.0) {
            let problem = format!("is {drive_writes}; it must be a finite number above 0, in drive writes");
            return Err(ConfigError::new(key, problem));
        }
        let pages = ((drive_writes * f64::from(logical_pages)).round() as u64).max(1);
        Ok(Period { pages, left: pages })
    }

    /// Counts a host write; returns true for the first write after a complete period.
    #[inline]
    pub(super) fn tick(&mut self) -> bool {
        let is_over = self.left == 0;
        if is_over {
            self.left = self.pages;
        }
        self.left -= 1;
        is_over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn period_ends_after_its_number_of_writes() {
        let mut period = Period::of_drive_writes(0.5, 6, "decay").unwrap();
        let over: Vec<bool> = (0..8).map(|_| period.tick()).collect();
        assert_eq!(over, [false, false, false, true, false, false, true, false]);
        assert!(Period::of_drive_writes(1e-9, 6, "decay").is_ok());
        for refused in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(Period::of_drive_writes(refused, 6, "decay").unwrap_err().key, "decay");
        }
    }
}
