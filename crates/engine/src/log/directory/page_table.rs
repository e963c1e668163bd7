//! A page-exact directory: the location of every logical page, and the owner of every physical page.

use super::compact::valid_owners;
use super::masks::{WORD, low_bits, match_mask};
use super::recording::{PageEntries, Writes, record_page, record_pages};
use super::{Directory, RemovedRun};
use crate::table::{Table, prefetch};
use crate::units::{BlockId, Divider, Lpn, Slot, bounds, prefix_len, run_length};
use crate::validity::RamBitmap;
use crate::victim::Blocks;

const OWNERS_PER_LINE: usize = 64 / size_of::<Lpn>();

/// Minimum length of a run that the code first tries to handle as a whole.
const MIN_LONG_RUN: usize = 16;

/// Minimum number of pages for removal with one mask, which applies to pages that lie on flash with the same gaps as in
/// the run.
const MIN_MASKED_PAGES: u32 = 6;

/// All map entries between the first and the last page are tested if at least one in `MAX_SPARSITY` of them is in the
/// list of pages.
const MAX_SPARSITY: usize = 8;

/// Map from logical to physical pages, its inverse, and a validity bit for each physical page. Memory: 4 bytes per
/// logical page; 4 bytes and a bit per physical page.
pub struct PageTable {
    slots: Table<Slot>,
    owners: Table<Lpn>,
    validity: RamBitmap,
    divider: Divider,
    mapped: u32,
}

impl PageTable {
    /// Returns a table without any stored page.
    pub fn new(logical_pages: u32, blocks: u32, pages_per_block: u32) -> Self {
        PageTable {
            slots: Table::filled(logical_pages as usize, Slot::NONE),
            owners: Table::filled(blocks as usize * pages_per_block as usize, Lpn(0)),
            validity: RamBitmap::new(blocks, pages_per_block),
            divider: Divider::new(pages_per_block),
            mapped: 0,
        }
    }

    /// Invalidates the page of `block` at index `page`, which has no owner.
    pub(in crate::log) fn invalidate_unowned(&mut self, block: BlockId, page: u32) {
        self.validity.clear(Slot(self.first_slot(block) + page));
    }

    #[inline(always)]
    fn first_slot(&self, block: BlockId) -> u32 {
        block.0 * self.divider.divisor()
    }

    #[inline(always)]
    fn split(&self, slot: Slot) -> (BlockId, u32) {
        let block = self.divider.quotient(slot.0);
        (BlockId(block), slot.0 - block * self.divider.divisor())
    }

    /// Removes up to 64 consecutive pages, some of which are not stored, as is typical for a segment that was partly
    /// invalidated and then cleaned. Calls `on_removed` for each group of pages that lie together in one block. Returns
    /// the number of pages handled.
    #[inline(always)]
    fn remove_scattered(
        &mut self,
        page: Lpn,
        pages: usize,
        on_removed: &mut impl FnMut(BlockId, RemovedRun),
    ) -> usize {
        let pages = pages.min(WORD);
        let slots = &self.slots[page.index()..page.index() + pages];
        let stored = match_mask(slots, |_, slot| slot != Slot::NONE);
        // Pages that were written in sequence are stored in sequence, with gaps where pages were invalidated.
        let (first, left_in_block) = (slots[0], self.divider.divisor() - self.split(slots[0]).1);
        let in_sequence =
            match_mask(slots, |at, slot| slot.0.wrapping_sub(at) == first.0) & low_bits(left_in_block);
        let end = (stored & !in_sequence).trailing_zeros();
        let sequential = stored & low_bits(end);
        if sequential.count_ones() >= MIN_MASKED_PAGES {
            for (slot, at) in self.slots[page.index()..].iter_mut().zip(0..pages.min(end as usize)) {
                let is_removed = slot.0.wrapping_sub(at as u32) == first.0;
                *slot = if is_removed { Slot::NONE } else { *slot };
            }
            self.validity.clear_marked(first, sequential);
            self.mapped -= sequential.count_ones();
            let marks = Some(sequential);
            on_removed(
                self.block_of_slot(first),
                RemovedRun { first: page, pages: pages as u32, mask: marks },
            );
            return pages.min(end as usize);
        }
        self.remove_marked(page, pages, stored, on_removed);
        pages
    }

