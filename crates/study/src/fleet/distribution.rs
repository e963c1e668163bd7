//! Distributions of numbers that vary from drive to drive.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use statrs::distribution::{ContinuousCDF, Normal};
use std::borrow::Cow;

/// Number, or distribution from which it is drawn.
#[derive(Clone, Debug, PartialEq)]
pub enum Distribution {
    /// Constant: equal for all.
    Constant(f64),
    /// Drawn at random.
    Drawn(Law),
}

/// Distribution, as in a file: `{ law = "lognormal", median = 0.3, sigma = 0.8 }`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "law", rename_all = "snake_case", deny_unknown_fields)]
pub enum Law {
    /// Uniform distribution between two bounds.
    Uniform {
        /// Lower bound.
        low: f64,
        /// Upper bound.
        high: f64,
    },
    /// Normal distribution, truncated to the bounds if given.
    Normal {
        /// Mean before truncation.
        mean: f64,
        /// Standard deviation before truncation.
        deviation: f64,
        /// Lower bound.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        low: Option<f64>,
        /// Upper bound.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        high: Option<f64>,
    },
    /// Lognormal distribution, truncated to the bounds if given.
    Lognormal {
        /// Median before truncation.
        median: f64,
        /// Standard deviation of the natural logarithm before truncation.
        sigma: f64,
        /// Lower bound.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        low: Option<f64>,
        /// Upper bound.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        high: Option<f64>,
    },
    /// Exponential distribution.
    Exponential {
        /// Mean.
        mean: f64,
    },
    /// Weibull distribution.
    Weibull {
        /// Scale: 63.2 % of the values are below.
        scale: f64,
        /// Shape: 1 is the exponential distribution; larger shapes are narrower.
        shape: f64,
    },
    /// Discrete distribution over a few values.
    Values {
        /// Possible values.
        values: Vec<f64>,
        /// Relative weights of the values; default: equal weights.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        weights: Vec<f64>,
    },
}

impl Distribution {
    /// Returns a description of the first problem, if any.
    pub fn problem(&self) -> Option<String> {
        match self {
            Distribution::Constant(value) => {
                (!value.is_finite()).then(|| format!("is {value}; it must be a number"))
            }
            Distribution::Drawn(law) => law.problem(),
        }
    }

    /// Returns the quantile at `u`, 0 < u < 1, of a distribution without problems.
    pub fn quantile(&self, u: f64) -> f64 {
        match self {
            Distribution::Constant(value) => *value,
            Distribution::Drawn(law) => law.quantile(u),
        }
    }

    /// Returns the smallest and the largest possible value; they may be infinite.
    pub fn support(&self) -> (f64, f64) {
        match self {
            Distribution::Constant(value) => (*value, *value),
            Distribution::Drawn(law) => law.support(),
        }
    }
}

fn standard_normal() -> Normal {
    Normal::new(0.0, 1.0).expect("the standard normal law")
}

/// Returns the quantile `u` of the standard normal distribution truncated to `low` and `high`.
fn truncated_normal(u: f64, low: Option<f64>, high: Option<f64>) -> f64 {
    let standard = standard_normal();
    let below = low.map_or(0.0, |low| standard.cdf(low));
    let above = high.map_or(1.0, |high| standard.cdf(high));
    let drawn = standard.inverse_cdf(below + u * (above - below));
    drawn.max(low.unwrap_or(f64::NEG_INFINITY)).min(high.unwrap_or(f64::INFINITY))
}

impl Law {
    fn numbers(&self) -> Vec<(&'static str, f64)> {
        let bounds = |low: &Option<f64>, high: &Option<f64>| {
            low.map(|low| ("low", low)).into_iter().chain(high.map(|high| ("high", high))).collect::<Vec<_>>()
        };
        match self {
            Law::Uniform { low, high } => vec![("low", *low), ("high", *high)],
            Law::Normal { mean, deviation, low, high } => {
                [vec![("mean", *mean), ("deviation", *deviation)], bounds(low, high)].concat()
            }
            Law::Lognormal { median, sigma, low, high } => {
                [vec![("median", *median), ("sigma", *sigma)], bounds(low, high)].concat()
            }
            Law::Exponential { mean } => vec![("mean", *mean)],
            Law::Weibull { scale, shape } => vec![("scale", *scale), ("shape", *shape)],
            Law::Values { values, weights } => {
                let weights = weights.iter().map(|weight| ("weights", *weight));
                values.iter().map(|value| ("values", *value)).chain(weights).collect()
            }
        }
    }

