//! Register of assumptions: all numbers that the experiments need and no paper gives, from `assumptions.toml`.

use crate::Failure;
use serde::Deserialize;
use std::collections::BTreeMap;

/// The register that is shipped with the program.
const REGISTER: &str = include_str!("../assumptions.toml");

/// Assumed number that no paper gives.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Assumption {
    /// Name: the paper, a slash, and a short term.
    pub name: String,
    /// Value.
    pub value: f64,
    /// Meaning of the number, and the reason for its value.
    pub why: String,
    /// Names of the items that use the number.
    pub used_by: Vec<String>,
    /// True if the number is a count, which is rounded when it is scaled.
    #[serde(default)]
    pub whole: bool,
    /// Minimum value that is meaningful.
    #[serde(default)]
    pub at_least: Option<f64>,
    /// Maximum value that is meaningful.
    #[serde(default)]
    pub at_most: Option<f64>,
}

impl Assumption {
    /// Returns the value times `factor`, rounded and limited to the allowed range.
    pub fn scaled(&self, factor: f64) -> f64 {
        let value = self.value * factor;
        let value = if self.whole { value.round().max(1.0) } else { value };
        let value = self.at_least.map_or(value, |least| value.max(least));
        self.at_most.map_or(value, |most| value.min(most))
    }
}

/// Assumed values of a session.
#[derive(Clone, Debug)]
pub struct Assumptions {
    all: Vec<Assumption>,
    overrides: BTreeMap<String, f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Register {
    assumption: Vec<Assumption>,
}

impl Assumptions {
    /// Returns the values of the register.
    ///
    /// # Panics
    ///
    /// This never happens, because a test checks that the register can be read.
    pub fn register() -> Self {
        let register: Register = toml::from_str(REGISTER).expect("the register as shipped is tested");
        Assumptions { all: register.assumption, overrides: BTreeMap::new() }
    }

    /// Replaces the value of `name`.
    ///
    /// # Errors
    ///
    /// Returns an error if the register does not have `name`.
    pub fn with(mut self, name: &str, value: f64) -> Result<Self, Failure> {
        self.value(name)?;
        self.overrides.insert(name.to_owned(), value);
        Ok(self)
    }

    /// Returns all assumptions.
    pub fn all(&self) -> &[Assumption] {
        &self.all
    }

    /// Returns the values that differ from the register.
    pub fn overrides(&self) -> &BTreeMap<String, f64> {
        &self.overrides
    }

    /// Returns the current value of `name`.
    ///
    /// # Errors
    ///
    /// Returns an error if the register does not have `name`.
    pub fn value(&self, name: &str) -> Result<f64, Failure> {
        let assumption = self.all.iter().find(|assumption| assumption.name == name);
        let assumption = assumption.ok_or_else(|| {
            let names: Vec<&str> = self.all.iter().map(|assumption| assumption.name.as_str()).collect();
            format!("no assumption is called `{name}`; there are {}", names.join(", "))
        })?;
        Ok(self.overrides.get(name).copied().unwrap_or(assumption.value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn register_names_each_assumption_once_and_existing_items() {
        let register = Assumptions::register();
        let mut names: Vec<&str> = register.all.iter().map(|assumption| assumption.name.as_str()).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        let manifests = crate::manifest::read_all().unwrap();
        for assumption in &register.all {
            assert!(assumption.value.is_finite() && !assumption.used_by.is_empty(), "{}", assumption.name);
            for item in &assumption.used_by {
                assert!(crate::manifest::find(&manifests, item).is_ok(), "{}: {item}", assumption.name);
            }
        }
    }

    #[test]
    fn override_by_name_and_scaling_within_bounds() {
        let register = Assumptions::register();
        let first = register.all[0].clone();
        let changed = register.clone().with(&first.name, 77.0).unwrap();
        assert_eq!(changed.value(&first.name).unwrap(), 77.0);
        assert!(register.with("nobody/assumes", 1.0).unwrap_err().to_string().contains(&first.name));
        let whole = Assumption { value: 3.0, whole: true, at_most: Some(5.0), ..first };
        assert_eq!([0.1, 0.5, 2.0].map(|factor| whole.scaled(factor)), [1.0, 2.0, 5.0]);
        let bounded = Assumption { at_least: Some(2.5), ..whole };
        assert_eq!(bounded.scaled(0.5), 2.5);
    }
}