    /// Removes the pages whose bit is set in `stored`, one by one.
    #[inline(always)]
    fn remove_marked(
        &mut self,
        page: Lpn,
        pages: usize,
        stored: u64,
        on_removed: &mut impl FnMut(BlockId, RemovedRun),
    ) {
        let slots = &mut self.slots[page.index()..page.index() + pages];
        let mut left = stored;
        while left != 0 {
            let block = self.divider.quotient(slots[left.trailing_zeros() as usize].0);
            let first = block * self.divider.divisor();
            let before = left;
            while left != 0 {
                let at = left.trailing_zeros() as usize;
                let slot = slots[at];
                if slot.0.wrapping_sub(first) >= self.divider.divisor() {
                    break;
                }
                slots[at] = Slot::NONE;
                self.validity.clear(slot);
                left &= left - 1;
            }
            let marks = Some(before & !left);
            on_removed(BlockId(block), RemovedRun { first: page, pages: pages as u32, mask: marks });
        }
        self.mapped -= stored.count_ones();
    }

    #[inline(always)]
    fn block_of_slot(&self, slot: Slot) -> BlockId {
        BlockId(self.divider.quotient(slot.0))
    }
}

impl PageEntries for PageTable {
    type Location = Slot;

    #[inline(always)]
    fn prefetch_entry(&self, page: Lpn) {
        prefetch(self.slots.as_ptr().wrapping_add(page.index()));
    }

    #[inline(always)]
    fn prefetch_location(&self, page: Lpn, blocks: &Blocks) {
        let slot = self.slots[page.index()];
        if slot != Slot::NONE {
            prefetch(self.validity.address(slot));
            blocks.prefetch_score(self.block_of_slot(slot));
        }
    }

    #[inline(always)]
    fn location_bytes(&self, blocks: &Blocks) -> usize {
        size_of_val(blocks.scores()) + self.validity.memory_bytes()
    }

    #[inline(always)]
    fn set_location(&mut self, page: Lpn, at: Slot) -> Option<BlockId> {
        let old = std::mem::replace(&mut self.slots[page.index()], at);
        if old == Slot::NONE {
            self.mapped += 1;
            return None;
        }
        self.validity.clear(old);
        Some(self.block_of_slot(old))
    }
}

impl Directory for PageTable {
    const PAGE_EXACT: bool = true;
    const NAME: &'static str = "page";

    #[inline]
    fn open(&mut self, block: BlockId) {
        self.validity.set_block(block);
    }

    #[inline]
    fn record_writes(
        &mut self,
        block: BlockId,
        page: u32,
        writes: Writes<'_>,
        blocks: &mut Blocks,
        mut on_invalidate: impl FnMut(BlockId, u32, &Blocks),
    ) {
        let first = self.first_slot(block) + page;
        let run = &writes.pages[..writes.length];
        if run.len() >= MIN_LONG_RUN && run_length(run) == run.len() && self.are_unstored(run[0], run.len()) {
            self.enter_owners(block, page, run[0], run.len());
            return self.record_run(block, page, run[0], run.len());
        }
        if let ([page], 1) = (writes.pages, writes.length) {
            // No later pages are known, and copying a single owner with `copy_from_slice` would be a function call.
            self.owners[first as usize] = *page;
            return record_page(self, *page, Slot(first), blocks, &mut on_invalidate);
        }
        self.owners[first as usize..first as usize + writes.length]
            .copy_from_slice(&writes.pages[..writes.length]);
        record_pages(self, writes, |at| Slot(first + at as u32), blocks, on_invalidate);
    }

    #[inline]
    fn relocate(&mut self, block: BlockId, page: u32, run: &[Lpn]) {
        let first = self.first_slot(block) + page;
        let owners = &mut self.owners[first as usize..first as usize + run.len()];
        let slots = &mut self.slots[..];
        for ((owner, &page), at) in owners.iter_mut().zip(run).zip(first..) {
            *owner = page;
            slots[page.index()] = Slot(at);
        }
    }

