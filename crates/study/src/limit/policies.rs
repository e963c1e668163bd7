//! Comparison of placements and victim policies with the lower bound of a drive.

use super::loss::RewriteLoss;
use super::pairs::{LowerBoundError, PairMeasurement, PairRuns, PolicySetting};
use super::run::{LowerBoundRun, check};
use crate::points::MAX_POINTS;
use crate::sweep::{SweepObserver, SweepOptions};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use wearwell_engine::placement::{PLACEMENTS, PlacementConfig};
use wearwell_engine::victim::{VICTIMS, VictimConfig};
use wearwell_stack::steady::{ci95_half_width, mean};
use wearwell_stack::{Draft, OfflineResult, RunResult};

/// Offline placements, which work for any workload.
const OFFLINE_PLACEMENTS: [&str; 2] = ["future_knowledge", "death_windows"];

/// Victim policies combined with offline placements: the best online policy, and the offline one.
const OFFLINE_VICTIMS: [&str; 2] = ["greedy", "foresight"];

/// Placements and victim policies to compare; `sweep` does not affect results.
#[derive(Clone, Debug, Default)]
pub struct LowerBoundOptions<'a> {
    /// Placements, each a name or a table.
    pub placements: Vec<Value>,
    /// Victim policies, each a name or a table.
    pub victims: Vec<Value>,
    /// True to run each placement with each victim policy instead of only with that of the scenario.
    pub all_pairs: bool,
    /// Number of seeds, equal for all pairs; 0 means 1.
    pub replicas: u32,
    /// Options for executing runs and storing finished ones.
    pub sweep: SweepOptions<'a>,
}

impl LowerBoundOptions<'_> {
    /// Returns all placements.
    pub fn all_placements() -> Vec<Value> {
        PLACEMENTS.iter().map(|entry| json!(entry.name)).collect()
    }

    /// Returns all victim policies.
    pub fn all_victims() -> Vec<Value> {
        VICTIMS.iter().map(|entry| json!(entry.name)).collect()
    }

    /// Refuses unknown placements and victim policies, and more runs than a sweep may have.
    fn check(&self) -> Result<(), LowerBoundError> {
        check_names::<PlacementConfig>("placements", &self.placements)?;
        check_names::<VictimConfig>("victims", &self.victims)?;
        let (placements, victims) = (self.placements.len() + 1, self.victims.len() + 1);
        let pairs = if self.all_pairs { placements * victims } else { placements + victims };
        let max_replicas = MAX_POINTS / pairs;
        if self.replicas as usize > max_replicas {
            let problem =
                format!("replicas: {} of {pairs} pairs; at most {max_replicas} can be", self.replicas);
            return Err(LowerBoundError::Options(problem));
        }
        Ok(())
    }
}

fn check_names<C: DeserializeOwned>(option: &str, values: &[Value]) -> Result<(), LowerBoundError> {
    values.iter().try_for_each(|value| match serde_json::from_value::<C>(value.clone()) {
        Ok(_) => Ok(()),
        Err(error) => Err(LowerBoundError::Options(format!("{option}: {error}"))),
    })
}

/// Drive compared with its lower bound.
#[derive(Clone, Debug)]
pub struct PolicyComparison {
    /// Unchanged drive and the lower bound for its writes, for each seed.
    pub limits: Vec<LowerBoundRun>,
    /// Result of the best offline policies over all seeds; `None` if the FTL lacks a placement or a victim policy.
    pub offline: Option<OfflineResult>,
    /// Rows for the other placements and victim policies, on the same writes.
    pub rows: Vec<PolicyRow>,
}

impl PolicyComparison {
    /// Returns the mean write amplification of the unchanged drive over seeds.
    pub fn write_amplification(&self) -> Option<f64> {
        let by_seed: Option<Vec<f64>> =
            self.limits.iter().map(|limit| limit.result.write_amplification).collect();
        by_seed.map(|by_seed| mean(&by_seed))
    }

    /// Returns the mean lower bound over seeds.
    pub fn lower_bound(&self) -> f64 {
        mean(&self.limits.iter().map(LowerBoundRun::lower_bound).collect::<Vec<_>>())
    }

