//! Candidates: changes that fit the stack and keep it comparable.

use super::resolved_stack::ResolvedStack;
use super::trees;
use super::{Change, Setting};
use crate::sweep::resolve_draft;
use wearwell_stack::scenario::Scenario;

/// Allowed change of a tenant's capacity, as a fraction. Any stack with less data wears less.
const CAPACITY_TOLERANCE: f64 = 0.01;

/// Fraction of the capacity that a merge tree may lose with a new shape or size; beyond it, the result is a different
/// store.
const MAX_CAPACITY_LOSS: f64 = 0.75;

/// A change that can be tried on the stack, with the resulting scenario.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    /// Change proposed by a family, or a combination of changes.
    pub proposed: Change,
    /// Proposed change together with the settings that preserve the capacity.
    pub change: Change,
    /// Scenario with all defaults resolved.
    pub scenario: Scenario,
    /// Pages visible to all tenants together.
    pub host_pages: u64,
    /// Pages visible to each tenant.
    pub tenants: Vec<u32>,
    /// Pages that each merge tree provides.
    pub trees: Vec<u32>,
}

impl Candidate {
    /// Applies `change` to the stack of `base`, or returns the reason why it cannot be tried.
    ///
    /// The capacity must remain, unless the change affects a merge tree, which may need more space for merges.
    pub fn of(base: &ResolvedStack<'_>, change: Change) -> Result<Candidate, String> {
        let candidate =
            Self::with_kept_capacity(base, change, &trees::provided_pages(base), CAPACITY_TOLERANCE)?;
        let keys = candidate.proposed.settings.iter().map(|setting| setting.key.as_str());
        let may_give_up = trees::touches_tree(base, keys);
        for (before, after) in base.host_pages().into_iter().zip(&candidate.tenants) {
            let off = f64::from(*after) / f64::from(before) - 1.0;
            let is_given_up = may_give_up && (-MAX_CAPACITY_LOSS..0.0).contains(&off);
            if off.abs() > CAPACITY_TOLERANCE && !is_given_up {
                return Err(format!(
                    "the capacity above would change by {:+.1} %, from {before} to {after} pages",
                    off * 100.0
                ));
            }
        }
        Ok(candidate)
    }

    /// Applies `change` to the stack of `base` at the capacity of `other`, whose merge trees hold less.
    pub fn at_capacity_of(
        base: &ResolvedStack<'_>,
        change: Change,
        other: &Candidate,
    ) -> Result<Candidate, String> {
        Self::with_kept_capacity(base, change, &other.trees, 0.0)
    }

    /// Returns the unchanged stack.
    pub fn unchanged(base: &ResolvedStack<'_>, scenario: Scenario) -> Candidate {
        let (tenants, trees) = (base.host_pages(), trees::provided_pages(base));
        Candidate {
            proposed: no_change(),
            change: no_change(),
            scenario,
            host_pages: total(&tenants),
            tenants,
            trees,
        }
    }

    /// True if every tenant has as much capacity as in `other`.
    pub fn has_same_capacity(&self, other: &Candidate) -> bool {
        let mut pairs = self.tenants.iter().zip(&other.tenants);
        pairs.all(|(&one, &other)| (f64::from(one) / f64::from(other) - 1.0).abs() <= CAPACITY_TOLERANCE)
    }

    fn with_kept_capacity(
        base: &ResolvedStack<'_>,
        proposed: Change,
        trees: &[u32],
        tolerance: f64,
    ) -> Result<Candidate, String> {
        let mut draft = base.draft.clone();
        proposed.apply(&mut draft).map_err(|error| error.to_string())?;
        let capacity_settings =
            trees::capacity_settings(&draft, trees, tolerance).map_err(|error| error.to_string())?;
        capacity_settings
            .iter()
            .try_for_each(|setting| setting.apply(&mut draft))
            .map_err(|error| error.to_string())?;
        let changed = ResolvedStack::of(&draft).map_err(|error| error.to_string())?;
        if changed.device.geometry != base.device.geometry {
            return Err("the drive would have more or less flash".into());
        }
        let (tenants, trees) = (changed.host_pages(), trees::provided_pages(&changed));
        let scenario = resolve_draft(&draft).map_err(|error| error.to_string())?;
        let change = with_settings(&proposed, capacity_settings);
        Ok(Candidate { proposed, change, scenario, host_pages: total(&tenants), tenants, trees })
    }
}

fn total(pages: &[u32]) -> u64 {
    pages.iter().map(|&pages| u64::from(pages)).sum()
}

/// Returns an empty change.
pub(super) fn no_change() -> Change {
    Change { family: String::new(), description: "as it is".into(), settings: Vec::new() }
}

fn with_settings(change: &Change, added: Vec<Setting>) -> Change {
    // A setting of `change` is dropped if `added` sets the same key, such as a spare factor that preserves the
    // capacity.
    let replaced = |setting: &&Setting| added.iter().all(|new| new.key != setting.key);
    let settings: Vec<Setting> = change.settings.iter().filter(replaced).cloned().collect();
    Change { settings: settings.into_iter().chain(added).collect(), ..change.clone() }
}
