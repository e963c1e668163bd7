//! Classes of pages with equal write rates in a workload, for a model.

use wearwell_engine::log::CopyOrder;
use wearwell_theory::{Class, Classes};
use wearwell_workload::{Part, RequestConfig, RequestPages, WorkloadConfig};

/// Pattern of writes of a workload, for a model.
pub struct WritePattern {
    /// Classes of pages.
    pub classes: Classes,
    /// Pages that are always written together and count as one page of the model.
    unit_pages: u32,
    /// Differences between the workload and the model.
    pub notes: Vec<String>,
}

impl WritePattern {
    /// Returns the units per block of `pages_per_block` pages.
    ///
    /// # Errors
    ///
    /// Returns an error if a block does not hold whole units, or if `copy_order` separates the pages of a unit.
    pub fn units_of(&self, pages_per_block: u32, copy_order: CopyOrder) -> Result<u32, String> {
        let unit = self.unit_pages;
        if !pages_per_block.is_multiple_of(unit) {
            return Err(format!(
                "blocks of {pages_per_block} pages do not hold whole requests of {unit} pages"
            ));
        }
        if unit > 1 && copy_order == CopyOrder::Random {
            return Err(format!("`copy_order = \"random\"` tears requests of {unit} pages apart"));
        }
        Ok(pages_per_block / unit)
    }
}

/// Classes before validation of their sums, and the number of pages that are written together.
struct RawClasses {
    classes: Vec<Class>,
    unit_pages: u32,
}

/// Returns the pattern in which `workload` writes to `logical_pages` pages.
///
/// # Errors
///
/// Returns the reason why no model applies.
pub fn of(workload: &WorkloadConfig, logical_pages: u32) -> Result<WritePattern, String> {
    let RawClasses { classes, unit_pages } = raw_classes(workload, logical_pages)?;
    let classes = Classes::new(&classes).map_err(|error| format!("of the workload, {error}"))?;
    let notes = match unit_pages {
        1 => Vec::new(),
        unit => vec![format!(
            "requests of {unit} pages live and die together: a page of the model is {unit} pages"
        )],
    };
    Ok(WritePattern { classes, unit_pages, notes })
}

fn raw_classes(workload: &WorkloadConfig, logical_pages: u32) -> Result<RawClasses, String> {
    match workload {
        WorkloadConfig::Uniform(uniform) => {
            let unit_pages = unit_pages(&uniform.requests, logical_pages)?;
            Ok(RawClasses { classes: vec![Class { write_share: 1.0, space_share: 1.0 }], unit_pages })
        }
        WorkloadConfig::HotCold(load) => {
            let unit_pages = unit_pages(&load.requests, logical_pages)?;
            require_neighbours(&load.requests, unit_pages)?;
            let hot_space = (f64::from(logical_pages) * load.hot_space).round() / f64::from(logical_pages);
            let hot = Class { write_share: load.hot_writes, space_share: hot_space };
            let cold = Class { write_share: 1.0 - load.hot_writes, space_share: 1.0 - hot_space };
            let all = Class { write_share: 1.0, space_share: 1.0 };
            let is_uniform = load.hot_writes == 1.0 && load.hot_space == 1.0;
            Ok(RawClasses { classes: if is_uniform { vec![all] } else { vec![hot, cold] }, unit_pages })
        }
        WorkloadConfig::Zipf(zipf) => {
            let unit_pages = unit_pages(&zipf.requests, logical_pages)?;
            if unit_pages > 1 {
                return Err("Zipf's law of requests longer than a page is not modelled".into());
            }
            let classes = Classes::zipf(zipf.exponent, u64::from(logical_pages));
            let classes = classes.map_err(|error| format!("of the workload, {error}"))?;
            Ok(RawClasses { classes: classes.as_slice().to_vec(), unit_pages })
        }
        WorkloadConfig::Mixed(mixed) => mixture(&mixed.parts, logical_pages),
        other => Err(format!("of the workload `{}` there is no model", other.name())),
    }
}

/// Combines the classes of all parts, which must cover the address space.
fn mixture(components: &[Part], logical_pages: u32) -> Result<RawClasses, String> {
    let space: f64 = components.iter().map(|part| part.space).sum();
    if (space - 1.0).abs() > 1e-9 {
        return Err("some pages are never written".into());
    }
    let rates: Vec<f64> =
        components.iter().map(|part| part.weight * part.workload.written_per_request()).collect();
    let rate: f64 = rates.iter().sum();
    let mut found = RawClasses { classes: Vec::new(), unit_pages: 0 };
    for (part, part_rate) in components.iter().zip(rates) {
        let pages = (f64::from(logical_pages) * part.space).round() as u32;
        let RawClasses { classes, unit_pages } = raw_classes(&part.workload, pages.max(1))?;
        if found.unit_pages != 0 && found.unit_pages != unit_pages {
            return Err("requests differ in length".into());
        }
        found.unit_pages = unit_pages;
        found.classes.extend(classes.into_iter().map(|class| Class {
            write_share: class.write_share * part_rate / rate,
            space_share: class.space_share * part.space,
        }));
    }
    Ok(found)
}

/// Returns the length of all writes, in pages.
fn unit_pages(requests: &RequestConfig, logical_pages: u32) -> Result<u32, String> {
    if requests.trim_ratio > 0.0 {
        return Err("discards are not modelled".into());
    }
    if requests.written_per_request() <= 0.0 {
        return Err("nothing is written".into());
    }
    match &requests.request_pages {
        RequestPages::Fixed(pages) if logical_pages.is_multiple_of(*pages) => Ok(*pages),
        RequestPages::Fixed(pages) => {
            Err(format!("requests of {pages} pages are cut off at the end of {logical_pages} pages"))
        }
        RequestPages::Mix(_) => Err("requests differ in length".into()),
    }
}

/// Refuses requests that include pages of another class.
fn require_neighbours(requests: &RequestConfig, unit_pages: u32) -> Result<(), String> {
    if requests.scatter && unit_pages > 1 {
        return Err("with `scatter`, requests longer than a page bring along pages of other classes".into());
    }
    Ok(())
}
