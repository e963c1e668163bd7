//! Cleaning policies by name, or written in Python.

use super::stop::stop;
use crate::errors::{self, ConvergenceError, FirstException};
use numpy::{AllowTypeChange, PyArray1, PyArrayLike1};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use wearwell_theory::TheoryError;
use wearwell_theory::selection::{
    CustomSelection, DChoices, GreedyLimit, LevelContext, Random, RandomNotFull, RandomPlusPlus, Selection,
};

/// Names of the policies of the mean field.
const POLICIES: [&str; 5] = ["d_choices", "random", "random_plus_plus", "random_not_full", "greedy_limit"];

/// Tolerance, beyond rounding errors, for the values that a user-defined selection law returns.
const TOLERANCE: f64 = 1e-6;

/// Number of calls with shares that are NaN after which the calculation ends with an error.
const MAX_INVALID_CALLS: usize = 10_000;

/// Cleaning policy.
pub enum Policy {
    DChoices,
    Random,
    RandomPlusPlus,
    RandomNotFull,
    GreedyLimit,
    Custom(PythonSelection),
}

/// A selection law written in Python.
pub struct PythonSelection {
    name: String,
    function: Py<PyAny>,
    /// Number of calls with shares that are NaN.
    invalid_calls: AtomicUsize,
    pub failure: FirstException,
}

impl Policy {
    /// Parses one of [`POLICIES`], or accepts a user-defined law.
    pub fn new(policy: &Bound<'_, PyAny>) -> PyResult<Self> {
        if policy.is_callable() {
            return Ok(Policy::Custom(PythonSelection::new(policy)?));
        }
        let Ok(name) = policy.extract::<String>() else {
            let type_name = policy.get_type().name()?;
            return Err(PyTypeError::new_err(format!(
                "policy: a {type_name} is neither a name nor a function"
            )));
        };
        Ok(match name.as_str() {
            "d_choices" => Policy::DChoices,
            "random" => Policy::Random,
            "random_plus_plus" => Policy::RandomPlusPlus,
            "random_not_full" => Policy::RandomNotFull,
            "greedy_limit" => Policy::GreedyLimit,
            _ => return Err(errors::unknown_name("policy", &name, &POLICIES)),
        })
    }

    /// Returns the policy for one calculation, which ends when `stop` is set.
    pub fn selection<'a>(
        &'a self,
        choices: f64,
        stop: &'a AtomicBool,
    ) -> Result<Box<dyn Selection + 'a>, TheoryError> {
        let policy: Box<dyn Selection + 'a> = match self {
            Policy::DChoices => Box::new(DChoices::new(choices)?),
            Policy::Random => Box::new(Random),
            Policy::RandomPlusPlus => Box::new(RandomPlusPlus),
            Policy::RandomNotFull => Box::new(RandomNotFull),
            Policy::GreedyLimit => Box::new(GreedyLimit),
            Policy::Custom(own) => Box::new(own.selection()),
        };
        Ok(Box::new(StoppableSelection { policy, stop }))
    }
}

impl PythonSelection {
    fn new(function: &Bound<'_, PyAny>) -> PyResult<Self> {
        let name = function.getattr_opt("__name__")?.map_or_else(|| function.repr(), |name| name.str())?;
        Ok(PythonSelection {
            name: format!("the law {name}"),
            function: function.clone().unbind(),
            invalid_calls: AtomicUsize::new(0),
            failure: FirstException::default(),
        })
    }

    fn selection(&self) -> CustomSelection<impl Fn(&[f64], f64, &mut [f64]) + Sync + '_> {
        CustomSelection::new(self.name.clone(), |masses: &[f64], mean: f64, victims: &mut [f64]| {
            if let Err(error) = Python::attach(|py| self.call(py, masses, mean, victims)) {
                self.failure.record(error);
                stop();
            }
        })
    }

    fn call(&self, py: Python<'_>, masses: &[f64], mean: f64, victims: &mut [f64]) -> PyResult<()> {
        py.check_signals()?;
        if masses.iter().any(|mass| mass.is_nan()) {
            return self.reject_nan(victims);
        }
        let answer = self.function.bind(py).call1((PyArray1::from_slice(py, masses), mean))?;
        let Ok(array) = answer.extract::<PyArrayLike1<'_, f64, AllowTypeChange>>() else {
            let type_name = answer.get_type().name()?;
            let problem = format!("policy: {} returned a {type_name} and no array of numbers", self.name);
            return Err(PyTypeError::new_err(problem));
        };
        let array = array.as_array();
        let invalid = |what: String| {
            Err(errors::invalid_parameter("policy", &format!("{} returned {what}", self.name)))
        };
        if array.len() != masses.len() {
            return invalid(format!("{} values for {} numbers of valid pages", array.len(), masses.len()));
        }
        for (to, from) in victims.iter_mut().zip(&array) {
            *to = *from;
        }
        self.check(masses, victims)
    }

    /// Handles shares that are NaN, which occur when the solver has left the valid range. A search for a steady state
    /// may recover; a path does not.
    fn reject_nan(&self, victims: &mut [f64]) -> PyResult<()> {
        victims.fill(f64::NAN);
        if self.invalid_calls.fetch_add(1, Ordering::Relaxed) < MAX_INVALID_CALLS {
            return Ok(());
        }
        let problem = format!("{} leads to shares of blocks that are no numbers", self.name);
        Err(ConvergenceError::new_err(problem))
    }

    fn check(&self, masses: &[f64], victims: &[f64]) -> PyResult<()> {
        let invalid = |what: String| {
            Err(errors::invalid_parameter("policy", &format!("{} returned {what}", self.name)))
        };
        if let Some(level) = victims.iter().position(|share| !share.is_finite()) {
            return invalid(format!("{} for {level} valid pages", victims[level]));
        }
        // In steps that the integrator will reject, the shares may leave the simplex; the law is not called then.
        let is_law = masses.iter().all(|mass| *mass >= 0.0) && (sum(masses) - 1.0).abs() < 1e-9;
        if !is_law {
            return Ok(());
        }
        if let Some(level) = victims.iter().position(|share| *share < -TOLERANCE) {
            return invalid(format!("{} for {level} valid pages, less than nothing", victims[level]));
        }
        if (sum(victims) - 1.0).abs() > TOLERANCE {
            return invalid(format!("shares that sum to {} instead of 1", sum(victims)));
        }
        Ok(())
    }
}

fn sum(shares: &[f64]) -> f64 {
    shares.iter().sum()
}

/// A policy that checks if the calculation was asked to end.
struct StoppableSelection<'a> {
    policy: Box<dyn Selection + 'a>,
    stop: &'a AtomicBool,
}

impl StoppableSelection<'_> {
    fn check_stop(&self) {
        if self.stop.load(Ordering::Relaxed) {
            stop();
        }
    }
}

impl Selection for StoppableSelection<'_> {
    fn describe(&self) -> String {
        self.policy.describe()
    }

    fn probabilities(&self, masses: &[f64], mean_valid_pages: f64, victims: &mut [f64]) {
        self.check_stop();
        self.policy.probabilities(masses, mean_valid_pages, victims);
    }

    fn is_smooth(&self) -> bool {
        self.policy.is_smooth()
    }

    fn is_descending(&self) -> bool {
        self.policy.is_descending()
    }

    fn hazard(&self, level: &LevelContext) -> f64 {
        self.check_stop();
        self.policy.hazard(level)
    }
}
