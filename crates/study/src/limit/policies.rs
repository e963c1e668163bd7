//! Every placement and every victim policy beside the limit of a drive.

use super::loss::Loss;
use super::pairs::{LimitError, Measured, Pairs, Part};
use super::run::{Limit, check};
use crate::sweep::{SweepObserver, SweepOptions};
use serde_json::{Value, json};
use wearwell_engine::placement::PLACEMENTS;
use wearwell_engine::victim::VICTIMS;
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
}

/// A drive beside its limit.
#[derive(Clone, Debug)]
pub struct Policies {
    /// The drive as it is, and the lower bound for what it wrote.
    pub limit: Limit,
    /// The best of what knows the future; `None` where its FTL has no placement and no victim policy.
    pub foreseeing: Option<ForeseeingResult>,
    /// The other placements and victim policies, over the same writes.
    pub rows: Vec<PolicyRow>,
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
/// A drive that cannot be run or has no limit, an interruption, and runs that cannot go on. What cannot go with a placement or a victim
/// policy is said in its row.
pub fn policies(
    base: &Draft,
    options: &LimitOptions<'_>,
    observer: &dyn SweepObserver,
) -> Result<Policies, LimitError> {
    check(&base.scenario()?).map_err(|error| base.explain(&error))?;
    let mut pairs = Pairs::new(base, &options.sweep, observer);
    let own = pairs.own_run()?;
    let Some(parts) = pairs.hold_against(&own)? else {
        let limit = Limit::of(own, &mut || observer.keep_going())?;
        return Ok(Policies { limit, foreseeing: None, rows: Vec::new() });
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
        loss: best.as_ref().and_then(|(best, _)| loss(&pairs, (placement, victim), best)),
    });
    let rows = rows.collect();
    let limit = Limit::of(own, &mut || observer.keep_going())?;
    Ok(Policies { limit, foreseeing: best.map(|(_, result)| result), rows })
}

/// The same, of a run that was made, for its best of what knows the future alone.
pub(super) fn foreseeing(
    base: &Draft,
    own: &RunResult,
    options: &SweepOptions<'_>,
    observer: &dyn SweepObserver,
) -> Result<Option<ForeseeingResult>, LimitError> {
    let mut pairs = Pairs::new(base, options, observer);
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

fn loss(pairs: &Pairs<'_>, (placement, victim): (&Part, &Part), best: &(Part, Part)) -> Option<Loss> {
    let of = |placement, victim| pairs.amplification(placement, victim);
    Some(Loss::of(
        of(placement, victim)?,
        of(&best.0, victim)?,
        of(placement, &best.1)?,
        of(&best.0, &best.1)?,
    ))
}
