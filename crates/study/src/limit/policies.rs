//! Every placement and every victim policy beside the limit of a drive.

use super::loss::Loss;
use super::pairs::{LimitError, Measured, Pairs, Part};
use super::run::{Limit, check};
use crate::points::MOST_POINTS;
use crate::sweep::{SweepObserver, SweepOptions};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use wearwell_engine::placement::{PLACEMENTS, PlacementConfig};
use wearwell_engine::victim::{VICTIMS, VictimConfig};
use wearwell_stack::steady::{ci95_half_width, mean};
use wearwell_stack::{Draft, ForeseeingResult, RunResult};

/// Placements that know the future, whatever is written.
const FORESEEING_PLACEMENTS: [&str; 2] = ["future_knowledge", "death_windows"];

/// Victim policies with which they are tried: the best that knows nothing, and the one that knows the future.
const FORESEEING_VICTIMS: [&str; 2] = ["greedy", "foresight"];

/// What is held against the limit, and how; `sweep` changes no result.
#[derive(Clone, Debug, Default)]
pub struct LimitOptions<'a> {
    /// Placements, each a name or a table.
    pub placements: Vec<Value>,
    /// Victim policies, each a name or a table.
    pub victims: Vec<Value>,
    /// Whether each placement is run with each victim policy, and not only with that of the scenario.
    pub all_pairs: bool,
    /// Runs of each with different seeds, the same for all; 0 is 1.
    pub replicas: u32,
    /// Who makes the runs, and where finished ones are kept.
    pub sweep: SweepOptions<'a>,
}

impl LimitOptions<'_> {
    /// All placements that there are.
    pub fn every_placement() -> Vec<Value> {
        PLACEMENTS.iter().map(|entry| json!(entry.name)).collect()
    }

    /// All victim policies that there are.
    pub fn every_victim() -> Vec<Value> {
        VICTIMS.iter().map(|entry| json!(entry.name)).collect()
    }

    /// Refuses what names no placement and no victim policy, and more runs than a sweep may have.
    fn check(&self) -> Result<(), LimitError> {
        every_one_is::<PlacementConfig>("placements", &self.placements)?;
        every_one_is::<VictimConfig>("victims", &self.victims)?;
        let (placements, victims) = (self.placements.len() + 1, self.victims.len() + 1);
        let pairs = if self.all_pairs { placements * victims } else { placements + victims };
        let most = MOST_POINTS / pairs;
        if self.replicas as usize > most {
            let problem = format!("replicas: {} of {pairs} pairs; at most {most} can be", self.replicas);
            return Err(LimitError::Options(problem));
        }
        Ok(())
    }
}

fn every_one_is<C: DeserializeOwned>(option: &str, values: &[Value]) -> Result<(), LimitError> {
    values.iter().try_for_each(|value| match serde_json::from_value::<C>(value.clone()) {
        Ok(_) => Ok(()),
        Err(error) => Err(LimitError::Options(format!("{option}: {error}"))),
    })
}

/// A drive beside its limit.
#[derive(Clone, Debug)]
pub struct Policies {
    /// The drive as it is, and the lower bound for what it wrote, with each seed.
    pub limits: Vec<Limit>,
    /// The best of what knows the future, over all seeds; `None` where its FTL has no placement and no victim policy.
    pub foreseeing: Option<ForeseeingResult>,
    /// The other placements and victim policies, over the same writes.
    pub rows: Vec<PolicyRow>,
}

impl Policies {
    /// Write amplification of the drive as it is, the mean over seeds.
    pub fn write_amplification(&self) -> Option<f64> {
        let by_seed: Option<Vec<f64>> =
            self.limits.iter().map(|limit| limit.result.write_amplification).collect();
        by_seed.map(|by_seed| mean(&by_seed))
    }

