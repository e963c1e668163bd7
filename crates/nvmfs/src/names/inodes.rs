//! Free and open inodes.

use super::number_set::NumberSet;
use crate::api::{Error, Ino, Result};
use crate::nvram::Nvram;
use crate::store::Region;
use std::collections::BTreeMap;
use std::ops::Range;

/// Set of free inodes, and open counts of open inodes.
pub(crate) struct Inodes {
    /// Number of the inode in the table that was allocated last.
    last: Ino,
    /// Inodes with numbers below this number are in the table.
    table_end: u32,
    free: NumberSet,
    /// Number of opens of each open inode.
    opens: BTreeMap<Ino, u64>,
}

impl Inodes {
    /// Finds the free inodes.
    pub fn new<N: Nvram>(region: &Region<N>) -> Result<Self> {
        let mut free = NumberSet::default();
        for ino in region.inos() {
            if region.raw_inode(ino)?.kind().is_none() {
                free.insert(ino.0);
            }
        }
        Ok(Inodes { last: Ino(0), table_end: region.areas.inodes, free, opens: BTreeMap::new() })
    }

    /// Returns the number of free inodes.
    pub fn free(&self) -> u32 {
        self.free.count()
    }

    /// Returns a free inode and its next generation; `None` if no inode is free. Searches the table, beginning at the
    /// inode that was allocated last. If the table is full, returns the lowest free inode, so that inode pages become
    /// empty. The inode remains free until [`Inodes::mark_used`] is called.
    pub fn find_free<N: Nvram>(&self, region: &Region<N>) -> Result<Option<(Ino, u32)>> {
        let of_table = |from| self.free.next(from).filter(|number| *number < self.table_end);
        let found = of_table(self.last.0 + 1).or_else(|| self.free.next(0)).map(Ino);
        // An inode with a damaged mode may still be allocated.
        found.map(|ino| Ok((ino, region.verified_inode(ino)?.generation.wrapping_add(1)))).transpose()
    }

    /// Marks an inode as used.
    pub fn mark_used(&mut self, ino: Ino) {
        if ino.0 < self.table_end {
            self.last = ino;
        }
        self.free.remove(ino.0);
    }

    /// Marks an inode as free.
    pub fn mark_free(&mut self, ino: Ino) {
        self.free.insert(ino.0);
    }

    /// Adds the free inodes of a new inode page.
    pub fn add(&mut self, numbers: Range<u32>) {
        numbers.for_each(|number| self.free.insert(number));
    }

    /// Removes the inodes of an inode page that was freed.
    pub fn remove(&mut self, numbers: Range<u32>) {
        numbers.for_each(|number| self.free.remove(number));
    }

    /// True if all these inodes are free and at least as many other inodes are free, so that the next files do not need
    /// these inodes.
    pub fn is_unneeded(&self, numbers: Range<u32>) -> bool {
        self.free() >= 2 * numbers.len() as u32 && numbers.clone().all(|number| self.free.has(number))
    }

    /// Increments the number of opens of an inode.
    pub fn open(&mut self, ino: Ino) {
        *self.opens.entry(ino).or_default() += 1;
    }

    /// Decrements the number of opens of an inode.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the inode is not open.
    pub fn release(&mut self, ino: Ino) -> Result<()> {
        let opens = self.opens.get_mut(&ino).ok_or(Error::Invalid("nobody has the file open"))?;
        *opens -= 1;
        if *opens == 0 {
            self.opens.remove(&ino);
        }
        Ok(())
    }

    /// True if the inode is open.
    pub fn is_open(&self, ino: Ino) -> bool {
        self.opens.contains_key(&ino)
    }
}
