//! Every page equally likely: the reference case of all theory.

use super::Workload;
use super::config::Kind;
use super::error::ConfigError;
use super::place::Space;
use super::requests::RequestConfig;
use super::stream::{Addresses, stream};
use crate::seed::{Random, Seed, below};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Uniform random requests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Uniform {
    /// Request lengths, reads, trims, hints and placement.
    #[serde(flatten)]
    pub requests: RequestConfig,
}

impl Kind for Uniform {
    fn build(&self, space: &Space, seed: Seed) -> Result<Box<dyn Workload>, ConfigError> {
        let law = UniformLaw { logical_pages: space.logical_pages };
        stream(law, &self.requests, space, seed, None)
    }

    fn written_per_request(&self) -> f64 {
        self.requests.written_per_request()
    }
}

struct UniformLaw {
    logical_pages: u32,
}

impl Addresses for UniformLaw {
    #[inline(always)]
    fn draw(&mut self, random: &mut Random, _length: u32) -> u32 {
        below(random, u64::from(self.logical_pages)) as u32
    }
}
