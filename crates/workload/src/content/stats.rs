//! Simple deduplicating store that measures the contents that a workload writes.

use crate::PageBatch;
use std::collections::{BTreeMap, HashMap, HashSet};
use wearwell_base::content::ContentId;
use wearwell_base::request::Op;

/// Counts of contents, duplicates and references.
#[derive(Default)]
pub struct ContentStats {
    /// Number of requests.
    pub requests: u64,
    /// Number of write requests.
    pub writes: u64,
    /// Number of pages of all requests.
    pub pages: u64,
    /// Number of written pages.
    pub written: u64,
    /// Number of written pages whose content was written before.
    pub duplicates: u64,
    /// Number of pages that were overwritten.
    pub overwritten: u64,
    /// Number of pages that were overwritten by the content they already had.
    pub same_content: u64,
    /// Number of contents that lost their last reference, by the largest number of references they had at a time.
    pub unreferenced: BTreeMap<u32, u64>,
    known: HashSet<ContentId>,
    stored: HashMap<u64, ContentId>,
    /// Current number of references of each content, and the maximum of this number since it was last 0.
    references: HashMap<ContentId, (u32, u32)>,
}

impl ContentStats {
    pub fn add(&mut self, batch: &PageBatch) {
        let mut contents = batch.contents.iter();
        for (run, pages) in batch.iter() {
            let requests = pages.len() as u64 / u64::from(run.request_pages.max(1));
            self.requests += requests;
            self.pages += pages.len() as u64;
            self.writes += requests * u64::from(run.op == Op::Write);
            for page in pages {
                let content = *contents.next().expect("a content for each page");
                if run.op == Op::Write {
                    self.write(u64::from(page.0), content);
                }
            }
        }
    }

    pub fn write(&mut self, page: u64, content: ContentId) {
        assert_ne!(content, ContentId::UNKNOWN);
        self.written += 1;
        self.duplicates += u64::from(!self.known.insert(content));
        let old = self.stored.insert(page, content);
        self.overwritten += u64::from(old.is_some());
        if old == Some(content) {
            self.same_content += 1;
            return;
        }
        let (now, max) = self.references.entry(content).or_default();
        *now += 1;
        *max = (*max).max(*now);
        if let Some(old) = old {
            let (now, max) = self.references.get_mut(&old).unwrap();
            *now -= 1;
            if *now == 0 {
                *self.unreferenced.entry(*max).or_default() += 1;
                self.references.remove(&old);
            }
        }
    }

    /// Resets the counts and keeps the stored contents.
    pub fn reset_counts(&mut self) {
        let ContentStats { known, stored, references, .. } = std::mem::take(self);
        *self = ContentStats { known, stored, references, ..ContentStats::default() };
    }

    /// Returns the share of the written pages whose content was written before.
    pub fn dedup_ratio(&self) -> f64 {
        self.duplicates as f64 / self.written as f64
    }

    /// Returns the share of the contents without references that had at least `min_references` references at a time.
    pub fn unreferenced_share(&self, min_references: u32) -> f64 {
        let all: u64 = self.unreferenced.values().sum();
        self.unreferenced.range(min_references..).map(|(_, count)| count).sum::<u64>() as f64 / all as f64
    }

    /// Returns the number of references of each stored content, in descending order.
    pub fn reference_counts(&self) -> Vec<u32> {
        let mut counts: Vec<u32> = self.references.values().map(|(now, _)| *now).collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        counts
    }
}
