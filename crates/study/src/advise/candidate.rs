//! Whether a change fits the stack and may be compared with it.

use super::Change;
use super::situation::Situation;
use crate::sweep::resolved;
use wearwell_stack::scenario::Scenario;

/// How far a tenant's capacity may be off, as a share. With less to hold, any stack wears better.
const CAPACITY_TOLERANCE: f64 = 0.01;

/// A change that can be tried.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub change: Change,
    /// With every default filled in.
    pub scenario: Scenario,
    /// Pages that all tenants see together.
    pub host_pages: u64,
}

impl Candidate {
    /// `change` to the stack of `base`, or why it cannot be tried.
    pub fn of(base: &Situation<'_>, change: Change) -> Result<Candidate, String> {
        let mut draft = base.draft.clone();
        change.apply(&mut draft).map_err(|error| error.to_string())?;
        let changed = Situation::of(&draft).map_err(|error| error.to_string())?;
        if changed.device.geometry != base.device.geometry {
            return Err("the drive would have more or less flash".into());
        }
        for (before, after) in base.host_pages().into_iter().zip(changed.host_pages()) {
            let off = f64::from(after) / f64::from(before) - 1.0;
            if off.abs() > CAPACITY_TOLERANCE {
                return Err(format!(
                    "the capacity above would change by {:+.1} %, from {before} to {after} pages",
                    off * 100.0
                ));
            }
        }
        let host_pages = total(&changed);
        let scenario = resolved(&draft).map_err(|error| error.to_string())?;
        Ok(Candidate { change, scenario, host_pages })
    }

    /// The stack as it is.
    pub fn unchanged(base: &Situation<'_>, scenario: Scenario) -> Candidate {
        let change = Change { family: String::new(), description: "as it is".into(), settings: Vec::new() };
        Candidate { change, scenario, host_pages: total(base) }
    }
}

fn total(situation: &Situation<'_>) -> u64 {
    situation.host_pages().into_iter().map(u64::from).sum()
}
