//! Which content each logical page holds.

/// Pages of a leaf.
const LEAF: usize = 512;

/// A name for each logical page, 0 for one that holds nothing; takes memory for what was written only.
pub struct Table {
    leaves: Vec<Option<Box<[u64; LEAF]>>>,
    /// What pages without a leaf hold.
    elsewhere: u64,
}

/// Stands for a page that may hold anything: what it holds is what it is found to hold.
pub const UNSETTLED: u64 = u64::MAX;

impl Table {
    /// Of so many pages, none of which holds anything.
    pub fn new(pages: u32) -> Self {
        Table { leaves: vec![None; (pages as usize).div_ceil(LEAF)], elsewhere: 0 }
    }

    /// Of so many pages, of which nobody knows yet what they hold.
    pub fn unsettled(pages: u32) -> Self {
        Table { elsewhere: UNSETTLED, ..Table::new(pages) }
    }

    /// What `page` holds.
    pub fn get(&self, page: u32) -> u64 {
        let page = page as usize;
        self.leaves[page / LEAF].as_ref().map_or(self.elsewhere, |leaf| leaf[page % LEAF])
    }

    /// Now it holds this; what it held before.
    pub fn set(&mut self, page: u32, name: u64) -> u64 {
        let page = page as usize;
        let (leaf, elsewhere) = (&mut self.leaves[page / LEAF], self.elsewhere);
        if name == elsewhere && leaf.is_none() {
            return name;
        }
        std::mem::replace(&mut leaf.get_or_insert_with(|| Box::new([elsewhere; LEAF]))[page % LEAF], name)
    }

    /// The first page from `page` on, before `end`, that holds something if this one does not, or nothing if it does.
    pub fn end_of_run(&self, page: u32, end: u32) -> u32 {
        let mapped = self.get(page) != 0;
        let mut at = page;
        while at < end && (self.get(at) != 0) == mapped {
            let whole_leaf = mapped == (self.elsewhere != 0) && self.leaves[at as usize / LEAF].is_none();
            at = if whole_leaf { (at / LEAF as u32 + 1) * LEAF as u32 } else { at + 1 };
        }
        at.min(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_end_where_what_is_held_begins_or_ends() {
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
    fn what_is_not_settled_may_be_anything() {
        let mut table = Table::unsettled(3000);
        assert_eq!((table.set(1500, 0), table.set(1501, 8)), (UNSETTLED, UNSETTLED));
        assert_eq!((table.get(1499), table.get(1500), table.get(1501)), (UNSETTLED, 0, 8));
        assert_eq!((table.end_of_run(0, 3000), table.end_of_run(1501, 3000)), (1500, 3000));
    }
}
