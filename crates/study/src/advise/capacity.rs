//! Moves spare space between layers while tenants keep their capacity and the drive its flash.
//!
//! All spare space of a layer serves all logs on that layer, so it moves between a layer and all of those logs
//! together. The lower layer provides more or fewer pages; each log above gets the spare factor at which it provides as
//! many pages as before.

use super::resolved_stack::{ResolvedStack, fewest_digits, size_value};
use super::{Change, Family, Setting};
use wearwell_base::units::SpareSpace;
use wearwell_stack::tree::{TreeLayer, User};

pub(super) const FAMILY: Family =
    Family { name: "capacity", help: "spare space moved between each layer and the logs on it", changes };

/// Fractions of the spare space of the logs that are moved to the layer below.
const FRACTIONS_DOWN: &[f64] = &[0.25, 0.5, 0.75];
/// Fractions of the spare space of a layer that are moved to the logs above. Only small fractions are tried: an almost
/// full drive takes long to simulate and is never good.
const FRACTIONS_UP: &[f64] = &[0.25, 0.5];

fn changes(stack: &ResolvedStack<'_>) -> Vec<Change> {
    let only_logs = |at: &usize| {
        let users = &stack.layer(*at).users;
        !users.is_empty() && users.iter().all(|user| matches!(user, User::Log(_)))
    };
    stack.layers().filter(only_logs).flat_map(|at| of_layer(stack, at)).collect()
}

fn of_layer(stack: &ResolvedStack<'_>, lower: usize) -> Vec<Change> {
    let spare = |at: usize| {
        let node = stack.layer(at);
        node.physical_pages - u64::from(node.logical_pages) - u64::from(node.internal_pages)
    };
    let logs = stack.logs_on(lower);
    let above: u64 = logs.iter().map(|&log| spare(log)).sum();
    let shown = f64::from(stack.layer(lower).logical_pages);
    let names: Vec<String> = logs.iter().map(|&log| stack.display_name(log)).collect();
    let (names, own) = (names.join(" and "), stack.display_name(lower));
    let down = FRACTIONS_DOWN.iter().map(|share| {
        let text = format!("{} % of the spare space of {names} moved down to {own}", share * 100.0);
        (shown - share * above as f64, text)
    });
    let up = FRACTIONS_UP.iter().map(|share| {
        let text = format!("{} % of the spare space of {own} moved up to {names}", share * 100.0);
        (shown + share * spare(lower) as f64, text)
    });
    let moves = down.chain(up).filter_map(|(target, text)| {
        let settings = settings(stack, lower, &logs, round_to_segments(stack, &logs, target))?;
        Some(Change::new(&FAMILY, text, settings))
    });
    moves.collect()
}

/// Rounds to whole segments if a single log has all pages, otherwise to whole pages.
fn round_to_segments(stack: &ResolvedStack<'_>, logs: &[usize], pages: f64) -> u64 {
    let unit = match logs {
        [only] => f64::from(stack.layer(*only).block_pages),
        _ => 1.0,
    };
    ((pages / unit).round() * unit) as u64
}

/// Returns settings with which `lower` provides `target` pages and each of its `logs` as many as before.
fn settings(stack: &ResolvedStack<'_>, lower: usize, logs: &[usize], target: u64) -> Option<Vec<Setting>> {
    let mut settings = match lower == stack.tree.ftl() {
        true => device_settings(stack, target)?,
        false => vec![spare_factor_setting(stack.layer(lower), target)],
    };
    let mut draft = stack.draft.clone();
    let applied = settings.iter().try_for_each(|setting| setting.apply(&mut draft));
    // If the scenario cannot be resolved, the change is still proposed, and later refused with its reason.
    if let (Ok(()), Ok(resized)) = (applied, ResolvedStack::of(&draft)) {
        settings.extend(logs.iter().map(|&log| {
            let shown = u64::from(stack.layer(log).logical_pages);
            spare_factor_setting(resized.layer(log), shown)
        }));
    }
    Some(settings)
}

/// Returns the spare factor with which a log provides `logical` pages in addition to its internal pages; 0 or below if
/// impossible.
fn spare_factor_setting(log: &TreeLayer, logical: u64) -> Setting {
    let (physical, stored) = (log.physical_pages as f64, logical + u64::from(log.internal_pages));
    let exact = 1.0 - stored as f64 / physical;
    let shows = |spare: f64| (physical * (1.0 - spare)).round() as u64 == stored;
    Setting::new(format!("{}.spare_factor", log.key), fewest_digits(exact, shows))
}

/// Returns settings with which the drive provides `logical` pages on its flash, in the terms of the scenario.
fn device_settings(stack: &ResolvedStack<'_>, logical: u64) -> Option<Vec<Setting>> {
    let is_set = |key: &str| stack.draft.get(&format!("device.{key}")).is_some();
    let geometry = &stack.device.geometry;
    let (physical, block_pages) = (geometry.pages(), u64::from(geometry.pages_per_block));
    let measure = SpareSpace::NAMES.into_iter().find(|measure| is_set(measure));
    let spare = 1.0 - logical as f64 / physical as f64;
    let in_measure = |fits: &dyn Fn(f64) -> bool| {
        let measure = measure.unwrap_or("spare_factor");
        let value = fewest_digits(SpareSpace::from_spare_factor(spare).measure(measure), |value| {
            let spare = SpareSpace::spare_factor_of(measure, value);
            spare > 0.0 && spare < 1.0 && fits(spare)
        });
        Setting::new(format!("device.{measure}"), value)
    };
    let capacity = || Setting::new("device.capacity", size_value(logical * stack.page_bytes()));
    let has_physical = is_set("raw_capacity") || is_set("blocks_per_plane");
    match (is_set("capacity"), has_physical) {
        (true, true) => Some(vec![capacity()]),
        (true, false) => {
            let same_flash = |spare: f64| {
                let pages = (logical as f64 / (1.0 - spare)).round() as u64;
                // Keeps the number of blocks, and a capacity close enough to the flash that the drive counts as
                // requested.
                let is_near = 50 * (physical - logical) <= 51 * pages.saturating_sub(logical);
                pages.div_ceil(block_pages) * block_pages == physical && is_near
            };
            Some(vec![capacity(), in_measure(&same_flash)])
        }
        (false, true) => {
            Some(vec![in_measure(&|spare| (physical as f64 * (1.0 - spare)).round() as u64 == logical)])
        }
        (false, false) => None,
    }
}