    #[inline]
    fn prefetch(&self, page: Lpn, second_pass: bool, blocks: &Blocks) {
        if second_pass {
            self.prefetch_location(page, blocks);
        } else {
            self.prefetch_entry(page);
        }
    }

    fn are_unstored(&self, first: Lpn, pages: usize) -> bool {
        prefix_len(&self.slots[first.index()..first.index() + pages], |_, slot| slot == Slot::NONE) == pages
    }

    fn enter_owners(&mut self, block: BlockId, page: u32, first: Lpn, pages: usize) -> &[Lpn] {
        let slot = (self.first_slot(block) + page) as usize;
        let owners = &mut self.owners[slot..slot + pages];
        owners.iter_mut().zip(first.0..).for_each(|(owner, page)| *owner = Lpn(page));
        owners
    }

    fn record_run(&mut self, block: BlockId, page: u32, first: Lpn, pages: usize) {
        let slots = self.first_slot(block) + page..;
        let entries = &mut self.slots[first.index()..first.index() + pages];
        entries.iter_mut().zip(slots).for_each(|(entry, slot)| *entry = Slot(slot));
        self.mapped += pages as u32;
    }

    fn remove(&mut self, page: Lpn) -> Option<BlockId> {
        let old = std::mem::replace(&mut self.slots[page.index()], Slot::NONE);
        (old != Slot::NONE).then(|| {
            self.mapped -= 1;
            self.validity.clear(old);
            self.block_of_slot(old)
        })
    }

    fn remove_run(&mut self, first: Lpn, pages: u32, mut on_removed: impl FnMut(BlockId, RemovedRun)) {
        let (mut at, end) = (first.index(), first.index() + pages as usize);
        while at < end {
            let slots = &mut self.slots[at..end];
            let slot = slots[0];
            if slot == Slot::NONE {
                at += prefix_len(slots, |_, other| other == Slot::NONE);
                continue;
            }
            let block = BlockId(self.divider.quotient(slot.0));
            let left = (self.divider.divisor() - (slot.0 - block.0 * self.divider.divisor())) as usize;
            let mut length = prefix_len(slots, |at, other| other.0 == slot.0.wrapping_add(at)).min(left);
            let first = Lpn(at as u32);
            if length >= MIN_LONG_RUN || length == left.min(slots.len()) {
                slots[..length].fill(Slot::NONE);
                self.validity.clear_run(slot, length as u32);
                self.mapped -= length as u32;
                on_removed(block, RemovedRun { first, pages: length as u32, mask: None });
            } else {
                length = self.remove_scattered(first, end - at, &mut on_removed);
            }
            at += length;
        }
    }

    fn count_stored(&self, pages: &[Lpn]) -> usize {
        // Usually all pages belong to one segment and all are stored.
        if let Some((first, last)) = bounds(pages) {
            let around = &self.slots[first.index()..=last.index()];
            if around.len() <= MAX_SPARSITY * pages.len()
                && around.iter().fold(true, |all, slot| all & (*slot != Slot::NONE))
            {
                return pages.len();
            }
        }
        pages.iter().filter(|page| self.slots[page.index()] != Slot::NONE).count()
    }

    fn leading_in_same_block(&self, pages: &[Lpn], indices: &mut [u32]) -> Option<(BlockId, usize)> {
        let mut last = *pages.first()?;
        let slot = self.slots[last.index()];
        if slot == Slot::NONE {
            return None;
        }
        let (block, index) = self.split(slot);
        let first = self.first_slot(block);
        indices[0] = index;
        let mut count = 1;
        for (&page, target) in pages[1..].iter().zip(&mut indices[1..]) {
            let index = self.slots[page.index()].0.wrapping_sub(first);
            if page <= last || index >= self.divider.divisor() {
                break;
            }
            *target = index;
            last = page;
            count += 1;
        }
        Some((block, count))
    }

    fn block_of(&self, page: Lpn) -> Option<BlockId> {
        let slot = self.slots[page.index()];
        (slot != Slot::NONE).then(|| self.block_of_slot(slot))
    }

    fn page_in_block(&self, page: Lpn) -> Option<u32> {
        self.location_of(page).map(|(_, index)| index)
    }

