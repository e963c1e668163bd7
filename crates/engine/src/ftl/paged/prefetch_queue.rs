//! Pages and evictions known in advance, collected in groups for prefetching.

use crate::units::Lpn;

/// Number of pages, or of evictions from the mapping cache, for which a prefetching step is done at a time.
pub const GROUP: usize = 16;
/// Number of groups of pages that are remembered; more than one, because one eviction can add pages beyond the end of
/// a group.
const GROUPS: usize = 4;

/// User pages whose translation entries will be replaced soon, in the order in which they were found, and the number
/// of entries evicted from the cache.
pub struct PrefetchQueue {
    pages: [Lpn; GROUPS * GROUP],
    page_count: usize,
    evictions: usize,
}

impl Default for PrefetchQueue {
    fn default() -> Self {
        PrefetchQueue { pages: [Lpn(0); GROUPS * GROUP], page_count: 0, evictions: 0 }
    }
}

impl PrefetchQueue {
    /// Adds a page.
    #[inline(always)]
    pub fn push(&mut self, page: Lpn) {
        self.pages[self.page_count % self.pages.len()] = page;
        self.page_count += 1;
    }

    /// Returns the number of complete groups.
    #[inline(always)]
    pub fn groups(&self) -> usize {
        self.page_count / GROUP
    }

    /// Returns the pages of a complete group: 1 for the last group, 2 for the one before.
    pub fn group(&self, age: usize) -> &[Lpn] {
        let number = (self.groups() + GROUPS - age) % GROUPS;
        &self.pages[number * GROUP..][..GROUP]
    }

    /// Counts an eviction. Returns true if it completes a group of evictions.
    #[inline(always)]
    pub fn count_eviction(&mut self) -> bool {
        self.evictions += 1;
        self.evictions.is_multiple_of(GROUP)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn group_returns_last_groups_in_order() {
        let mut queue = PrefetchQueue::default();
        (0..2 * GROUP as u32 + 3).for_each(|page| queue.push(Lpn(page)));
        assert_eq!(queue.groups(), 2);
        assert_eq!([queue.group(1)[0], queue.group(2)[1]], [Lpn(GROUP as u32), Lpn(1)]);
        assert_eq!((0..3 * GROUP).filter(|_| queue.count_eviction()).count(), 3);
    }
}
