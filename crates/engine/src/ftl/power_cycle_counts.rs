//! Counts of an FTL over all power cycles.

use crate::counters::{Cause, Counters, Operation};
use crate::ftl::Restart;
use crate::layer::{LayerReport, Reports};

/// Counts of earlier power cycles.
#[derive(Default)]
pub(super) struct PowerCycleCounts {
    earlier: LayerReport,
}

impl PowerCycleCounts {
    /// Ends the current power cycle and saves the counts of `ftl`.
    pub fn end_cycle<F: Restart>(&mut self, ftl: &F) {
        let mut reports = Reports::default();
        ftl.describe(&mut reports);
        add(&mut self.earlier, &reports.layers[0]);
    }

    /// Adds the counts of earlier power cycles to the report at index `at`, which only covers the current power cycle.
    ///
    /// Flash operations that no FTL counted come from an interrupted recovery or an interrupted request; they are added
    /// as translation.
    pub fn complete(&self, reports: &mut Reports, at: usize) {
        let Reports { layers, nand } = reports;
        let Some(nand) = nand else { return };
        let layer = &mut layers[at];
        add(layer, &self.earlier);
        let operations = [
            (Operation::Write, nand.programs),
            (Operation::Read, nand.reads),
            (Operation::Erase, nand.erases),
        ];
        for (operation, count) in operations {
            let lost = count.saturating_sub(layer.counters.outgoing_total(operation));
            layer.counters.add_outgoing(Cause::Translation, operation, lost);
        }
        if let Some(ftl) = &mut layer.ftl {
            let counted: u64 = ftl.spare_reads.iter().sum();
            ftl.spare_reads[Cause::Translation as usize] += nand.spare_reads.saturating_sub(counted);
        }
    }
}

/// Adds the counts of `other` to `report`; values that are not counts are unchanged.
fn add(report: &mut LayerReport, other: &LayerReport) {
    add_counters(&mut report.counters, &other.counters);
    if report.victim_valid_pages.len() < other.victim_valid_pages.len() {
        report.victim_valid_pages.resize(other.victim_valid_pages.len(), 0);
    }
    for (count, more) in report.victim_valid_pages.iter_mut().zip(&other.victim_valid_pages) {
        *count += more;
    }
    add_matrix(&mut report.moved_pages, &other.moved_pages);
    report.spilled_pages += other.spilled_pages;
    report.moved_again_pages += other.moved_again_pages;
    report.scatter.ranges += other.scatter.ranges;
    report.scatter.blocks += other.scatter.blocks;
    add_option(&mut report.cleanings, other.cleanings);
    add_option(&mut report.deferrals, other.deferrals);
    add_option(&mut report.evicted_pages, other.evicted_pages);
    match (&mut report.dedup, &other.dedup) {
        (Some(dedup), Some(more)) => dedup.add(more),
        (dedup, more) => *dedup = dedup.or(*more),
    }
    let Some(more) = &other.ftl else { return };
    let Some(ftl) = &mut report.ftl else {
        report.ftl = Some(more.clone());
        return;
    };
    for &(name, count) in &more.counts {
        match ftl.counts.iter_mut().find(|(other, _)| *other == name) {
            Some((_, total)) => *total += count,
            None => ftl.counts.push((name, count)),
        }
    }
    for (count, more) in ftl.spare_reads.iter_mut().zip(&more.spare_reads) {
        *count += more;
    }
}

fn add_matrix(matrix: &mut Vec<Vec<u64>>, other: &[Vec<u64>]) {
    if matrix.is_empty() {
        *matrix = other.to_vec();
        return;
    }
    let counts = matrix.iter_mut().flatten().zip(other.iter().flatten());
    counts.for_each(|(count, more)| *count += more);
}

fn add_option(count: &mut Option<u64>, other: Option<u64>) {
    *count = count.map_or(other, |own| Some(own + other.unwrap_or(0)));
}

fn add_counters(counters: &mut Counters, other: &Counters) {
    for operation in Operation::ALL {
        counters.add_incoming(operation, other.incoming(operation));
    }
    for cause in Cause::ALL {
        for operation in Operation::ALL {
            counters.add_outgoing(cause, operation, other.outgoing(cause, operation));
        }
    }
}
