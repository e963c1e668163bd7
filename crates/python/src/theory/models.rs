//! Parameters of the models: model, drives and writes.

use super::policy::Policy;
use crate::errors;
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use std::sync::atomic::AtomicBool;
use wearwell_theory::closed_forms::{self, ClassCleaning};
use wearwell_theory::mean_field::{MeanField, Structure};
use wearwell_theory::{Class, Classes, Drive, MAX_PAGES_PER_BLOCK, TheoryError};

const MODELS: [&str; 7] = ["single", "double", "fifo", "greedy", "windowed", "random", "separated"];

/// Number of closed-form solutions that are calculated without a check for Ctrl-C; the slowest solution takes some
/// milliseconds.
const MAX_UNCHECKED_SOLUTIONS: usize = 16;

/// Model of write amplification.
#[derive(Clone, Copy)]
pub enum Model {
    MeanField(Structure),
    Fifo,
    Greedy,
    Windowed,
    Random,
    Separated(PoolCleaning),
}

/// Policy for cleaning pools of one class each.
#[derive(Clone, Copy)]
pub enum PoolCleaning {
    Fifo,
    Greedy,
    Random,
}

/// Columns of parameters with equal lengths.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct ParameterColumns<'py> {
    pages_per_block: PyReadonlyArray1<'py, f64>,
    spare_factor: PyReadonlyArray1<'py, f64>,
    choices: PyReadonlyArray1<'py, f64>,
    hot_writes: PyReadonlyArray1<'py, f64>,
    hot_space: PyReadonlyArray1<'py, f64>,
    window_share: PyReadonlyArray1<'py, f64>,
    target_wa: PyReadonlyArray1<'py, f64>,
}

/// A row of the columns after checks.
pub struct ModelQuery {
    pub drive: Drive,
    pub classes: Classes,
    pub choices: f64,
    pub window_share: f64,
    pub target_wa: f64,
}

/// A single drive with any number of classes.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct SingleQuery {
    pages_per_block: f64,
    spare_factor: f64,
    choices: f64,
    hot_writes: f64,
    hot_space: f64,
    classes: Option<Vec<(f64, f64)>>,
}

pub fn parse_structure(name: &str) -> PyResult<Structure> {
    match name {
        "single" => Ok(Structure::Single),
        "double" => Ok(Structure::Double),
        _ => Err(errors::unknown_name("structure", name, &["single", "double"])),
    }
}

impl Model {
    /// Returns the model, and the policy of the mean field; for `separated`, the policy is the model of its pools.
    pub fn new(model: &str, policy: &Bound<'_, PyAny>) -> PyResult<(Self, Policy)> {
        let model = match model {
            "single" => Model::MeanField(Structure::Single),
            "double" => Model::MeanField(Structure::Double),
            "fifo" => Model::Fifo,
            "greedy" => Model::Greedy,
            "windowed" => Model::Windowed,
            "random" => Model::Random,
            "separated" => Model::Separated(parse_pool_cleaning(policy)?),
            _ => return Err(errors::unknown_name("model", model, &MODELS)),
        };
        let policy = match model {
            Model::MeanField(_) => Policy::new(policy)?,
            _ => Policy::DChoices,
        };
        Ok((model, policy))
    }

    /// True if `count` solutions take less time than the interval between checks for Ctrl-C.
    pub fn is_short(self, count: usize) -> bool {
        !matches!(self, Model::MeanField(_)) && count <= MAX_UNCHECKED_SOLUTIONS
    }

