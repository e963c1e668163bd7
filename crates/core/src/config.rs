//! What every configurable part shares: errors that name the key, and the sizes a part is built for.

use crate::seed::Seed;

/// A setting that cannot be used: which key, and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {problem}")]
pub struct ConfigError {
    /// Path of the key, such as `ftl.victim.choices`.
    pub key: String,
    /// What is wrong and what is allowed.
    pub problem: String,
}

impl ConfigError {
    /// `key` has `problem`.
    pub fn new(key: impl Into<String>, problem: impl Into<String>) -> Self {
        ConfigError { key: key.into(), problem: problem.into() }
    }

    /// The same error, its key being part of `parent`.
    pub fn within(mut self, parent: &str) -> Self {
        self.key = format!("{parent}.{}", self.key);
        self
    }
}

/// The sizes of the store that a policy is built for.
#[derive(Clone, Copy, Debug)]
pub struct StoreSize {
    /// Erase blocks (segments) of the medium.
    pub blocks: u32,
    /// Pages in each.
    pub pages_per_block: u32,
    /// Logical pages shown above.
    pub logical_pages: u32,
    /// The store's seed; a part takes its own from it by name.
    pub seed: Seed,
}

/// What a part says about itself in listings: its name in scenarios, a line of help, and its source.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The name used in scenarios.
    pub name: &'static str,
    /// One line of help.
    pub help: &'static str,
    /// The paper or document it is taken from.
    pub source: &'static str,
}