    /// Write amplification below which nothing gets, the mean over seeds.
    pub fn lower_bound(&self) -> f64 {
        mean(&self.limits.iter().map(Limit::lower_bound).collect::<Vec<_>>())
    }

    /// Host pages of the measured parts of all seeds.
    pub fn host_pages(&self) -> u64 {
        self.limits.iter().map(|limit| limit.host_pages).sum()
    }

    /// Pages of these that had to be rewritten, whatever the drive knew of the future.
    pub fn least_rewrites(&self) -> u64 {
        self.limits.iter().map(|limit| limit.least_rewrites).sum()
    }

    /// The share of all rewriting which nobody has shown to be necessary, as of [`Limit::open_share`].
    pub fn open_share(&self) -> Option<f64> {
        let rewritten = self.write_amplification()? - 1.0;
        (rewritten > 0.0).then(|| 1.0 - (self.lower_bound() - 1.0) / rewritten)
    }

    /// What the runs of the drive as it is warn of, each once.
    pub fn warnings(&self) -> Vec<&str> {
        let mut warnings: Vec<&str> = Vec::new();
        for warning in self.limits.iter().flat_map(|limit| &limit.result.warnings) {
            if !warnings.contains(&warning.as_str()) {
                warnings.push(warning);
            }
        }
        warnings
    }
}

/// A placement and a victim policy beside the limit.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicyRow {
    /// The placement.
    pub placement: String,
    /// The victim policy.
    pub victim: String,
    /// What was measured, or why nothing was.
    pub outcome: Result<Measured, String>,
    /// Half the width of the 95 % interval of what it writes beyond the best that knows the future, seed by seed; `None` with a single one.
    pub above_foreseeing_ci95: Option<f64>,
    /// Where what it rewrites is lost; `None` where the runs that would say so cannot be.
    pub loss: Option<Loss>,
}

/// Holds placements and victim policies of the drive that `base` describes against the least that anything could have written, and
/// against the best of what knows the future.
///
/// All runs measure the same writes: those that the drive as it is measured, after a warm-up of the same length.
///
/// # Errors
///
/// What is no placement and no victim policy, a drive that cannot be run or has no limit, an interruption, and runs that cannot go on. What cannot go with a placement or a victim
/// policy is said in its row.
pub fn policies(
    base: &Draft,
    options: &LimitOptions<'_>,
    observer: &dyn SweepObserver,
) -> Result<Policies, LimitError> {
    options.check()?;
    check(&base.scenario()?).map_err(|error| base.explain(&error))?;
    let mut pairs = Pairs::new(base, options.replicas, &options.sweep, observer);
    let own = pairs.own_runs()?;
    let bounded = |own: Vec<RunResult>| -> Result<Vec<Limit>, LimitError> {
        own.into_iter().map(|own| Ok(Limit::of(own, &mut || observer.keep_going())?)).collect()
    };
    let Some(parts) = pairs.hold_against(&own)? else {
        return Ok(Policies { limits: bounded(own)?, foreseeing: None, rows: Vec::new() });
    };
    let best = best_foreseeing(&mut pairs)?;
    let wanted = wanted(&parts, options);
    let mut needed: Vec<(&Part, &Part)> =
        wanted.iter().map(|(placement, victim)| (placement, victim)).collect();
    if let Some((best, _)) = &best {
        needed.extend(wanted.iter().map(|(_, victim)| (&best.0, victim)));
        needed.extend(wanted.iter().map(|(placement, _)| (placement, &best.1)));
    }
    pairs.make(&needed)?;
    let rows = wanted.iter().map(|(placement, victim)| PolicyRow {
        placement: placement.name.clone(),
        victim: victim.name.clone(),
        outcome: pairs.known(placement, victim).clone(),
        above_foreseeing_ci95: best
            .as_ref()
            .and_then(|(best, _)| above_ci95(&pairs, (placement, victim), best)),
        loss: best.as_ref().and_then(|(best, _)| loss(&pairs, (placement, victim), best)),
    });
    let rows = rows.collect();
    Ok(Policies { limits: bounded(own)?, foreseeing: best.map(|(_, result)| result), rows })
}

