//! Map from logical pages to content IDs.

/// Number of pages in a leaf.
const LEAF_PAGES: usize = 512;

/// Content ID of each logical page, or 0 if the page has no content. Only parts that were written take memory.
pub struct Table {
    leaves: Vec<Option<Box<[u64; LEAF_PAGES]>>>,
    /// Content ID of all pages without a leaf.
    default_id: u64,
}

/// Content ID of a page with unknown content; the next read of the page determines the content.
pub const UNKNOWN: u64 = u64::MAX;

impl Table {
    /// Creates a table of empty pages.
    pub fn new(pages: u32) -> Self {
        Table { leaves: vec![None; (pages as usize).div_ceil(LEAF_PAGES)], default_id: 0 }
    }

    /// Creates a table of pages with unknown content.
    pub fn unknown(pages: u32) -> Self {
        Table { default_id: UNKNOWN, ..Table::new(pages) }
    }

    /// Returns the content ID of `page`.
    pub fn get(&self, page: u32) -> u64 {
        let page = page as usize;
        self.leaves[page / LEAF_PAGES].as_ref().map_or(self.default_id, |leaf| leaf[page % LEAF_PAGES])
    }

    /// Sets the content ID of `page`, and returns the old content ID.
    pub fn set(&mut self, page: u32, content_id: u64) -> u64 {
        let page = page as usize;
        let (leaf, default_id) = (&mut self.leaves[page / LEAF_PAGES], self.default_id);
        if content_id == default_id && leaf.is_none() {
            return content_id;
        }
        std::mem::replace(
            &mut leaf.get_or_insert_with(|| Box::new([default_id; LEAF_PAGES]))[page % LEAF_PAGES],
            content_id,
        )
    }

    /// Returns the end of the run of pages from `page` on that either all have content or all have no content; the
    /// result is at most `end`.
    pub fn end_of_run(&self, page: u32, end: u32) -> u32 {
        let mapped = self.get(page) != 0;
        let mut at = page;
        while at < end && (self.get(at) != 0) == mapped {
            let whole_leaf =
                mapped == (self.default_id != 0) && self.leaves[at as usize / LEAF_PAGES].is_none();
            at = if whole_leaf { (at / LEAF_PAGES as u32 + 1) * LEAF_PAGES as u32 } else { at + 1 };
        }
        at.min(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_ends_where_content_begins_or_ends() {
        let mut table = Table::new(3000);
        assert_eq!(
            (table.set(1500, 0), table.set(1500, 7), table.set(1501, 8), table.get(1500)),
            (0, 0, 0, 7)
        );
        assert_eq!((table.end_of_run(0, 3000), table.end_of_run(0, 700)), (1500, 700));
        assert_eq!((table.end_of_run(1500, 3000), table.end_of_run(1502, 3000)), (1502, 3000));
        assert_eq!((table.set(1500, 0), table.end_of_run(0, 3000)), (7, 1501));
    }

    #[test]
    fn unknown_pages_count_as_content() {
        let mut table = Table::unknown(3000);
        assert_eq!((table.set(1500, 0), table.set(1501, 8)), (UNKNOWN, UNKNOWN));
        assert_eq!((table.get(1499), table.get(1500), table.get(1501)), (UNKNOWN, 0, 8));
        assert_eq!((table.end_of_run(0, 3000), table.end_of_run(1501, 3000)), (1500, 3000));
    }
}