    /// Returns the write amplification of `drive` under the settings of `question`.
    pub fn solve(
        self,
        drive: &Drive,
        question: &ModelQuery,
        policy: &Policy,
        stop: &AtomicBool,
    ) -> Result<f64, TheoryError> {
        match self {
            Model::MeanField(structure) => {
                let selection = policy.selection(question.choices, stop)?;
                let model = MeanField::new(*drive, question.classes.clone(), structure, &*selection)?;
                Ok(model.steady_state()?.write_amplification)
            }
            Model::Fifo => closed_forms::fifo(drive, &question.classes),
            Model::Greedy => closed_forms::greedy(drive),
            Model::Windowed => closed_forms::windowed(drive, question.window_share),
            Model::Random => closed_forms::random(drive),
            Model::Separated(pools) => {
                let cleaning = match pools {
                    PoolCleaning::Fifo => ClassCleaning::Fifo,
                    PoolCleaning::Greedy => ClassCleaning::Greedy,
                    PoolCleaning::Random => ClassCleaning::Random,
                };
                Ok(closed_forms::separated(drive, &question.classes, cleaning)?.write_amplification)
            }
        }
    }
}

fn parse_pool_cleaning(policy: &Bound<'_, PyAny>) -> PyResult<PoolCleaning> {
    match policy.extract::<String>()?.as_str() {
        "fifo" => Ok(PoolCleaning::Fifo),
        "greedy" => Ok(PoolCleaning::Greedy),
        "random" => Ok(PoolCleaning::Random),
        name => Err(errors::unknown_name("law", name, &["fifo", "greedy", "random"])),
    }
}

/// Returns a drive after checks; the number of pages is given as a floating-point number, which must be whole.
fn checked_drive(pages_per_block: f64, spare_factor: f64) -> Result<Drive, TheoryError> {
    let pages = pages_per_block as u32;
    if f64::from(pages) != pages_per_block {
        let problem = format!("{pages_per_block} is no whole number from 1 to {MAX_PAGES_PER_BLOCK}");
        return Err(TheoryError::Parameter { parameter: "pages_per_block", problem });
    }
    Drive::new(pages, spare_factor)
}

impl ParameterColumns<'_> {
    /// Returns all rows after checks, or the index of the first invalid row with its error.
    pub fn queries(&self, policy: &Policy) -> PyResult<Result<Vec<ModelQuery>, (usize, TheoryError)>> {
        let [pages, spare, choices] =
            [self.pages_per_block.as_slice()?, self.spare_factor.as_slice()?, self.choices.as_slice()?];
        let [writes, space] = [self.hot_writes.as_slice()?, self.hot_space.as_slice()?];
        let [window_share, target_wa] = [self.window_share.as_slice()?, self.target_wa.as_slice()?];
        let unused = AtomicBool::new(false);
        let question = |row: usize| {
            policy.selection(choices[row], &unused)?;
            Ok(ModelQuery {
                drive: checked_drive(pages[row], spare[row])?,
                classes: Classes::hot_cold(writes[row], space[row])?,
                choices: choices[row],
                window_share: window_share[row],
                target_wa: target_wa[row],
            })
        };
        Ok((0..pages.len()).map(|row| question(row).map_err(|error| (row, error))).collect())
    }
}

impl SingleQuery {
    /// Returns the parameters after checks.
    pub fn query(&self) -> PyResult<ModelQuery> {
        let refuse = |error| errors::from_theory(&error, None);
        Ok(ModelQuery {
            drive: checked_drive(self.pages_per_block, self.spare_factor).map_err(refuse)?,
            classes: match &self.classes {
                Some(pairs) => checked_classes(pairs)?,
                None => Classes::hot_cold(self.hot_writes, self.hot_space).map_err(refuse)?,
            },
            choices: self.choices,
            window_share: 1.0,
            target_wa: 1.0,
        })
    }
}

/// Returns classes made from pairs; an error names the first class with an invalid share.
fn checked_classes(pairs: &[(f64, f64)]) -> PyResult<Classes> {
    let all: Vec<Class> =
        pairs.iter().map(|&(write_share, space_share)| Class { write_share, space_share }).collect();
    Classes::new(&all).map_err(|error| {
        let is_share = |share: f64| share > 0.0 && share <= 1.0;
        let bad = all.iter().position(|class| !(is_share(class.write_share) && is_share(class.space_share)));
        errors::from_theory(&error, bad)
    })
}
