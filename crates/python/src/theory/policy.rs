//! Cleaning policies by name, or written in Python.

use super::stop::stop;
use crate::errors::{self, ConvergenceError, Failure};
use numpy::{AllowTypeChange, PyArray1, PyArrayLike1};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use wearwell_theory::TheoryError;
use wearwell_theory::selection::{
    DChoices, GreedyLimit, Law, Level, Random, RandomNotFull, RandomPlusPlus, Selection,
};

/// Names of the policies of the mean field.
const POLICIES: [&str; 5] = ["d_choices", "random", "random_plus_plus", "random_not_full", "greedy_limit"];

/// Tolerance beyond rounding errors for the values that a user's law returns.
const TOLERANCE: f64 = 1e-6;

/// Number of calls with shares that are not numbers after which the calculation is given up.
const MOST_LOST: usize = 10_000;

/// Cleaning policy.
pub enum Policy {
    DChoices,
    Random,
    RandomPlusPlus,
    RandomNotFull,
    GreedyLimit,
    Own(Own),
}

/// A law written in Python.
pub struct Own {
    name: String,
    law: Py<PyAny>,
    /// Number of calls with shares that are not numbers.
    lost: AtomicUsize,
    pub failure: Failure,
}

impl Policy {
    /// Parses one of [`POLICIES`], or accepts a user's law.
    pub fn new(policy: &Bound<'_, PyAny>) -> PyResult<Self> {
        if policy.is_callable() {
            return Ok(Policy::Own(Own::new(policy)?));
        }
        let Ok(name) = policy.extract::<String>() else {
            let given = policy.get_type().name()?;
            return Err(PyTypeError::new_err(format!("policy: a {given} is neither a name nor a function")));
        };
        Ok(match name.as_str() {
            "d_choices" => Policy::DChoices,
            "random" => Policy::Random,
            "random_plus_plus" => Policy::RandomPlusPlus,
            "random_not_full" => Policy::RandomNotFull,
            "greedy_limit" => Policy::GreedyLimit,
            _ => return Err(errors::no_such("policy", &name, &POLICIES)),
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
            Policy::Own(own) => Box::new(own.selection()),
        };
        Ok(Box::new(Stoppable { policy, stop }))
    }
}

impl Own {
    fn new(law: &Bound<'_, PyAny>) -> PyResult<Self> {
        let name = law.getattr_opt("__name__")?.map_or_else(|| law.repr(), |name| name.str())?;
        Ok(Own {
            name: format!("the law {name}"),
            law: law.clone().unbind(),
            lost: AtomicUsize::new(0),
            failure: Failure::default(),
        })
    }

    fn selection(&self) -> Law<impl Fn(&[f64], f64, &mut [f64]) + Sync + '_> {
        Law::new(self.name.clone(), |masses: &[f64], mean: f64, victims: &mut [f64]| {
            if let Err(error) = Python::attach(|py| self.ask(py, masses, mean, victims)) {
                self.failure.record(error);
                stop();
            }
        })
    }

    fn ask(&self, py: Python<'_>, masses: &[f64], mean: f64, victims: &mut [f64]) -> PyResult<()> {
        py.check_signals()?;
        if masses.iter().any(|mass| mass.is_nan()) {
            return self.get_lost(victims);
        }
        let answer = self.law.bind(py).call1((PyArray1::from_slice(py, masses), mean))?;
        let Ok(array) = answer.extract::<PyArrayLike1<'_, f64, AllowTypeChange>>() else {
            let given = answer.get_type().name()?;
            let problem = format!("policy: {} returned a {given} and no array of numbers", self.name);
            return Err(PyTypeError::new_err(problem));
        };
        let array = array.as_array();
        let wrong = |what: String| Err(errors::wrong("policy", &format!("{} returned {what}", self.name)));
        if array.len() != masses.len() {
            return wrong(format!("{} values for {} numbers of valid pages", array.len(), masses.len()));
        }
        for (to, from) in victims.iter_mut().zip(&array) {
            *to = *from;
        }
        self.check(masses, victims)
    }

    /// Handles shares that are not numbers: the solver left the valid range. A search for a steady
    /// state may recover, a path does not.
    fn get_lost(&self, victims: &mut [f64]) -> PyResult<()> {
        victims.fill(f64::NAN);
        if self.lost.fetch_add(1, Ordering::Relaxed) < MOST_LOST {
            return Ok(());
        }
        let problem = format!("{} leads to shares of blocks that are no numbers", self.name);
        Err(ConvergenceError::new_err(problem))
    }

    fn check(&self, masses: &[f64], victims: &[f64]) -> PyResult<()> {
        let wrong = |what: String| Err(errors::wrong("policy", &format!("{} returned {what}", self.name)));
        if let Some(level) = victims.iter().position(|share| !share.is_finite()) {
            return wrong(format!("{} for {level} valid pages", victims[level]));
        }
        // Steps that the integrator will reject may leave the simplex; the law is not called there.
        let is_law = masses.iter().all(|mass| *mass >= 0.0) && (sum(masses) - 1.0).abs() < 1e-9;
        if !is_law {
            return Ok(());
        }
        if let Some(level) = victims.iter().position(|share| *share < -TOLERANCE) {
            return wrong(format!("{} for {level} valid pages, less than nothing", victims[level]));
        }
        if (sum(victims) - 1.0).abs() > TOLERANCE {
            return wrong(format!("shares that sum to {} instead of 1", sum(victims)));
        }
        Ok(())
    }
}

fn sum(shares: &[f64]) -> f64 {
    shares.iter().sum()
}

/// A policy that checks for a request to end the calculation.
struct Stoppable<'a> {
    policy: Box<dyn Selection + 'a>,
    stop: &'a AtomicBool,
}

impl Stoppable<'_> {
    fn look(&self) {
        if self.stop.load(Ordering::Relaxed) {
            stop();
        }
    }
}

impl Selection for Stoppable<'_> {
    fn describe(&self) -> String {
        self.policy.describe()
    }

    fn probabilities(&self, masses: &[f64], mean_valid_pages: f64, victims: &mut [f64]) {
        self.look();
        self.policy.probabilities(masses, mean_valid_pages, victims);
    }

    fn is_smooth(&self) -> bool {
        self.policy.is_smooth()
    }

    fn is_descending(&self) -> bool {
        self.policy.is_descending()
    }

    fn hazard(&self, level: &Level) -> f64 {
        self.look();
        self.policy.hazard(level)
    }
}
