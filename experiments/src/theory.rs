//! Mean-field solutions for many models, on all cores.

use crate::Failure;
use rayon::prelude::*;
use wearwell_theory::mean_field::{
    InitialState, MeanField, PathPoint, SteadyState, Structure, optimal_choices,
};
use wearwell_theory::selection::{DChoices, GreedyLimit, Selection};
use wearwell_theory::{Classes, Drive, OptimalChoices};

/// Shares of the writes and of the space that are hot, `(r, f)`.
pub type Load = (f64, f64);

/// Policy that selects victims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// The best of `d` blocks that are drawn at random.
    Choices(u32),
    /// The limit for unbounded `d`.
    Limit,
}

impl Policy {
    /// Formats the number of choices `d` for tables.
    pub fn choices(self) -> String {
        match self {
            Policy::Choices(choices) => choices.to_string(),
            Policy::Limit => "limit".to_owned(),
        }
    }

    fn selection(self) -> Result<Box<dyn Selection>, Failure> {
        Ok(match self {
            Policy::Choices(choices) => Box::new(DChoices::new(f64::from(choices))?),
            Policy::Limit => Box::new(GreedyLimit),
        })
    }
}

/// A drive under Rosenblum's load, as a mean-field model.
#[derive(Clone, Copy, Debug)]
pub struct Model {
    /// Number of write frontiers.
    pub structure: Structure,
    /// Pages per block, `b`.
    pub pages_per_block: u32,
    /// Spare factor, `S_f`.
    pub spare_factor: f64,
    /// Cleaning policy.
    pub policy: Policy,
    /// Share of the writes that go to hot pages, and share of the space that is hot: `(r, f)`.
    pub load: Load,
}

impl Model {
    /// Returns the steady state, which is the fixed point of the mean field.
    pub fn steady_state(&self) -> Result<SteadyState, Failure> {
        let drive = Drive::new(self.pages_per_block, self.spare_factor)?;
        let selection = self.policy.selection()?;
        Ok(MeanField::new(drive, self.classes()?, self.structure, selection.as_ref())?.steady_state()?)
    }

    /// Returns the path from `from` over `drive_writes`, at `points` equally spaced points.
    pub fn path(
        &self,
        from: InitialState,
        drive_writes: f64,
        points: usize,
    ) -> Result<Vec<PathPoint>, Failure> {
        let drive = Drive::new(self.pages_per_block, self.spare_factor)?;
        let selection = self.policy.selection()?;
        let model = MeanField::new(drive, self.classes()?, self.structure, selection.as_ref())?;
        Ok(model.transient(from, drive_writes, points)?)
    }

    /// Returns the write amplification with every `d` from 1 to `max_choices`, and the best `d`.
    pub fn scan(&self, max_choices: u32) -> Result<OptimalChoices, Failure> {
        let drive = Drive::new(self.pages_per_block, self.spare_factor)?;
        Ok(optimal_choices(drive, &self.classes()?, self.structure, max_choices)?)
    }

    /// Returns the classes of the load, or a single class if its writes are uniform.
    pub fn classes(&self) -> Result<Classes, Failure> {
        let (r, f) = self.load;
        Ok(if r == f { Classes::uniform() } else { Classes::hot_cold(r, f)? })
    }
}

/// Returns the result of `solve` for each model, in order.
pub fn solve_all<T: Send>(
    models: &[Model],
    solve: impl Fn(&Model) -> Result<T, Failure> + Send + Sync,
) -> Result<Vec<T>, Failure> {
    models.par_iter().with_max_len(1).map(solve).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scan_equals_single_solutions() {
        let model = Model {
            structure: Structure::Double,
            pages_per_block: 8,
            spare_factor: 0.1,
            policy: Policy::Choices(3),
            load: (0.8, 0.2),
        };
        let scan = model.scan(4).unwrap().scan;
        let single = solve_all(&[model], Model::steady_state).unwrap();
        assert!((scan[2].write_amplification - single[0].write_amplification).abs() < 1e-9);
        assert_eq!(Model { load: (0.2, 0.2), ..model }.classes().unwrap().count(), 1);
    }
}
