//! The register of assumptions: every number that no paper gives, in `assumptions.toml`.

use crate::Failure;
use serde::Deserialize;
use std::collections::BTreeMap;

/// The register as shipped.
const REGISTER: &str = include_str!("../assumptions.toml");

/// A number that no paper gives.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Assumption {
    /// What it is called: paper, a slash, what it is.
    pub name: String,
    /// The number.
    pub value: f64,
    /// What it is, and why it is so.
    pub why: String,
    /// The items that use it, by name.
    pub used_by: Vec<String>,
    /// Whether it is a count, which is rounded when it is halved.
    #[serde(default)]
    pub whole: bool,
    /// The least value that makes sense.
    #[serde(default)]
    pub at_least: Option<f64>,
    /// The largest value that makes sense.
    #[serde(default)]
    pub at_most: Option<f64>,
}

impl Assumption {
    /// The number times `factor`, as near as it can be.
    pub fn times(&self, factor: f64) -> f64 {
        let value = self.value * factor;
        let value = if self.whole { value.round().max(1.0) } else { value };
        let value = self.at_least.map_or(value, |least| value.max(least));
        self.at_most.map_or(value, |most| value.min(most))
    }
}

/// The values in force.
#[derive(Clone, Debug)]
pub struct Assumptions {
    all: Vec<Assumption>,
    instead: BTreeMap<String, f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Register {
    assumption: Vec<Assumption>,
}

impl Assumptions {
    /// Those of the register.
    ///
    /// # Panics
    ///
    /// Never: that it can be read is tested.
    pub fn register() -> Self {
        let register: Register = toml::from_str(REGISTER).expect("the register as shipped is tested");
        Assumptions { all: register.assumption, instead: BTreeMap::new() }
    }

    /// The same with `value` in place of what the register has under `name`.
    ///
    /// # Errors
    ///
    /// A name that is not in the register.
    pub fn with(mut self, name: &str, value: f64) -> Result<Self, Failure> {
        self.value(name)?;
        self.instead.insert(name.to_owned(), value);
        Ok(self)
    }

    /// All of them.
    pub fn all(&self) -> &[Assumption] {
        &self.all
    }

    /// Those whose value is not that of the register.
    pub fn changed(&self) -> &BTreeMap<String, f64> {
        &self.instead
    }

    /// The value in force.
    ///
    /// # Errors
    ///
    /// A name that is not in the register.
    pub fn value(&self, name: &str) -> Result<f64, Failure> {
        let known = self.all.iter().find(|assumption| assumption.name == name);
        let known = known.ok_or_else(|| {
            let names: Vec<&str> = self.all.iter().map(|assumption| assumption.name.as_str()).collect();
            format!("no assumption is called `{name}`; there are {}", names.join(", "))
        })?;
        Ok(self.instead.get(name).copied().unwrap_or(known.value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_register_names_each_assumption_once_and_items_that_there_are() {
        let register = Assumptions::register();
        let mut names: Vec<&str> = register.all.iter().map(|assumption| assumption.name.as_str()).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        let manifests = crate::manifest::all().unwrap();
        for assumption in &register.all {
            assert!(assumption.value.is_finite() && !assumption.used_by.is_empty(), "{}", assumption.name);
            for item in &assumption.used_by {
                assert!(crate::manifest::find(&manifests, item).is_ok(), "{}: {item}", assumption.name);
            }
        }
    }

    #[test]
    fn values_are_changed_by_name_and_stay_sensible() {
        let register = Assumptions::register();
        let first = register.all[0].clone();
        let changed = register.clone().with(&first.name, 77.0).unwrap();
        assert_eq!(changed.value(&first.name).unwrap(), 77.0);
        assert!(register.with("nobody/assumes", 1.0).unwrap_err().to_string().contains(&first.name));
        let count = Assumption { value: 3.0, whole: true, at_most: Some(5.0), ..first };
        assert_eq!([0.1, 0.5, 2.0].map(|factor| count.times(factor)), [1.0, 2.0, 5.0]);
        let bounded = Assumption { at_least: Some(2.5), ..count };
        assert_eq!(bounded.times(0.5), 2.5);
    }
}
