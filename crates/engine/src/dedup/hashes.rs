//! Hashes of host pages, recorded in the journal and counted.

use super::tables::Tables;
use crate::counters::Cause;
use crate::layer::{ContentId, DedupReport};
use crate::timing::{Journal, Step};

/// Treatment of a page's content before it is stored.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LookupMode {
    /// No lookup.
    Skip,
    /// Lookup by a hash that was computed and timed already.
    AlreadyHashed,
    /// Lookup by a hash that was already computed and whose time was already recorded.
    Hash,
    /// Hash and lookup only if the weak hash is found.
    WeakHash { percent: u32 },
}

fn record_hash(journal: &Option<Journal>, percent: u32) {
    if let Some(journal) = journal {
        journal.push(Step::Hash { pages: 1, cause: Cause::Host, percent });
    }
}

/// Records the full hash of a host page.
pub(super) fn record_full_hash(journal: &Option<Journal>, report: &mut DedupReport) {
    record_hash(journal, 100);
    report.host_hashed_pages += 1;
}

/// Records the hashes that a page needs; returns true if the page is then looked up.
pub(super) fn account_hash(
    journal: &Option<Journal>,
    tables: &mut Tables,
    content: ContentId,
    mode: LookupMode,
) -> bool {
    match mode {
        LookupMode::Skip => false,
        LookupMode::AlreadyHashed => true,
        LookupMode::Hash => {
            record_full_hash(journal, &mut tables.report);
            true
        }
        LookupMode::WeakHash { percent } => {
            record_hash(journal, percent);
            tables.report.pre_hashed_pages += 1;
            let may_contain = tables.index().may_contain(content);
            if may_contain {
                record_full_hash(journal, &mut tables.report);
            } else {
                tables.report.idle_hashed_pages += 1;
            }
            may_contain
        }
    }
}
