//! Conservation check: the pages sent must equal the pages received at every boundary of the tree.

use super::error::RunError;
use super::finished::TenantOutcome;
use super::traffic::Traffic;
use crate::scenario::tree::{Tree, User};
use wearwell_engine::counters::{Cause, Counters, Operation};
use wearwell_engine::layer::{FtlReport, LayerReport, NandReport, Reports};

/// Reports and counts that are compared.
struct TrafficCheck<'a> {
    reports: &'a Reports,
    tenants: &'a [TenantOutcome],
    reached_end_of_life: bool,
}

/// Compares what each log and each tenant sent with what its layer or partition received, and what the FTL sent with
/// what the flash received.
///
/// Writes are equal in every run, also if a drive fails in the middle of a run of pages. Reads and trims that a failing
/// drive refuses may count on one side only.
pub(crate) fn check(
    tree: &Tree,
    reports: &Reports,
    tenants: &[TenantOutcome],
    reached_end_of_life: bool,
) -> Result<(), RunError> {
    let traffic_check = TrafficCheck { reports, tenants, reached_end_of_life };
    for (at, node) in tree.layers.iter().enumerate() {
        let layer = &reports.layers[at];
        let mut total = Traffic::default();
        for &user in &node.users {
            let attachment = tree.attachment(user);
            let received = match attachment.partition {
                Some(index) => traffic(&layer.partitions[index].incoming),
                None => traffic(&layer.counters),
            };
            traffic_check.compare(&attachment.name, &node.name, traffic_check.sent(user), received)?;
            total.written += received.written;
            total.read += received.read;
            total.trimmed += received.trimmed;
        }
        traffic_check.compare("its users", &node.name, total, traffic(&layer.counters))?;
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
        (Some(ftl), Some(nand)) if !reached_end_of_life => check_flash(lowest, ftl, nand),
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

impl TrafficCheck<'_> {
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

    fn compare(&self, above: &str, below: &str, sent: Traffic, received: Traffic) -> Result<(), RunError> {
        let pairs = [
            ("wrote", sent.written, received.written, false),
            ("read", sent.read, received.read, self.reached_end_of_life),
            ("trimmed", sent.trimmed, received.trimmed, self.reached_end_of_life),
        ];
        match pairs.into_iter().find(|(_, sent, taken, is_excused)| sent != taken && !is_excused) {
            Some((operation, sent, taken, _)) => {
                Err(inconsistent(format!("{above} {operation} {sent} pages on {below}, which took {taken}")))
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