    fn problem(&self) -> Option<String> {
        if let Some((name, value)) = self.numbers().into_iter().find(|(_, value)| !value.is_finite()) {
            return Some(format!("`{name}` is {value}; it must be a number"));
        }
        let positive = ["median", "scale", "shape"];
        let not_negative = ["deviation", "sigma", "weights"];
        for (name, value) in self.numbers() {
            if positive.contains(&name) && value <= 0.0 {
                return Some(format!("`{name}` is {value}; it must be above 0"));
            }
            if not_negative.contains(&name) && value < 0.0 {
                return Some(format!("`{name}` is {value}; it must not be below 0"));
            }
        }
        match self {
            Law::Exponential { mean } if *mean <= 0.0 => {
                Some(format!("`mean` is {mean}; it must be above 0"))
            }
            Law::Values { values, .. } if values.is_empty() => Some("`values` is empty".into()),
            Law::Values { values, weights } if !weights.is_empty() => {
                if weights.len() != values.len() {
                    let (weights, values) = (weights.len(), values.len());
                    return Some(format!("has {weights} `weights` for {values} `values`; give one to each"));
                }
                (weights.iter().sum::<f64>() <= 0.0).then(|| "has no weight above 0".into())
            }
            _ => self.bounds_problem(),
        }
    }

    /// Returns an error if the interval between the bounds is empty or practically impossible.
    fn bounds_problem(&self) -> Option<String> {
        let (low, high, z) = match self {
            Law::Uniform { low, high } => (*low, *high, None),
            Law::Normal { mean, deviation, low: Some(low), high: Some(high) } => {
                (*low, *high, Some(((low - mean) / deviation, (high - mean) / deviation)))
            }
            Law::Lognormal { median, sigma, low: Some(low), high: Some(high) } => {
                let z = |bound: f64| libm::log(bound.max(0.0) / median) / sigma;
                (*low, *high, Some((z(*low), z(*high))))
            }
            _ => return None,
        };
        if low > high {
            return Some(format!("`low` is {low}, above `high`, which is {high}"));
        }
        let share = z.map_or(1.0, |(low, high)| standard_normal().cdf(high) - standard_normal().cdf(low));
        // Further out, quantiles lose all precision.
        let is_far = share.is_nan() || share < 1e-9;
        is_far.then(|| format!("has next to nothing between {low} and {high}"))
    }

    fn quantile(&self, u: f64) -> f64 {
        match self {
            Law::Uniform { low, high } => low + u * (high - low),
            Law::Normal { mean, deviation, low, high } => {
                let z = |bound: &Option<f64>| bound.map(|bound| (bound - mean) / deviation);
                if *deviation == 0.0 {
                    *mean
                } else {
                    mean + deviation * truncated_normal(u, z(low), z(high))
                }
            }
            Law::Lognormal { median, sigma, low, high } => {
                let z = |bound: &Option<f64>| bound.map(|bound| libm::log(bound.max(0.0) / median) / sigma);
                if *sigma == 0.0 {
                    *median
                } else {
                    median * libm::exp(sigma * truncated_normal(u, z(low), z(high)))
                }
            }
            Law::Exponential { mean } => -mean * libm::log1p(-u),
            Law::Weibull { scale, shape } => scale * libm::pow(-libm::log1p(-u), 1.0 / shape),
            Law::Values { values, weights } => {
                let weight = |at: usize| weights.get(at).copied().unwrap_or(1.0);
                let mut remaining = u * (0..values.len()).map(weight).sum::<f64>();
                let found = (0..values.len()).find(|&at| {
                    remaining -= weight(at);
                    remaining < 0.0
                });
                // Rounding may leave a remainder after the last value; take the last value with a positive weight.
                let last = || (0..values.len()).rev().find(|&at| weight(at) > 0.0).unwrap_or(0);
                values[found.unwrap_or_else(last)]
            }
        }
    }

    fn support(&self) -> (f64, f64) {
        let bounds = |low: &Option<f64>, high: &Option<f64>, least: f64| {
            (low.unwrap_or(least).max(least), high.unwrap_or(f64::INFINITY))
        };
        match self {
            Law::Uniform { low, high } => (*low, *high),
            Law::Normal { mean, deviation, .. } if *deviation == 0.0 => (*mean, *mean),
            Law::Normal { low, high, .. } => bounds(low, high, f64::NEG_INFINITY),
            Law::Lognormal { median, sigma, .. } if *sigma == 0.0 => (*median, *median),
            Law::Lognormal { low, high, .. } => bounds(low, high, 0.0),
            Law::Exponential { .. } | Law::Weibull { .. } => (0.0, f64::INFINITY),
            Law::Values { values, .. } => {
                let least = values.iter().copied().fold(f64::INFINITY, f64::min);
                (least, values.iter().copied().fold(f64::NEG_INFINITY, f64::max))
            }
        }
    }
}

