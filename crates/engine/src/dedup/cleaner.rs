//! Deduplication while cleaning: decisions about a victim's live pages (CAGC, sec. III.B and Figure 5).

use super::Sharing;
use super::config::{Detect, Promotion};
use super::tables::Tables;
use crate::counters::Cause;
use crate::layer::Content;
use crate::log::{Migration, Verdict};
use crate::timing::{Journal, Step};
use crate::units::Lpn;

/// Hashes live pages, merges equal ones and reports each page's reference count to the placement.
///
/// There are two differences from the paper's Figure 5. All pages of a victim are looked up before the first is
/// written. Duplicates within a victim are thus found, and each page goes directly to the region of its final count.
/// A page that the host is just replacing is moved without a lookup.
pub(super) struct Cleaner {
    sharing: Sharing,
    journal: Option<Journal>,
    /// For each page of the current victim, true if it was hashed.
    hashed: Vec<bool>,
    /// Pages of the current victim, sorted.
    sorted: Vec<u32>,
}

impl Cleaner {
    pub fn new(sharing: Sharing, journal: Option<Journal>) -> Self {
        Cleaner { sharing, journal, hashed: Vec::new(), sorted: Vec::new() }
    }
}

impl Migration<Content> for Cleaner {
    fn judge(&mut self, pages: &[Lpn], data: &[Content], verdicts: &mut Vec<Verdict>) {
        let Cleaner { sharing, hashed, sorted, .. } = self;
        let mut tables = sharing.lock();
        hashed.clear();
        hashed.resize(pages.len(), false);
        sorted.clear();
        sorted.extend(pages.iter().map(|page| page.0));
        sorted.sort_unstable();
        verdicts.resize(pages.len(), Verdict::Move { references: 1 });
        let detect = tables.detect;
        let threshold = if let Detect::Cleaning { rehash, threshold, promotion } = detect {
            let looker = Looker { promotes: promotion == Promotion::Now, threshold, victim: sorted };
            for again in [false, true] {
                let live = pages.iter().zip(data).filter(|(page, _)| page.0 < tables.slots());
                live.for_each(|(page, &content)| tables.prefetch_live(page.0, content, again));
            }
            for at in 0..pages.len() {
                let (slot, content) = (pages[at].0, data[at]);
                if !tables.is_settled(slot) || !rehash && tables.content(slot) != Content::UNKNOWN {
                    continue;
                }
                hashed[at] = true;
                tables.report.cleaning_hashed_pages += 1;
                verdicts[at] = looker.look(&mut tables, slot, content);
            }
            make_room(&mut tables, verdicts);
            threshold
        } else {
            u32::MAX
        };
        // All reference counts are final only now.
        for (page, verdict) in pages.iter().zip(verdicts) {
            match verdict {
                Verdict::Move { references } if tables.is_settled(page.0) => {
                    *references = tables.references(page.0);
                    tables.set_cold(page.0, *references > threshold);
                }
                Verdict::Replace { owner, references } => *references = tables.references(owner.0),
                Verdict::Move { .. } | Verdict::Drop => {}
            }
        }
    }

    /// Records of merges must be on flash before the victim is erased.
    fn last_page(&mut self) -> Option<(Lpn, Content)> {
        let mut tables = self.sharing.lock();
        let page = tables.log.as_mut().filter(|log| log.urgent)?.begin_page()?;
        Some((Lpn(tables.first_of_log() + page), Content::UNKNOWN))
    }

    fn last_page_written(&mut self, cause: Cause) {
        let mut tables = self.sharing.lock();
        tables.report.map_log_pages += 1;
        if let Some(log) = &mut tables.log {
            log.moving_pages[cause as usize] += 1;
            log.end_page();
        }
    }

    fn reached(&mut self, at: usize) {
        if let (Some(journal), true) = (&self.journal, self.hashed[at]) {
            journal.push(Step::Hash { pages: 1, cause: Cause::Cleaning, percent: 100 });
        }
    }
}

/// Makes room for the page of the log: a victim must not produce more pages than it has. If no page is dropped, a
/// promotion is given up.
fn make_room(tables: &mut Tables, verdicts: &mut [Verdict]) {
    if tables.log.is_none() || verdicts.contains(&Verdict::Drop) {
        return;
    }
    for verdict in verdicts.iter_mut().rev() {
        if let Verdict::Replace { owner, .. } = *verdict {
            tables.set_cold(owner.0, false);
            tables.report.promoted_pages -= 1;
            *verdict = Verdict::Drop;
            return;
        }
    }
}

/// Data common to all pages of a victim.
struct Looker<'a> {
    promotes: bool,
    threshold: u32,
    /// The victim's pages, sorted.
    victim: &'a [u32],
}

impl Looker<'_> {
    /// Looks up a hashed page, and merges it with an equal one.
    fn look(&self, tables: &mut Tables, slot: u32, content: Content) -> Verdict {
        let moved = Verdict::Move { references: 1 };
        if content == Content::UNKNOWN {
            return moved;
        }
        // A lookup would find the page itself: a slot with known content is in the index.
        if tables.content(slot) != Content::UNKNOWN {
            tables.touch(slot);
            return moved;
        }
        let Some(found) = tables.find(content) else {
            tables.learn(slot, content);
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
        // A page of this victim is moved anyway, to the region of its final count.
        let promoted = self.promotes
            && tables.references(found) > self.threshold
            && !tables.is_cold(found)
            && self.victim.binary_search(&found).is_err();
        if !promoted {
            return Verdict::Drop;
        }
        tables.set_cold(found, true);
        tables.report.promoted_pages += 1;
        Verdict::Replace { owner: Lpn(found), references: 1 }
    }
}
