//! Several concurrent workloads, each on its own part of the space.

use super::Workload;
use super::alias::Alias;
use super::batch::{Goal, PageBatch};
use super::config::WorkloadConfig;
use super::cursor::RequestCursor;
use super::error::{require, require_share, require_weights};
use super::kind::Kind;
use super::place::Space;
use super::temperature::RankClasses;
use rand::RngCore;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wearwell_base::config::ConfigError;
use wearwell_base::seed::{Random, Seed};
use wearwell_base::temperature::Temperature;
use wearwell_base::units::Lpn;

/// Requests of several workloads, interleaved at random: for example a sequential log and random updates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mixed {
    /// The workloads, in the order of their parts of the space. Pages outside of all parts are not accessed.
    pub parts: Vec<Part>,
}

/// A workload of a mixture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Share of the requests that come from this workload, 0 or above; weights need not sum to 1.
    pub weight: f64,
    /// Share of the space for this workload, above 0; the shares sum to at most 1.
    pub space: f64,
    /// Workload on this part.
    pub workload: WorkloadConfig,
}

impl Mixed {
    fn weights(&self) -> Vec<f64> {
        self.parts.iter().map(|part| part.weight).collect()
    }

    /// Returns the end of each part, in pages.
    fn ends(&self, space: &Space) -> Result<Vec<u32>, ConfigError> {
        require_weights("parts", &self.weights())?;
        let (mut sum, mut last) = (0.0, 0);
        let mut ends = Vec::new();
        for (index, part) in self.parts.iter().enumerate() {
            let path = format!("parts[{index}]");
            require_share("space", part.space).map_err(|error| error.within(&path))?;
            sum += part.space;
            // Allows for rounding, as in a sum of ten tenths.
            require(
                sum <= 1.0 + 1e-9,
                format!("{path}.space"),
                part.space,
                "brings the sum of all parts above 1",
            )?;
            let end = ((f64::from(space.logical_pages) * sum).round() as u32).min(space.logical_pages);
            let allowed = format!("is less than one of the {} pages of the space", space.logical_pages);
            require(end > last, format!("{path}.space"), part.space, &allowed)?;
            ends.push(end);
            last = end;
        }
        Ok(ends)
    }
}

impl Kind for Mixed {
    fn build(&self, space: &Space, seed: Seed) -> Result<Box<dyn Workload>, ConfigError> {
        let mut parts = Vec::new();
        let mut base = 0;
        for (index, (part, end)) in self.parts.iter().zip(self.ends(space)?).enumerate() {
            let name = format!("parts[{index}]");
            let inner = Space { logical_pages: end - base, scatter: space.scatter.of(&name) };
            let source = part.workload.build_on(&inner, seed.of(&name));
            let source = source.map_err(|error| error.within(&format!("{name}.workload")))?;
            parts.push((base, RequestCursor::new(source)));
            base = end;
        }
        Ok(Box::new(Mixture {
            parts,
            pick: Alias::new(&self.weights()),
            choices: seed.of("choices").random(),
        }))
    }

    /// Returns one class per part, ordered by the mean write rate of a page of the part. Pages outside of
    /// all parts belong to the coldest class.
    fn temperature(&self, space: &Space) -> Result<Option<Box<dyn Temperature>>, ConfigError> {
        let ends = self.ends(space)?;
        let firsts = std::iter::once(0).chain(ends.iter().copied());
        let rates: Vec<f64> = self
            .parts
            .iter()
            .zip(ends.iter().zip(firsts))
            .map(|(part, (end, first))| {
                part.weight * part.workload.written_per_request() / f64::from(end - first)
            })
            .collect();
        require(
            rates.len() < 256,
            "parts",
            format!("{} parts", rates.len()),
            "must be fewer than 256 to tell their temperatures",
        )?;
        // The class of a part is the number of parts that are hotter, or equally hot with a lower index.
        let mut by_heat: Vec<usize> = (0..rates.len()).collect();
        by_heat.sort_by(|&a, &b| rates[b].total_cmp(&rates[a]));
        let mut classes = vec![0; rates.len() + 1];
        for (class, part) in by_heat.into_iter().enumerate() {
            classes[part] = class as u8;
        }
        classes[rates.len()] = rates.len() as u8 - 1;
        Ok(Some(Box::new(RankClasses { bounds: ends, classes, places: None })))
    }

    fn written_per_request(&self) -> f64 {
        let written = self.parts.iter().map(|part| part.weight * part.workload.written_per_request());
        written.sum::<f64>() / self.weights().iter().sum::<f64>()
    }
}

struct Mixture {
    /// First page and requests of each part.
    parts: Vec<(u32, RequestCursor)>,
    pick: Alias,
    choices: Random,
}

impl Workload for Mixture {
    fn fill(&mut self, batch: &mut PageBatch, pages: usize) {
        let goal = Goal::new(batch, pages);
        while !goal.is_met(batch) {
            let (base, requests) = &mut self.parts[self.pick.pick(self.choices.next_u64())];
            // All synthetic sources are infinite; the end of a finite source would end the mixture.
            let Some(request) = requests.next() else { return };
            batch.push_request(request.op, request.hint, Lpn(*base + request.first.0), request.pages);
        }
    }

    fn final_draw(&mut self) -> u64 {
        let parts = self.parts.iter_mut().map(|(_, requests)| requests.final_draw());
        parts.fold(self.choices.next_u64(), |all, part| all.rotate_left(1) ^ part)
    }
}
