//! Deduplication while cleaning: decisions about a victim's live pages (CAGC, sec. III.B and Figure 5).

use super::SharedTables;
use super::config::{Detect, Promotion};
use super::tables::Tables;
use crate::counters::Cause;
use crate::layer::ContentId;
use crate::log::{Decision, MigrationPolicy};
use crate::timing::{Journal, Step};
use crate::units::Lpn;

/// Hashes live pages, merges equal pages and reports the reference count of each page to the placement.
///
/// There are two differences from the paper's Figure 5. All pages of a victim are looked up before the first page is
/// written. Duplicates within a victim are thus found, and each page goes directly to the region of its final count. A
/// page that the host is just replacing is moved without a lookup.
pub(super) struct DedupMigration {
    sharing: SharedTables,
    journal: Option<Journal>,
    /// For each page of the current victim, true if it was hashed.
    hashed: Vec<bool>,
    /// Pages of the current victim, sorted.
    sorted: Vec<u32>,
}

impl DedupMigration {
    pub fn new(sharing: SharedTables, journal: Option<Journal>) -> Self {
        DedupMigration { sharing, journal, hashed: Vec::new(), sorted: Vec::new() }
    }
}

impl MigrationPolicy<ContentId> for DedupMigration {
    fn decide(&mut self, pages: &[Lpn], data: &[ContentId], decisions: &mut Vec<Decision>) {
        let DedupMigration { sharing, hashed, sorted, .. } = self;
        let mut tables = sharing.lock();
        hashed.clear();
        hashed.resize(pages.len(), false);
        sorted.clear();
        sorted.extend(pages.iter().map(|page| page.0));
        sorted.sort_unstable();
        decisions.resize(pages.len(), Decision::Move { references: 1 });
        let detect = tables.detect;
        let threshold = if let Detect::Cleaning { rehash, threshold, promotion } = detect {
            let lookup =
                VictimLookup { promotes_now: promotion == Promotion::Now, threshold, victim: sorted };
            for second_pass in [false, true] {
                let live = pages.iter().zip(data).filter(|(page, _)| page.0 < tables.slots());
                live.for_each(|(page, &content)| tables.prefetch_live(page.0, content, second_pass));
            }
            for at in 0..pages.len() {
                let (slot, content) = (pages[at].0, data[at]);
                if !tables.is_settled(slot) || !rehash && tables.content(slot) != ContentId::UNKNOWN {
                    continue;
                }
                hashed[at] = true;
                tables.report.cleaning_hashed_pages += 1;
                decisions[at] = lookup.look_up(&mut tables, slot, content);
            }
            reserve_log_page(&mut tables, decisions);
            threshold
        } else {
            u32::MAX
        };
        // Only now are all reference counts final.
        for (page, decision) in pages.iter().zip(decisions) {
            match decision {
                Decision::Move { references } if tables.is_settled(page.0) => {
                    *references = tables.references(page.0);
                    tables.set_cold(page.0, *references > threshold);
                }
                Decision::Replace { owner, references } => *references = tables.references(owner.0),
                Decision::Move { .. } | Decision::Drop => {}
            }
        }
    }

    /// Records of merges must be on flash before the victim is erased.
    fn last_page(&mut self) -> Option<(Lpn, ContentId)> {
        let mut tables = self.sharing.lock();
        let page = tables.log.as_mut().filter(|log| log.urgent)?.begin_page()?;
        Some((Lpn(tables.first_log_page() + page), ContentId::UNKNOWN))
    }

    fn last_page_written(&mut self, cause: Cause) {
        let mut tables = self.sharing.lock();
        tables.report.map_log_pages += 1;
        if let Some(log) = &mut tables.log {
            log.moving_pages[cause as usize] += 1;
            log.end_page();
        }
    }

    fn before_page(&mut self, at: usize) {
        if let (Some(journal), true) = (&self.journal, self.hashed[at]) {
            journal.push(Step::Hash { pages: 1, cause: Cause::Cleaning, percent: 100 });
        }
    }
}

/// Reserves one page write for the page of the log, because a victim must not produce more pages than it has. If no
/// page is dropped, a promotion is cancelled.
fn reserve_log_page(tables: &mut Tables, decisions: &mut [Decision]) {
    if tables.log.is_none() || decisions.contains(&Decision::Drop) {
        return;
    }
    for decision in decisions.iter_mut().rev() {
        if let Decision::Replace { owner, .. } = *decision {
            tables.set_cold(owner.0, false);
            tables.report.promoted_pages -= 1;
            *decision = Decision::Drop;
            return;
        }
    }
}

/// Data common to all pages of a victim.
struct VictimLookup<'a> {
    promotes_now: bool,
    threshold: u32,
    /// The victim's pages, sorted.
    victim: &'a [u32],
}

impl VictimLookup<'_> {
    /// Looks up a hashed page, and merges it with an equal page, if one is stored.
    fn look_up(&self, tables: &mut Tables, slot: u32, content: ContentId) -> Decision {
        let moved = Decision::Move { references: 1 };
        if content == ContentId::UNKNOWN {
            return moved;
        }
        // A lookup would find the page itself: a slot with known content is in the index.
        if tables.content(slot) != ContentId::UNKNOWN {
            tables.touch(slot);
            return moved;
        }
        let Some(found) = tables.find(content) else {
            tables.add_to_index(slot, content);
            return moved;
        };
        let equal = tables.content(found) == content;
        tables.report.collisions += u64::from(!equal);
        if tables.verify {
            tables.to_verify.push(Lpn(found));
            if !equal {
                return moved;
            }
        }
        if !tables.may_merge(slot) {
            return moved;
        }
        tables.merge(slot, found);
        // A page of this victim is moved in any case, to the region of its final reference count.
        let promoted = self.promotes_now
            && tables.references(found) > self.threshold
            && !tables.is_cold(found)
            && self.victim.binary_search(&found).is_err();
        if !promoted {
            return Decision::Drop;
        }
        tables.set_cold(found, true);
        tables.report.promoted_pages += 1;
        Decision::Replace { owner: Lpn(found), references: 1 }
    }
}
