//! State of a stack at one moment.

use crate::build::{Stack, Target};
use std::collections::BTreeSet;
use wearwell_engine::counters::{Counters, Operation};
use wearwell_engine::layer::{LayerReport, NandReport, Payload, Reports};

/// Reports of a stack's layers at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Snapshot {
    /// Reports of the layers and of the flash.
    pub reports: Reports,
    host_pages: u64,
    mapped_share: f64,
}

impl Snapshot {
    /// Takes a snapshot of the stack.
    pub fn take<P: Payload>(stack: &Stack<P>) -> Self {
        let mut snapshot = Snapshot { reports: stack.describe(), ..Snapshot::default() };
        let tenants = 0..stack.targets.len();
        snapshot.host_pages = tenants.map(|at| snapshot.incoming(stack, at).incoming(Operation::Write)).sum();
        let layers = &snapshot.reports.layers;
        let written_to: BTreeSet<usize> = stack.targets.iter().map(|target| target.layer_index).collect();
        let sum = |amount: fn(&LayerReport) -> u32| -> u64 {
            written_to.iter().map(|&at| u64::from(amount(&layers[at]))).sum()
        };
        snapshot.mapped_share =
            sum(|layer| layer.mapped_pages) as f64 / sum(|layer| layer.logical_pages) as f64;
        snapshot
    }

    /// Returns the traffic received from tenant `at`.
    pub fn incoming<P>(&self, stack: &Stack<P>, at: usize) -> Counters {
        let Target { layer_index: on, partition, .. } = stack.targets[at];
        let layer = &self.reports.layers[on];
        partition.map_or(layer.counters, |partition| layer.partitions[partition].incoming)
    }

    /// Returns the reports with the counts of layers and flash since `earlier`, which is empty or of the same stack.
    /// An FTL and its flash count different parts of a recovery, so only counts since its end can be compared.
    pub fn reports_since(&self, earlier: &Snapshot) -> Reports {
        let mut reports = self.reports.clone();
        for (layer, earlier) in reports.layers.iter_mut().zip(&earlier.reports.layers) {
            layer.counters = layer.counters.since(&earlier.counters);
            if let (Some(ftl), Some(earlier)) = (&mut layer.ftl, &earlier.ftl) {
                let counts = ftl.spare_reads.iter_mut().zip(earlier.spare_reads);
                counts.for_each(|(count, earlier)| *count -= earlier);
            }
        }
        if let (Some(nand), Some(earlier)) = (&mut reports.nand, &earlier.reports.nand) {
            nand.programs -= earlier.programs;
            nand.reads -= earlier.reads;
            nand.spare_reads -= earlier.spare_reads;
            nand.erases -= earlier.erases;
        }
        reports
    }

    /// Returns the report of the flash.
    pub fn nand(&self) -> &NandReport {
        self.reports.nand.as_ref().expect("every stack stands on flash")
    }

    /// Returns the pages that all tenants wrote since the drive was new.
    pub fn host_pages(&self) -> u64 {
        self.host_pages
    }

    /// Returns the pages programmed since the drive was new.
    pub fn programs(&self) -> u64 {
        self.nand().programs
    }

    /// Returns the blocks erased since the drive was new.
    pub fn erases(&self) -> u64 {
        self.nand().erases
    }

    /// Returns the blocks that wore out since the drive was new.
    pub fn worn_out_blocks(&self) -> u32 {
        self.nand().worn_out_blocks
    }

    /// Returns the fraction of pages that hold data, on the layers that tenants write to.
    pub fn mapped_share(&self) -> f64 {
        self.mapped_share
    }
}
