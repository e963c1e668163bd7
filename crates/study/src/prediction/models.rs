//! Selection of the model for a store's cleaning.

use super::PredictionError;
use super::dedup::DedupParameters;
use super::writes::WritePattern;
use wearwell_engine::log::CopyOrder;
use wearwell_engine::placement::PlacementConfig;
use wearwell_engine::victim::VictimConfig;
use wearwell_stack::HostStore;
use wearwell_stack::layers::ReclaimKind;
use wearwell_theory::dedup::{DedupModel, DedupSteadyState, Detection};
use wearwell_theory::mean_field::Structure;
use wearwell_theory::selection::{DChoices, GreedyLimit, Random, RandomNotFull, RandomPlusPlus, Selection};
use wearwell_theory::{ClassMerging, Classes, Drive, LargeBlockAmplification, TheoryError, closed_forms};

/// Model of cleaning.
pub struct Model {
    selection: SelectionModel,
    structure: Structure,
    /// Mean number of erased blocks in the pool.
    pool_blocks: f64,
    /// Differences between the scenario and the model.
    pub notes: Vec<String>,
}

/// Model of victim selection.
enum SelectionModel {
    /// Mean field with the given selection law.
    MeanField(Box<dyn Selection>),
    /// First-in first-out cleaning.
    Fifo,
    /// Greedy cleaning of uniform writes.
    Greedy,
    /// Greedy cleaning of uniform writes among this fraction of the blocks, the oldest.
    Windowed(f64),
}

/// Returns the model of the store's cleaning.
///
/// # Errors
///
/// Returns the reason why no model applies.
pub fn of(store: &HostStore<'_>, writes: &WritePattern) -> Result<Model, String> {
    let is_uniform = writes.classes.count() == 1;
    let (structure, pool_blocks, mut notes) = frontiers(store)?;
    let selection = match &store.keys.victim {
        VictimConfig::Greedy(_) if is_uniform => SelectionModel::Greedy,
        VictimConfig::Greedy(_) => {
            let ties = "greedy is taken for d-choices without bound, whose ties fall at random: up to 5 % off either way";
            notes.push(ties.into());
            SelectionModel::MeanField(Box::new(GreedyLimit))
        }
        VictimConfig::DChoices(config) => {
            let choices = DChoices::new(f64::from(config.choices)).map_err(|error| error.to_string())?;
            SelectionModel::MeanField(Box::new(choices))
        }
        VictimConfig::Random(_) => SelectionModel::MeanField(Box::new(Random)),
        VictimConfig::RandomPlusPlus(_) => SelectionModel::MeanField(Box::new(RandomPlusPlus)),
        VictimConfig::RandomNotFull(_) => SelectionModel::MeanField(Box::new(RandomNotFull)),
        VictimConfig::Fifo(_) => SelectionModel::Fifo,
        VictimConfig::WindowedGreedy(config) if is_uniform => {
            SelectionModel::Windowed((f64::from(config.window) / f64::from(store.blocks)).min(1.0))
        }
        VictimConfig::WindowedGreedy(_) => {
            return Err("windowed greedy is modelled for uniform writes only".into());
        }
        other => return Err(format!("of the victim policy `{}` there is no model", other.entry().name)),
    };
    if !is_uniform && structure == Structure::Double && store.keys.copy_order == CopyOrder::Oldest {
        notes.push(
            "which pages of a victim fill up a block is drawn in the model; `copy_order = \"oldest\"` is up to 2 % less"
                .into(),
        );
    }
    Ok(Model { selection, structure, pool_blocks, notes })
}

fn is_deduplicated(store: &HostStore<'_>) -> bool {
    store.dedup.is_some_and(|dedup| !dedup.is_none())
}

/// Returns the number of frontiers, the mean number of erased blocks during victim selection, and notes.
fn frontiers(store: &HostStore<'_>) -> Result<(Structure, f64, Vec<String>), String> {
    let structure = match &store.keys.placement {
        PlacementConfig::Single(_) => Structure::Single,
        PlacementConfig::Double(_) => Structure::Double,
        // Shared pages have their own blocks; all other pages share a frontier.
        PlacementConfig::References(config) if is_deduplicated(store) && !config.separate_cleaned => {
            Structure::Single
        }
        other => return Err(format!("of the placement `{}` there is no model", other.entry().name)),
    };
    if store.keys.reclaim == ReclaimKind::InPlace {
        return Ok((structure, 0.0, Vec::new()));
    }
    let low = store.keys.free_blocks_low.unwrap_or_default();
    let high = store.keys.free_blocks_high.unwrap_or(low);
    let pool_blocks = f64::from(low + high) / 2.0;
    if structure == Structure::Single && high > low {
        // Cleaning then fills whole blocks with moved pages.
        let note =
            "`free_blocks_high` above `free_blocks_low` keeps moved pages apart: two frontiers in the model";
        return Ok((Structure::Double, pool_blocks, vec![note.into()]));
    }
    Ok((structure, pool_blocks, Vec::new()))
}

