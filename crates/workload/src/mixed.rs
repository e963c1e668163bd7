//! Several concurrent workloads, each on its own part of the space.

use super::Workload;
use super::alias::AliasTable;
use super::batch::{FillGoal, PageBatch};
use super::config::WorkloadConfig;
use super::cursor::RequestCursor;
use super::error::{require, require_share, require_weights};
use super::kind::Kind;
use super::rank_map::Space;
use super::temperature::RankTemperature;
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
    fn part_ends(&self, space: &Space) -> Result<Vec<u32>, ConfigError> {
        require_weights("parts", &self.weights())?;
        let (mut sum, mut last) = (0.0, 0);
        let mut part_ends = Vec::new();
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
            part_ends.push(end);
            last = end;
        }
        Ok(part_ends)
    }
}

impl Kind for Mixed {
    fn build(&self, space: &Space, seed: Seed) -> Result<Box<dyn Workload>, ConfigError> {
        let mut parts = Vec::new();
        let mut base = 0;
        for (index, (part, end)) in self.parts.iter().zip(self.part_ends(space)?).enumerate() {
            let name = format!("parts[{index}]");
            let inner = Space { logical_pages: end - base, scatter: space.scatter.derive(&name) };
            let source = part.workload.build_on(&inner, seed.derive(&name));
            let source = source.map_err(|error| error.within(&format!("{name}.workload")))?;
            parts.push((base, RequestCursor::new(source)));
            base = end;
        }
        Ok(Box::new(MixedWorkload {
            parts,
            part_table: AliasTable::new(&self.weights()),
            choices: seed.derive("choices").random(),
        }))
    }

    /// Returns one class per part, ordered by the mean write rate of a page of the part. Pages outside of
    /// all parts belong to the coldest class.
    fn temperature(&self, space: &Space) -> Result<Option<Box<dyn Temperature>>, ConfigError> {
        let part_ends = self.part_ends(space)?;
        let starts = std::iter::once(0).chain(part_ends.iter().copied());
        let rates: Vec<f64> = self
            .parts
            .iter()
            .zip(part_ends.iter().zip(starts))
            .map(|(part, (end, start))| {
                part.weight * part.workload.written_per_request() / f64::from(end - start)
            })
            .collect();
        require(
            rates.len() < 256,
            "parts",
            format!("{} parts", rates.len()),
            "must be fewer than 256 to tell their temperatures",
        )?;
        // The class of a part is the number of parts that are hotter, or that are equally hot and have a lower index.
        let mut by_rate: Vec<usize> = (0..rates.len()).collect();
        by_rate.sort_by(|&a, &b| rates[b].total_cmp(&rates[a]));
        let mut classes = vec![0; rates.len() + 1];
        for (class, part) in by_rate.into_iter().enumerate() {
            classes[part] = class as u8;
        }
        classes[rates.len()] = rates.len() as u8 - 1;
        Ok(Some(Box::new(RankTemperature { bounds: part_ends, classes, rank_map: None })))
    }

    fn written_per_request(&self) -> f64 {
        let mean_written = self.parts.iter().map(|part| part.weight * part.workload.written_per_request());
        mean_written.sum::<f64>() / self.weights().iter().sum::<f64>()
    }
}

struct MixedWorkload {
    /// First page of each part, and the cursor of the part's requests.
    parts: Vec<(u32, RequestCursor)>,
    part_table: AliasTable,
    choices: Random,
}

impl Workload for MixedWorkload {
    fn fill(&mut self, batch: &mut PageBatch, pages: usize) {
        let goal = FillGoal::new(batch, pages);
        while !goal.is_met(batch) {
            let (base, requests) = &mut self.parts[self.part_table.pick(self.choices.next_u64())];
            // All synthetic workloads are infinite; the end of a finite part would end the mixture.
            let Some(request) = requests.next() else { return };
            batch.push_request(request.op, request.hint, Lpn(*base + request.first.0), request.pages);
        }
    }

    fn final_draw(&mut self) -> u64 {
        let parts = self.parts.iter_mut().map(|(_, requests)| requests.final_draw());
        parts.fold(self.choices.next_u64(), |all, part| all.rotate_left(1) ^ part)
    }
}
