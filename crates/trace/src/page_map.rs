//! A map from page numbers to small values: dense for contiguous pages, sparse over the whole 64-bit range.

use std::ops::Range;

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use wearwell_base::table;

/// Pages of one leaf. Sixteen values of four bytes fill one cache line.
const LEAF_PAGES: u64 = 16;

/// Leaves below this number are found in a table, the other leaves by hashing: 1 TiB of 4 KiB pages, 64 MiB of table at
/// most.
const DENSE_LEAVES: u64 = 1 << 24;

/// Maximum table entries per existing leaf, in a compact map.
const DENSE_ENTRIES_PER_LEAF: u64 = 8;

/// Table entries that a compact map may have regardless of its leaves.
const MIN_DENSE_ENTRIES: u64 = 256;

/// The leaf that represents all leaves without a value.
const VACANT_LEAF: u32 = 0;

/// Values of consecutive pages.
#[repr(align(64))]
#[derive(Clone, Copy)]
struct Leaf<T>([T; LEAF_PAGES as usize]);

/// Maps page numbers to values of type `T`; a page that was never set has the vacant value.
///
/// Pages are grouped into leaves of 16. A leaf is created when one of its pages is set. Memory is 4 to 64 bytes per
/// page for values of four bytes, depending on how scattered the pages are.
pub struct PageMap<T> {
    vacant: T,
    /// Index in `leaves` by leaf number, for low numbers.
    dense: Vec<u32>,
    /// Index in `leaves` by leaf number, for high numbers.
    sparse: HashMap<u64, u32, FixedState>,
    leaves: Vec<Leaf<T>>,
    /// Leaf number by index in `leaves`.
    numbers: Vec<u64>,
    is_compact: bool,
}

impl<T: Copy> PageMap<T> {
    /// Returns a map in which every page has the value `vacant`.
    pub fn new(vacant: T) -> Self {
        let leaf = Leaf([vacant; LEAF_PAGES as usize]);
        PageMap {
            vacant,
            dense: Vec::new(),
            sparse: HashMap::default(),
            leaves: vec![leaf],
            numbers: vec![u64::MAX],
            is_compact: false,
        }
    }

    /// Returns a map like [`Self::new`], but with memory that grows with the number of set pages and not with the
    /// highest page: for callers that have thousands of maps.
    pub fn compact(vacant: T) -> Self {
        PageMap { is_compact: true, ..PageMap::new(vacant) }
    }

    /// Returns the values of the pages at the beginning of `pages` that lie in one leaf.
    #[inline]
    pub fn leaf(&self, pages: Range<u64>) -> &[T] {
        let number = pages.start / LEAF_PAGES;
        let from = (pages.start % LEAF_PAGES) as usize;
        let to = (pages.end - number * LEAF_PAGES).min(LEAF_PAGES) as usize;
        &self.leaves[self.find(number) as usize].0[from..to]
    }

    /// Calls `visit` with the first page and the values of each part of `pages` in one leaf, in order; `visit` may
    /// change the values.
    ///
    /// # Errors
    /// Returns the first error of `visit`, which ends the iteration.
    #[inline]
    pub fn visit<E>(
        &mut self,
        pages: Range<u64>,
        mut visit: impl FnMut(u64, &mut [T]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut page = pages.start;
        while page < pages.end {
            let number = page / LEAF_PAGES;
            let from = (page % LEAF_PAGES) as usize;
            let to = (pages.end - number * LEAF_PAGES).min(LEAF_PAGES) as usize;
            let leaf = match self.find(number) {
                VACANT_LEAF => self.add_leaf(number),
                leaf => leaf,
            };
            visit(page, &mut self.leaves[leaf as usize].0[from..to])?;
            page += (to - from) as u64;
        }
        Ok(())
    }

    /// Calls `visit` with each page of `pages` whose leaf exists, in order, and with its value. The cost is at most
    /// proportional to the smaller of the number of pages and the number of leaves.
    pub fn visit_existing(&mut self, pages: Range<u64>, mut visit: impl FnMut(u64, &mut T)) {
        let numbers = pages.start / LEAF_PAGES..pages.end.div_ceil(LEAF_PAGES);
        let mut in_leaf = |number: u64, leaf: &mut Leaf<T>| {
            for (index, value) in (0..).zip(&mut leaf.0) {
                let page = number * LEAF_PAGES + index;
                if pages.contains(&page) {
                    visit(page, value);
                }
            }
        };
        if numbers.end.saturating_sub(numbers.start) <= self.leaves.len() as u64 {
            for number in numbers {
                if let leaf @ 1.. = self.find(number) {
                    in_leaf(number, &mut self.leaves[leaf as usize]);
                }
            }
            return;
        }
        let mut within: Vec<(u64, usize)> = self.numbers.iter().copied().zip(0..).skip(1).collect();
        within.retain(|(number, _)| numbers.contains(number));
        within.sort_unstable();
        for (number, leaf) in within {
            in_leaf(number, &mut self.leaves[leaf]);
        }
    }

    /// Returns all values of existing leaves, including vacant values, in no particular order.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.leaves[1..].iter_mut().flat_map(|leaf| &mut leaf.0)
    }