    #[inline]
    fn location_of(&self, page: Lpn) -> Option<(BlockId, u32)> {
        let slot = self.slots[page.index()];
        (slot != Slot::NONE).then(|| self.split(slot))
    }

    #[inline]
    fn prefetch_block(&self, block: BlockId) {
        let first = self.first_slot(block);
        prefetch(self.validity.address(Slot(first)));
        let first = self.owners.as_ptr().wrapping_add(first as usize);
        for page in (0..self.divider.divisor() as usize).step_by(OWNERS_PER_LINE) {
            prefetch(first.wrapping_add(page));
        }
    }

    #[inline]
    fn gather(&self, block: BlockId, written: u32, owners: &mut [Lpn], prefetch_entries: bool) {
        let first = self.first_slot(block) as usize;
        let all = &self.owners[first..first + written as usize];
        if !prefetch_entries {
            valid_owners(&self.validity, block, all, owners);
            return;
        }
        let mut output = owners.iter_mut();
        self.validity.for_each_word(block, written, |pages, mut valid| {
            let pages = &all[pages.start as usize..pages.end as usize];
            while valid != 0 {
                let (Some(target), owner) = (output.next(), pages[valid.trailing_zeros() as usize]) else {
                    return;
                };
                *target = owner;
                // The new location of this page is written to the map as soon as all pages are gathered.
                prefetch(self.slots.as_ptr().wrapping_add(owner.index()));
                valid &= valid - 1;
            }
        });
    }

    #[inline]
    fn gather_listed(&self, block: BlockId, written: u32, owners: &mut [Lpn], indices: &mut [u32]) -> usize {
        let first = self.first_slot(block) as usize;
        let all = &self.owners[first..first + written as usize];
        let (owners, indices) = (&mut owners[..all.len()], &mut indices[..all.len()]);
        let mut found = 0;
        self.validity.for_each_word(block, written, |range, mut valid| {
            while valid != 0 {
                let index = range.start + valid.trailing_zeros();
                let owner = all[index as usize];
                owners[found] = owner;
                indices[found] = index;
                found += 1;
                prefetch(self.slots.as_ptr().wrapping_add(owner.index()));
                valid &= valid - 1;
            }
        });
        found
    }

    fn invalidate_moved(&mut self, block: BlockId, written: u32) -> u32 {
        let first = self.first_slot(block);
        let mut moved = Vec::new();
        self.validity.for_each_valid(block, written, |page| {
            let slot = Slot(first + page);
            let owner = self.owners[slot.0 as usize];
            if self.slots[owner.index()] != slot {
                moved.push(slot);
            }
        });
        moved.iter().for_each(|&slot| self.validity.clear(slot));
        moved.len() as u32
    }

    fn mapped_pages(&self) -> u32 {
        self.mapped
    }

    fn memory_bytes(&self) -> usize {
        4 * (self.slots.len() + self.owners.len()) + self.validity.memory_bytes()
    }

    fn check(&self, blocks: &Blocks, written: impl Fn(BlockId) -> u32) -> Result<(), String> {
        let mut valid = vec![0u32; blocks.len() as usize];
        let mut mapped = 0;
        for (page, &slot) in self.slots.iter().enumerate().filter(|(_, slot)| **slot != Slot::NONE) {
            let (block, in_block) = self.split(slot);
            mapped += 1;
            valid[block.index()] += 1;
            if in_block >= written(block) {
                return Err(format!("page {page} is mapped to {slot:?}, which is not written"));
            }
            if self.owners[slot.0 as usize].index() != page || !self.validity.is_set(slot) {
                return Err(format!("page {page} is mapped to {slot:?}, which is invalid or another page's"));
            }
        }
        if mapped != self.mapped {
            return Err(format!("{mapped} pages are mapped, {} are counted", self.mapped));
        }
        for block in (0..blocks.len()).map(BlockId) {
            let mut set = 0;
            self.validity.for_each_valid(block, written(block), |_| set += 1);
            if set != valid[block.index()] {
                return Err(format!("{block:?}: {set} valid bits for {} valid pages", valid[block.index()]));
            }
        }
        super::check_counts(blocks, &valid, written)
    }
}

#[cfg(test)]
mod tests;