    /// Returns the host pages of the measured phases of all seeds.
    pub fn host_pages(&self) -> u64 {
        self.limits.iter().map(|limit| limit.host_pages).sum()
    }

    /// Returns the least number of rewrites of these pages for any drive, even with knowledge of the future.
    pub fn least_rewrites(&self) -> u64 {
        self.limits.iter().map(|limit| limit.least_rewrites).sum()
    }

    /// Returns the fraction of the rewrites that is not proven necessary, as [`LowerBoundRun::unproven_share`].
    pub fn unproven_share(&self) -> Option<f64> {
        let rewritten = self.write_amplification()? - 1.0;
        (rewritten > 0.0).then(|| 1.0 - (self.lower_bound() - 1.0) / rewritten)
    }

    /// Returns the distinct warnings of the runs of the unchanged drive.
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

/// Placement and victim policy compared with the lower bound.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicyRow {
    /// Name of the placement.
    pub placement: String,
    /// Name of the victim policy.
    pub victim: String,
    /// Measurement, or the reason why there is none.
    pub outcome: Result<PairMeasurement, String>,
    /// Half-width of the 95 % interval of the excess over the best offline policies, paired by seed; `None` with a
    /// single seed.
    pub above_offline_ci95: Option<f64>,
    /// Rewrites by cause; `None` if the runs needed for it cannot be executed.
    pub loss: Option<RewriteLoss>,
}

/// Compares placements and victim policies of the drive that `base` describes with the lower bound and with the best
/// offline policies.
///
/// All runs measure the writes that the unchanged drive measured, after a warm-up of equal length.
///
/// # Errors
///
/// Returns an error for unknown placements and victim policies, for a drive that cannot be run or has no lower bound,
/// for an interruption, and if the runs cannot continue. A placement or victim policy that cannot be combined is noted
/// in its row.
pub fn compare_policies(
    base: &Draft,
    options: &LowerBoundOptions<'_>,
    observer: &dyn SweepObserver,
) -> Result<PolicyComparison, LowerBoundError> {
    options.check()?;
    check(&base.scenario()?).map_err(|error| base.explain(&error))?;
    let mut pairs = PairRuns::new(base, options.replicas, &options.sweep, observer);
    let unchanged = pairs.run_unchanged()?;
    let with_bounds = |results: Vec<RunResult>| -> Result<Vec<LowerBoundRun>, LowerBoundError> {
        results
            .into_iter()
            .map(|result| Ok(LowerBoundRun::of(result, &mut || observer.keep_going())?))
            .collect()
    };
    let Some(parts) = pairs.fix_writes_to(&unchanged)? else {
        return Ok(PolicyComparison { limits: with_bounds(unchanged)?, offline: None, rows: Vec::new() });
    };
    let best = find_best_offline(&mut pairs)?;
    let requested = requested_pairs(&parts, options);
    let mut needed: Vec<(&PolicySetting, &PolicySetting)> =
        requested.iter().map(|(placement, victim)| (placement, victim)).collect();
    if let Some((best, _)) = &best {
        needed.extend(requested.iter().map(|(_, victim)| (&best.0, victim)));
        needed.extend(requested.iter().map(|(placement, _)| (placement, &best.1)));
    }
    pairs.run_missing(&needed)?;
    let rows = requested.iter().map(|(placement, victim)| PolicyRow {
        placement: placement.name.clone(),
        victim: victim.name.clone(),
        outcome: pairs.outcome(placement, victim).clone(),
        above_offline_ci95: best.as_ref().and_then(|(best, _)| above_ci95(&pairs, (placement, victim), best)),
        loss: best.as_ref().and_then(|(best, _)| rewrite_loss(&pairs, (placement, victim), best)),
    });
    let rows = rows.collect();
    Ok(PolicyComparison { limits: with_bounds(unchanged)?, offline: best.map(|(_, result)| result), rows })
}

