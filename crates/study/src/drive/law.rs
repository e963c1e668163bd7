//! Laws: patterns of writing and cleaning whose write amplification theory gives as a function of spare space.

use serde::{Serialize, Serializer};
use wearwell_theory::mean_field::{MeanField, Structure};
use wearwell_theory::selection::DChoices;
use wearwell_theory::{Classes, Drive, TheoryError, closed_forms, solve_spare};

/// Pattern of writes with a victim policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Law {
    /// Uniform writes; the victim is the block with the fewest valid pages.
    Greedy,
    /// Uniform writes; the victim is the best of ten random blocks and is refilled in place.
    DChoices,
    /// Hot and cold writes; the victim is the best of ten; new and moved pages are in separate blocks.
    HotCold,
    /// Any writes, random victims: an upper bound for every reasonable policy.
    Random,
}

/// All laws.
pub const LAWS: [Law; 4] = [Law::Greedy, Law::DChoices, Law::HotCold, Law::Random];

/// Number of blocks that `d_choices` draws, as in the canonical scenario.
const CHOICES: f64 = 10.0;

/// Default fractions of writes to hot pages and of hot pages: the eighty-twenty rule.
const HOT_COLD: (f64, f64) = (0.8, 0.2);

/// Default pages per block of the models, as in the canonical scenario; larger blocks add a few per cent.
const PAGES_PER_BLOCK: u32 = 128;

impl Law {
    /// Returns the name in results.
    pub fn name(self) -> &'static str {
        match self {
            Law::Greedy => "greedy",
            Law::DChoices => "d_choices",
            Law::HotCold => "hot_cold",
            Law::Random => "random",
        }
    }

    /// Returns the victim policy in words.
    pub fn cleaning(self) -> &'static str {
        match self {
            Law::Greedy => "greedy",
            Law::DChoices => "best of 10",
            Law::HotCold => "best of 10, moved pages apart",
            Law::Random => "any block",
        }
    }
}

impl Serialize for Law {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// Laws for one block size and one division into hot and cold pages.
#[derive(Clone, Debug, PartialEq)]
pub struct Laws {
    pages_per_block: u32,
    hot_cold: (f64, f64),
}

impl Laws {
    /// Returns the laws; unset parameters take their defaults.
    ///
    /// # Errors
    /// Returns an error for numbers that the theory refuses.
    pub fn new(pages_per_block: Option<u32>, hot_cold: Option<(f64, f64)>) -> Result<Self, TheoryError> {
        let laws = Laws {
            pages_per_block: pages_per_block.unwrap_or(PAGES_PER_BLOCK),
            hot_cold: hot_cold.unwrap_or(HOT_COLD),
        };
        Drive::new(laws.pages_per_block, 0.5)?;
        Classes::hot_cold(laws.hot_cold.0, laws.hot_cold.1)?;
        Ok(laws)
    }

    /// Returns the pages per block of the models.
    pub fn pages_per_block(&self) -> u32 {
        self.pages_per_block
    }

    /// Describes the writes that a law assumes.
    pub fn writes(&self, law: Law) -> String {
        let percent = |share: f64| {
            format!("{:.4}", 100.0 * share).trim_end_matches('0').trim_end_matches('.').to_owned()
        };
        match law {
            Law::Greedy | Law::DChoices => "uniform".into(),
            Law::HotCold => {
                format!("{} % to {} % of the pages", percent(self.hot_cold.0), percent(self.hot_cold.1))
            }
            Law::Random => "any".into(),
        }
    }

    /// Computes the write amplification of `drive`.
    fn of_drive(&self, law: Law, drive: &Drive) -> Result<f64, TheoryError> {
        let mean_field = |classes: Classes, structure: Structure| {
            let state =
                MeanField::new(*drive, classes, structure, &DChoices::new(CHOICES)?)?.steady_state()?;
            Ok(state.write_amplification)
        };
        match law {
            Law::Greedy => closed_forms::greedy(drive),
            Law::DChoices => mean_field(Classes::uniform(), Structure::Single),
            Law::HotCold => {
                mean_field(Classes::hot_cold(self.hot_cold.0, self.hot_cold.1)?, Structure::Double)
            }
            Law::Random => closed_forms::random(drive),
        }
    }

    /// Computes the write amplification at `spare_factor`.
    ///
    /// # Errors
    /// Returns an error if the theory has no solution.
    pub fn write_amplification(&self, law: Law, spare_factor: f64) -> Result<f64, TheoryError> {
        self.of_drive(law, &Drive::new(self.pages_per_block, spare_factor)?)
    }

    /// Finds the spare factor with write amplification `target`, above 1.
    ///
    /// # Errors
    /// Returns an error if no spare factor gives it, or if the theory has no solution.
    pub fn spare_factor(&self, law: Law, target: f64) -> Result<f64, TheoryError> {
        let drive = solve_spare(target, self.pages_per_block, |drive| self.of_drive(law, &drive))?;
        Ok(drive.spare_factor())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spare_factor_inverts_every_law() {
        let laws = Laws::new(Some(16), None).unwrap();
        for law in LAWS {
            for spare_factor in [0.07, 0.3] {
                let amplification = laws.write_amplification(law, spare_factor).unwrap();
                let found = laws.spare_factor(law, amplification).unwrap();
                assert!((found / spare_factor - 1.0).abs() < 1e-9, "{law:?} {spare_factor}: {found}");
            }
        }
        let at = |law| laws.write_amplification(law, 0.1).unwrap();
        assert!(at(Law::Greedy) < at(Law::DChoices) && at(Law::DChoices) < at(Law::Random));
        assert!((at(Law::Random) - 10.0).abs() < 1e-12);
        assert_eq!(laws.writes(Law::HotCold), "80 % to 20 % of the pages");
        assert!(Laws::new(Some(0), None).is_err() && Laws::new(None, Some((1.5, 0.2))).is_err());
    }
}
