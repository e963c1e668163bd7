//! Models: patterns of writing and cleaning whose write amplification theory gives as a function of spare space.

use serde::{Serialize, Serializer};
use wearwell_theory::mean_field::{MeanField, Structure};
use wearwell_theory::selection::DChoices;
use wearwell_theory::{Classes, Drive, TheoryError, closed_forms, solve_spare};

/// A pattern of writes and a victim policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DriveModel {
    /// Uniform writes; the victim is the block with the fewest valid pages.
    Greedy,
    /// Uniform writes; the victim is the best of ten random blocks and is refilled in place.
    DChoices,
    /// Hot and cold writes; the victim is the best of ten; new and moved pages are in separate blocks.
    HotCold,
    /// Any pattern of writes with random victims: an upper bound for every reasonable policy.
    Random,
}

/// All models.
pub const DRIVE_MODELS: [DriveModel; 4] =
    [DriveModel::Greedy, DriveModel::DChoices, DriveModel::HotCold, DriveModel::Random];

/// Number of blocks that `d_choices` draws, as in the canonical scenario.
const CHOICES: f64 = 10.0;

/// Default fractions of writes to hot pages and of hot pages: the eighty-twenty rule.
const HOT_COLD: (f64, f64) = (0.8, 0.2);

/// Default pages per block of the models, as in the canonical scenario; larger blocks add a few per cent.
const PAGES_PER_BLOCK: u32 = 128;

impl DriveModel {
    /// Returns the name in results.
    pub fn name(self) -> &'static str {
        match self {
            DriveModel::Greedy => "greedy",
            DriveModel::DChoices => "d_choices",
            DriveModel::HotCold => "hot_cold",
            DriveModel::Random => "random",
        }
    }

    /// Returns the victim policy in words.
    pub fn cleaning(self) -> &'static str {
        match self {
            DriveModel::Greedy => "greedy",
            DriveModel::DChoices => "best of 10",
            DriveModel::HotCold => "best of 10, moved pages apart",
            DriveModel::Random => "any block",
        }
    }
}

impl Serialize for DriveModel {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// Models for one block size and one division into hot and cold pages.
#[derive(Clone, Debug, PartialEq)]
pub struct DriveModels {
    pages_per_block: u32,
    hot_cold: (f64, f64),
}

impl DriveModels {
    /// Returns the models; unset parameters take their defaults.
    ///
    /// # Errors
    /// Returns an error for numbers that the theory refuses.
    pub fn new(pages_per_block: Option<u32>, hot_cold: Option<(f64, f64)>) -> Result<Self, TheoryError> {
        let models = DriveModels {
            pages_per_block: pages_per_block.unwrap_or(PAGES_PER_BLOCK),
            hot_cold: hot_cold.unwrap_or(HOT_COLD),
        };
        Drive::new(models.pages_per_block, 0.5)?;
        Classes::hot_cold(models.hot_cold.0, models.hot_cold.1)?;
        Ok(models)
    }

    /// Returns the pages per block of the models.
    pub fn pages_per_block(&self) -> u32 {
        self.pages_per_block
    }

    /// Describes the writes that a model assumes.
    pub fn writes(&self, model: DriveModel) -> String {
        let percent = |share: f64| {
            format!("{:.4}", 100.0 * share).trim_end_matches('0').trim_end_matches('.').to_owned()
        };
        match model {
            DriveModel::Greedy | DriveModel::DChoices => "uniform".into(),
            DriveModel::HotCold => {
                format!("{} % to {} % of the pages", percent(self.hot_cold.0), percent(self.hot_cold.1))
            }
            DriveModel::Random => "any".into(),
        }
    }

    /// Computes the write amplification of `drive`.
    fn amplification_of_drive(&self, model: DriveModel, drive: &Drive) -> Result<f64, TheoryError> {
        let mean_field = |classes: Classes, structure: Structure| {
            let state =
                MeanField::new(*drive, classes, structure, &DChoices::new(CHOICES)?)?.steady_state()?;
            Ok(state.write_amplification)
        };
        match model {
            DriveModel::Greedy => closed_forms::greedy(drive),
            DriveModel::DChoices => mean_field(Classes::uniform(), Structure::Single),
            DriveModel::HotCold => {
                mean_field(Classes::hot_cold(self.hot_cold.0, self.hot_cold.1)?, Structure::Double)
            }
            DriveModel::Random => closed_forms::random(drive),
        }
    }

    /// Computes the write amplification at `spare_factor`.
    ///
    /// # Errors
    /// Returns an error if the theory has no solution.
    pub fn write_amplification(&self, model: DriveModel, spare_factor: f64) -> Result<f64, TheoryError> {
        self.amplification_of_drive(model, &Drive::new(self.pages_per_block, spare_factor)?)
    }

    /// Finds the spare factor with write amplification `target`, above 1.
    ///
    /// # Errors
    /// Returns an error if no spare factor gives it, or if the theory has no solution.
    pub fn spare_factor(&self, model: DriveModel, target: f64) -> Result<f64, TheoryError> {
        let drive =
            solve_spare(target, self.pages_per_block, |drive| self.amplification_of_drive(model, &drive))?;
        Ok(drive.spare_factor())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spare_factor_inverts_every_model() {
        let models = DriveModels::new(Some(16), None).unwrap();
        for model in DRIVE_MODELS {
            for spare_factor in [0.07, 0.3] {
                let amplification = models.write_amplification(model, spare_factor).unwrap();
                let found = models.spare_factor(model, amplification).unwrap();
                assert!((found / spare_factor - 1.0).abs() < 1e-9, "{model:?} {spare_factor}: {found}");
            }
        }
        let nominal = |model| models.write_amplification(model, 0.1).unwrap();
        assert!(
            nominal(DriveModel::Greedy) < nominal(DriveModel::DChoices)
                && nominal(DriveModel::DChoices) < nominal(DriveModel::Random)
        );
        assert!((nominal(DriveModel::Random) - 10.0).abs() < 1e-12);
        assert_eq!(models.writes(DriveModel::HotCold), "80 % to 20 % of the pages");
        assert!(
            DriveModels::new(Some(0), None).is_err() && DriveModels::new(None, Some((1.5, 0.2))).is_err()
        );
    }
}