impl Model {
    /// Returns the model in words.
    pub fn name(&self) -> String {
        let frontiers = match self.structure {
            Structure::Single => "one frontier",
            Structure::Double => "two frontiers",
        };
        match &self.selection {
            SelectionModel::MeanField(selection) => {
                format!("mean field, {frontiers}, {}", selection.describe())
            }
            SelectionModel::Fifo => "first-in first-out, closed form".into(),
            SelectionModel::Greedy => "greedy, closed form".into(),
            SelectionModel::Windowed(_) => "windowed greedy, closed form".into(),
        }
    }

    /// Returns the erased pages during victim selection: blocks in the pool and, with two frontiers, the rest of the
    /// internal frontier. That frontier has 0 to b - 1 erased pages, each number with equal probability.
    pub fn held_back_pages(&self, store: &HostStore<'_>) -> f64 {
        let pages = f64::from(store.pages_per_block);
        let frontier = match self.structure {
            Structure::Single => 0.0,
            Structure::Double => (pages - 1.0) / 2.0,
        };
        self.pool_blocks * pages + frontier
    }

    /// Solves the model on a drive that deduplicates its logical pages with the parameters `equal`.
    ///
    /// # Errors
    ///
    /// Returns an error if no model applies, or without a solution.
    pub fn solve_dedup(
        &self,
        drive: Drive,
        classes: &Classes,
        equal: &DedupParameters,
        logical_pages: u32,
    ) -> Result<DedupSteadyState, PredictionError> {
        let selection = match &self.selection {
            SelectionModel::MeanField(selection) => &**selection,
            SelectionModel::Greedy => &GreedyLimit,
            SelectionModel::Fifo | SelectionModel::Windowed(_) => {
                let problem =
                    "equal pages are modelled with the mean field's policies: greedy, d-choices, random";
                return Err(PredictionError::NoModel(problem.into()));
            }
        };
        let structure = self.structure;
        if structure == Structure::Double && equal.detection != Detection::Writing {
            let problem = "merging by cleaning is modelled with one frontier, or with shared pages apart";
            return Err(PredictionError::NoModel(problem.into()));
        }
        let model = DedupModel {
            drive,
            logical_pages: logical_pages.into(),
            classes: classes.clone(),
            contents: equal.contents.clone(),
            detection: equal.detection,
            structure,
            selection,
        };
        Ok(model.steady_state()?)
    }

    /// Computes the write amplification on `drive`, with notes on approximations.
    pub fn solve(
        &self,
        drive: Drive,
        classes: &Classes,
        effort_limit: f64,
    ) -> Result<(f64, Vec<String>), TheoryError> {
        let selection = match &self.selection {
            SelectionModel::MeanField(selection) => &**selection,
            SelectionModel::Fifo => return Ok((closed_forms::fifo(&drive, classes)?, Vec::new())),
            SelectionModel::Greedy => return Ok((closed_forms::greedy(&drive)?, Vec::new())),
            SelectionModel::Windowed(share) => {
                return Ok((closed_forms::windowed(&drive, *share)?, Vec::new()));
            }
        };
        let found = LargeBlockAmplification::of(drive, classes, self.structure, selection, effort_limit)?;
        let merging = match found.merging {
            ClassMerging::None => None,
            ClassMerging::Extrapolated => {
                Some("many classes are extrapolated from few (1.2 % or less)".to_owned())
            }
            ClassMerging::WithoutExtrapolation => {
                Some("many classes are merged to two (4.3 % or less)".to_owned())
            }
        };
        let size = found.extrapolated_from.map(|pages| format!("extrapolated from blocks of {pages} pages"));
        Ok((found.write_amplification, merging.into_iter().chain(size).collect()))
    }
}
