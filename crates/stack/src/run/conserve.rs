//! Conservation check: the pages sent must equal the pages received at every boundary of the tree.

use super::error::RunError;
use super::finished::TenantOutcome;
use super::traffic::Traffic;
use crate::scenario::tree::{Tree, User};
use wearwell_engine::counters::{Cause, Counters, Operation};
use wearwell_engine::layer::{FtlReport, LayerReport, NandReport, Reports};

/// Reports and counts that are compared.
struct Boundary<'a> {
    reports: &'a Reports,
    tenants: &'a [TenantOutcome],
    died: bool,
}

/// Compares what each log and each tenant sent with what its layer or partition received, and what the FTL sent with
/// what the flash received.
///
/// A drive that fails in the middle of a run of pages may have received pages that the layer above does not count as
/// sent.
pub(crate) fn check(
    tree: &Tree,
    reports: &Reports,
    tenants: &[TenantOutcome],
    died: bool,
) -> Result<(), RunError> {
    let boundary = Boundary { reports, tenants, died };
    for (at, node) in tree.layers.iter().enumerate() {
        let layer = &reports.layers[at];
        let mut through = Traffic::default();
        for &user in &node.users {
            let attachment = tree.attachment(user);
            let arrived = match attachment.partition {
                Some(index) => traffic(&layer.partitions[index].incoming),
                None => traffic(&layer.counters),
            };
            boundary.compare(&attachment.name, &node.name, boundary.sent(user), arrived)?;
            through.written += arrived.written;
            through.read += arrived.read;
            through.trimmed += arrived.trimmed;
        }
        boundary.compare("its users", &node.name, through, traffic(&layer.counters))?;
        let moved: u64 = layer.moved_pages.iter().flatten().sum();
        let cleaned = layer.counters.outgoing(Cause::Cleaning, Operation::Write);
        if !layer.moved_pages.is_empty() && moved != cleaned {
            return Err(inconsistent(format!("{}: {cleaned} pages moved, {moved} have an owner", node.name)));
        }
    }
    let lowest = &reports.layers[tree.ftl()].counters;
    let (sent, received) =
        (lowest.outgoing_total(Operation::Write), reports.nand.as_ref().map_or(0, |nand| nand.programs));
    if sent != received {
        return Err(inconsistent(format!("the FTL wrote {sent} pages, the flash took {received}")));
    }
    match (&reports.layers[tree.ftl()].ftl, &reports.nand) {
        (Some(ftl), Some(nand)) if !died => check_flash(lowest, ftl, nand),
        _ => Ok(()),
    }
}

/// Compares the reads and erases that an FTL reports with those of the flash.
fn check_flash(counters: &Counters, ftl: &FtlReport, nand: &NandReport) -> Result<(), RunError> {
    let pairs = [
        ("read", "pages", counters.outgoing_total(Operation::Read), nand.reads),
        ("read", "spare areas", ftl.spare_reads.iter().sum(), nand.spare_reads),
        ("erased", "blocks", counters.outgoing_total(Operation::Erase), nand.erases),
    ];
    match pairs.into_iter().find(|(.., sent, done)| sent != done) {
        Some((did, what, sent, done)) => {
            Err(inconsistent(format!("the FTL {did} {sent} {what}, the flash {done}")))
        }
        None => Ok(()),
    }
}

impl Boundary<'_> {
    /// Returns the traffic that a log or a tenant reports to have sent below.
    fn sent(&self, user: User) -> Traffic {
        let at = match user {
            User::Tenant(at) => return self.tenants[at].sent,
            User::Log(at) => at,
        };
        let LayerReport { counters, trims, .. } = &self.reports.layers[at];
        Traffic {
            written: counters.outgoing_total(Operation::Write),
            read: counters.outgoing_total(Operation::Read),
            trimmed: trims.sent_pages,
        }
    }

    fn compare(&self, above: &str, below: &str, sent: Traffic, taken: Traffic) -> Result<(), RunError> {
        let pairs = [
            ("wrote", sent.written, taken.written, self.died && sent.written < taken.written),
            ("read", sent.read, taken.read, self.died),
            ("trimmed", sent.trimmed, taken.trimmed, self.died),
        ];
        match pairs.into_iter().find(|(_, sent, taken, excused)| sent != taken && !excused) {
            Some((did, sent, taken, _)) => {
                Err(inconsistent(format!("{above} {did} {sent} pages on {below}, which took {taken}")))
            }
            None => Ok(()),
        }
    }
}

fn traffic(counters: &Counters) -> Traffic {
    Traffic {
        written: counters.incoming(Operation::Write),
        read: counters.incoming(Operation::Read),
        trimmed: counters.incoming(Operation::Trim),
    }
}

fn inconsistent(problem: String) -> RunError {
    RunError::Inconsistent(problem)
}