impl Serialize for Distribution {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Distribution::Constant(value) => serializer.serialize_f64(*value),
            Distribution::Drawn(law) => law.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Distribution {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NumberOrTable;
        impl<'de> Visitor<'de> for NumberOrTable {
            type Value = Distribution;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a number, or a table with a `law` and its parameters")
            }
            fn visit_f64<E: Error>(self, value: f64) -> Result<Distribution, E> {
                Ok(Distribution::Constant(value))
            }
            fn visit_i64<E: Error>(self, value: i64) -> Result<Distribution, E> {
                Ok(Distribution::Constant(value as f64))
            }
            fn visit_u64<E: Error>(self, value: u64) -> Result<Distribution, E> {
                Ok(Distribution::Constant(value as f64))
            }
            fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<Distribution, A::Error> {
                Law::deserialize(MapAccessDeserializer::new(table)).map(Distribution::Drawn)
            }
        }
        deserializer.deserialize_any(NumberOrTable)
    }
}

impl JsonSchema for Distribution {
    fn schema_name() -> Cow<'static, str> {
        "Distribution".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A number, or the distribution from which it is drawn.",
            "anyOf": [{"type": "number"}, generator.subschema_for::<Law>()]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn from_json(value: serde_json::Value) -> Distribution {
        serde_json::from_value(value).unwrap()
    }

    /// Returns the mean of 100,000 equally spaced quantiles.
    fn mean(distribution: &Distribution) -> f64 {
        (0..100_000).map(|at| distribution.quantile((f64::from(at) + 0.5) / 1e5)).sum::<f64>() / 1e5
    }

    #[test]
    fn quantiles_have_the_mean_of_their_distribution() {
        let distributions = [
            (json!(3), 3.0),
            (json!({"law": "uniform", "low": 1, "high": 5}), 3.0),
            (json!({"law": "normal", "mean": 3, "deviation": 0.5}), 3.0),
            (json!({"law": "normal", "mean": 3, "deviation": 2.0, "low": 1.0, "high": 5.0}), 3.0),
            (json!({"law": "lognormal", "median": 1.0, "sigma": 0.5}), libm::exp(0.125)),
            (json!({"law": "exponential", "mean": 3}), 3.0),
            (json!({"law": "weibull", "scale": 3.0, "shape": 1.0}), 3.0),
            (json!({"law": "values", "values": [1, 2, 6]}), 3.0),
            (json!({"law": "values", "values": [1, 2, 6], "weights": [0, 3, 1]}), 3.0),
        ];
        for (value, expected) in distributions {
            let distribution = from_json(value.clone());
            assert_eq!(distribution.problem(), None);
            assert!((mean(&distribution) / expected - 1.0).abs() < 1e-3, "{value}: {}", mean(&distribution));
            let (low, high) = distribution.support();
            for u in [1e-12, 0.5, 1.0 - 1e-12] {
                assert!((low..=high).contains(&distribution.quantile(u)), "{value} at {u}");
            }
            assert_eq!(from_json(serde_json::to_value(&distribution).unwrap()), distribution);
        }
    }

    #[test]
    fn invalid_distributions_are_described() {
        let problems = [
            (json!({"law": "uniform", "low": 2, "high": 1}), "`low` is 2, above `high`"),
            (json!({"law": "normal", "mean": 0, "deviation": -1}), "`deviation` is -1"),
            (json!({"law": "normal", "mean": 0, "deviation": 1, "low": 40, "high": 50}), "next to nothing"),
            (json!({"law": "lognormal", "median": 0, "sigma": 1}), "`median` is 0"),
            (json!({"law": "exponential", "mean": 0}), "`mean` is 0"),
            (json!({"law": "values", "values": []}), "empty"),
            (json!({"law": "values", "values": [1], "weights": [1, 2]}), "2 `weights` for 1 `values`"),
            (json!({"law": "values", "values": [1], "weights": [0]}), "no weight above 0"),
        ];
        for (value, expected) in problems {
            let problem = from_json(value.clone()).problem().unwrap();
            assert!(problem.contains(expected), "{value}: {problem}");
        }
        for value in
            [json!({"law": "gauss"}), json!({"law": "uniform", "low": 1}), json!("often"), json!({"low": 1})]
        {
            assert!(serde_json::from_value::<Distribution>(value).is_err());
        }
        let unknown =
            serde_json::from_value::<Distribution>(json!({"law": "exponential", "mean": 1, "sigma": 2}));
        assert!(unknown.unwrap_err().to_string().contains("sigma"));
    }
}