/// Finds the best offline policies for a run that has been executed.
pub(super) fn best_offline_result(
    base: &Draft,
    unchanged: &[RunResult],
    options: &SweepOptions<'_>,
    observer: &dyn SweepObserver,
) -> Result<Option<OfflineResult>, LowerBoundError> {
    let mut pairs = PairRuns::new(base, 1, options, observer);
    if pairs.fix_writes_to(unchanged)?.is_none() {
        return Ok(None);
    }
    Ok(find_best_offline(&mut pairs)?.map(|(_, result)| result))
}

/// Placement and victim policy with their result.
type BestPair = ((PolicySetting, PolicySetting), OfflineResult);

/// Finds the best offline placement and victim policy with their result; `None` if none can be run.
fn find_best_offline(pairs: &mut PairRuns<'_>) -> Result<Option<BestPair>, LowerBoundError> {
    let [placements, victims] =
        [OFFLINE_PLACEMENTS, OFFLINE_VICTIMS].map(|names| names.map(|name| PolicySetting::new(json!(name))));
    let candidates: Vec<(&PolicySetting, &PolicySetting)> = placements
        .iter()
        .flat_map(|placement| victims.iter().map(move |victim| (placement, victim)))
        .collect();
    pairs.run_missing(&candidates)?;
    let measured = candidates.iter().filter_map(|&pair| Some((pair, pairs.amplification(pair.0, pair.1)?)));
    let best = measured.min_by(|(_, one), (_, other)| one.total_cmp(other));
    Ok(best.map(|((placement, victim), write_amplification)| {
        let (placement, victim) = (placement.clone(), victim.clone());
        let result = OfflineResult {
            placement: placement.name.clone(),
            victim: victim.name.clone(),
            write_amplification,
        };
        ((placement, victim), result)
    }))
}

/// Returns the requested pairs, that of the scenario first.
fn requested_pairs(
    (own_placement, own_victim): &(PolicySetting, PolicySetting),
    options: &LowerBoundOptions<'_>,
) -> Vec<(PolicySetting, PolicySetting)> {
    // The scenario's own policies keep their settings.
    let with_own_first = |scenario_setting: &PolicySetting, values: &[Value]| -> Vec<PolicySetting> {
        let requested =
            values.iter().cloned().map(PolicySetting::new).filter(|part| part.name != scenario_setting.name);
        [scenario_setting.clone()].into_iter().chain(requested).collect()
    };
    let placements = with_own_first(own_placement, &options.placements);
    let victims = with_own_first(own_victim, &options.victims);
    let pair = |placement: &PolicySetting, victim: &PolicySetting| (placement.clone(), victim.clone());
    if options.all_pairs {
        return placements
            .iter()
            .flat_map(|placement| victims.iter().map(move |victim| pair(placement, victim)))
            .collect();
    }
    let of_placements = placements.iter().map(|placement| pair(placement, own_victim));
    of_placements.chain(victims[1..].iter().map(|victim| pair(own_placement, victim))).collect()
}

/// Returns the half-width of the interval of the difference of two pairs, whose runs share the writes of each seed.
fn above_ci95(
    pairs: &PairRuns<'_>,
    (placement, victim): (&PolicySetting, &PolicySetting),
    best: &(PolicySetting, PolicySetting),
) -> Option<f64> {
    let by_seed =
        |placement, victim| pairs.outcome(placement, victim).as_ref().ok().map(|known| &known.by_seed);
    let (own, best) = (by_seed(placement, victim)?, by_seed(&best.0, &best.1)?);
    let above: Vec<f64> = own.iter().zip(best).map(|(own, best)| own - best).collect();
    ci95_half_width(&above)
}

fn rewrite_loss(
    pairs: &PairRuns<'_>,
    (placement, victim): (&PolicySetting, &PolicySetting),
    best: &(PolicySetting, PolicySetting),
) -> Option<RewriteLoss> {
    let amplification = |placement, victim| pairs.amplification(placement, victim);
    Some(RewriteLoss::of(
        amplification(placement, victim)?,
        amplification(&best.0, victim)?,
        amplification(placement, &best.1)?,
        amplification(&best.0, &best.1)?,
    ))
}