    /// Prefetches the index entry that [`Self::prefetch`] needs for `page`.
    #[inline]
    pub fn prefetch_index(&self, page: u64) {
        table::prefetch(self.dense.as_ptr().wrapping_add((page / LEAF_PAGES) as usize));
    }

    /// Prefetches the leaf of `page`, if it can be found without hashing.
    #[inline]
    pub fn prefetch(&self, page: u64) {
        if let Some(&leaf) = self.dense.get((page / LEAF_PAGES) as usize) {
            table::prefetch(&self.leaves[leaf as usize]);
        }
    }

    /// Returns the index of a leaf; [`VACANT_LEAF`] if it does not exist.
    #[inline]
    fn find(&self, number: u64) -> u32 {
        match self.dense.get(number as usize) {
            Some(&leaf) => leaf,
            None if self.sparse.is_empty() => VACANT_LEAF,
            None => self.sparse.get(&number).copied().unwrap_or(VACANT_LEAF),
        }
    }

    #[cold]
    fn add_leaf(&mut self, number: u64) -> u32 {
        let leaf = u32::try_from(self.leaves.len()).expect("fewer than 2^32 leaves fit in memory");
        if self.leaves.len() == self.leaves.capacity() {
            let mut larger = table::with_capacity(2 * self.leaves.len());
            larger.append(&mut self.leaves);
            self.leaves = larger;
        }
        self.leaves.push(Leaf([self.vacant; LEAF_PAGES as usize]));
        self.numbers.push(number);
        if number < self.dense_leaves() {
            self.grow_dense_table(number);
            self.dense[number as usize] = leaf;
        } else {
            self.sparse.insert(number, leaf);
        }
        leaf
    }

    /// Returns the number below which leaves may be in the table.
    fn dense_leaves(&self) -> u64 {
        match self.is_compact {
            false => DENSE_LEAVES,
            true => {
                let affordable = MIN_DENSE_ENTRIES.max(self.leaves.len() as u64 * DENSE_ENTRIES_PER_LEAF);
                DENSE_LEAVES.min(affordable.max(self.dense.len() as u64))
            }
        }
    }

    /// Extends the table to hold the leaf `number`, and moves leaves that the table now covers from the hash map.
    fn grow_dense_table(&mut self, number: u64) {
        let PageMap { dense: near, sparse: far, .. } = self;
        if number >= near.len() as u64 {
            let mut longer = table::filled((number as usize + 1).next_power_of_two(), VACANT_LEAF);
            longer[..near.len()].copy_from_slice(near);
            *near = longer;
            let now_dense = far.extract_if(|&number, _| number < near.len() as u64);
            let now_dense: Vec<_> = now_dense.collect();
            now_dense.into_iter().for_each(|(number, leaf)| near[number as usize] = leaf);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use std::convert::Infallible;

    /// Generates low pages, pages around the end of the table, and pages near the end of the range.
    fn any_page() -> impl Strategy<Value = u64> {
        let edge = DENSE_LEAVES * LEAF_PAGES;
        prop_oneof![0u64..100, 3_000u64..20_000, edge - 40..edge + 40, u64::MAX - 100..u64::MAX - 20]
    }

    proptest! {
        // In most cases the table of low leaves grows to its maximum.
        #![proptest_config(ProptestConfig::with_cases(16))]

        #[test]
        fn page_map_matches_btree_map(
            steps in proptest::collection::vec((any_page(), 0u64..20, any::<bool>()), 0..60),
            is_compact: bool,
        ) {
            let mut map = if is_compact { PageMap::compact(0u32) } else { PageMap::new(0u32) };
            let mut tree = BTreeMap::new();
            for (value, (first, pages, known_only)) in (1u32..).zip(steps) {
                let range = first..first + pages;
                if known_only {
                    let mut visited = Vec::new();
                    map.visit_existing(range.clone(), |page, value| if *value > 0 { visited.push((page, *value)) });
                    let expected: Vec<_> = tree.range(range).map(|(&page, &value)| (page, value)).collect();
                    prop_assert_eq!(visited, expected);
                } else {
                    let mut next = first;
                    map.visit(range.clone(), |page, values| {
                        assert_eq!(page, next);
                        next += values.len() as u64;
                        values.fill(value);
                        Ok::<_, Infallible>(())
                    }).unwrap();
                    prop_assert_eq!(next, range.end);
                    tree.extend(range.map(|page| (page, value)));
                }
            }
            for (&page, &value) in &tree {
                prop_assert_eq!(map.leaf(page..page + 1), [value]);
            }
            let set = map.values_mut().filter(|value| **value > 0).count();
            prop_assert_eq!(set, tree.len());
            let mut all = Vec::new();
            map.visit_existing(0..u64::MAX, |page, value| if *value > 0 { all.push((page, *value)) });
            prop_assert_eq!(all, tree.into_iter().collect::<Vec<_>>());
        }
    }
}