/// The same, of a run that was made, for its best of what knows the future alone.
pub(super) fn foreseeing(
    base: &Draft,
    own: &[RunResult],
    options: &SweepOptions<'_>,
    observer: &dyn SweepObserver,
) -> Result<Option<ForeseeingResult>, LimitError> {
    let mut pairs = Pairs::new(base, 1, options, observer);
    if pairs.hold_against(own)?.is_none() {
        return Ok(None);
    }
    Ok(best_foreseeing(&mut pairs)?.map(|(_, result)| result))
}

/// A placement and a victim policy, and what they come to.
type Best = ((Part, Part), ForeseeingResult);

/// The placement and the victim policy that know the future and do best, and how well; `None` if none can be run.
fn best_foreseeing(pairs: &mut Pairs<'_>) -> Result<Option<Best>, LimitError> {
    let [placements, victims] =
        [FORESEEING_PLACEMENTS, FORESEEING_VICTIMS].map(|names| names.map(|name| Part::new(json!(name))));
    let tried: Vec<(&Part, &Part)> = placements
        .iter()
        .flat_map(|placement| victims.iter().map(move |victim| (placement, victim)))
        .collect();
    pairs.make(&tried)?;
    let measured = tried.iter().filter_map(|&pair| Some((pair, pairs.amplification(pair.0, pair.1)?)));
    let best = measured.min_by(|(_, one), (_, other)| one.total_cmp(other));
    Ok(best.map(|((placement, victim), write_amplification)| {
        let (placement, victim) = (placement.clone(), victim.clone());
        let result = ForeseeingResult {
            placement: placement.name.clone(),
            victim: victim.name.clone(),
            write_amplification,
        };
        ((placement, victim), result)
    }))
}

/// The pairs that are asked for, that of the scenario first.
fn wanted((own_placement, own_victim): &(Part, Part), options: &LimitOptions<'_>) -> Vec<(Part, Part)> {
    // What the scenario has by itself stays as it is there.
    let listed = |own: &Part, values: &[Value]| -> Vec<Part> {
        let others = values.iter().cloned().map(Part::new).filter(|part| part.name != own.name);
        [own.clone()].into_iter().chain(others).collect()
    };
    let placements = listed(own_placement, &options.placements);
    let victims = listed(own_victim, &options.victims);
    let pair = |placement: &Part, victim: &Part| (placement.clone(), victim.clone());
    if options.all_pairs {
        return placements
            .iter()
            .flat_map(|placement| victims.iter().map(move |victim| pair(placement, victim)))
            .collect();
    }
    let of_placements = placements.iter().map(|placement| pair(placement, own_victim));
    of_placements.chain(victims[1..].iter().map(|victim| pair(own_placement, victim))).collect()
}

/// Half the width of the interval of the difference of two pairs, whose runs share each seed's writes.
fn above_ci95(pairs: &Pairs<'_>, (placement, victim): (&Part, &Part), best: &(Part, Part)) -> Option<f64> {
    let by_seed =
        |placement, victim| pairs.known(placement, victim).as_ref().ok().map(|known| &known.by_seed);
    let (own, best) = (by_seed(placement, victim)?, by_seed(&best.0, &best.1)?);
    let above: Vec<f64> = own.iter().zip(best).map(|(own, best)| own - best).collect();
    ci95_half_width(&above)
}

fn loss(pairs: &Pairs<'_>, (placement, victim): (&Part, &Part), best: &(Part, Part)) -> Option<Loss> {
    let of = |placement, victim| pairs.amplification(placement, victim);
    Some(Loss::of(
        of(placement, victim)?,
        of(&best.0, victim)?,
        of(placement, &best.1)?,
        of(&best.0, &best.1)?,
    ))
}
