//! Which inodes are free, and which are open.

use super::free::Free;
use crate::api::{Error, Ino, Result};
use crate::nvram::Nvram;
use crate::store::Region;
use std::collections::BTreeMap;
use std::ops::Range;

/// Which inodes are free, and which are open.
pub(crate) struct Inodes {
    /// The number in the table given last.
    last: Ino,
    /// Numbers below are in the table.
    table_end: u32,
    free: Free,
    /// How often each is open.
    opens: BTreeMap<Ino, u64>,
}

impl Inodes {
    /// Looks which are free.
    pub fn new<N: Nvram>(region: &Region<N>) -> Result<Self> {
        let mut free = Free::default();
        for ino in region.inos() {
            if region.raw_inode(ino)?.kind().is_none() {
                free.insert(ino.0);
            }
        }
        Ok(Inodes { last: Ino(0), table_end: region.areas.inodes, free, opens: BTreeMap::new() })
    }

    /// How many are free.
    pub fn free(&self) -> u32 {
        self.free.count()
    }

    /// A free inode, with the generation that it will have; `None` if none is free. Of the table the first after the one given last;
    /// if that is full the lowest, so that pages of them become empty. It is free until [`Inodes::given`].
    pub fn find_free<N: Nvram>(&self, region: &Region<N>) -> Result<Option<(Ino, u32)>> {
        let of_table = |from| self.free.next(from).filter(|number| *number < self.table_end);
        let found = of_table(self.last.0 + 1).or_else(|| self.free.next(0)).map(Ino);
        // One whose mode was damaged may be in use.
        found.map(|ino| Ok((ino, region.sound_inode(ino)?.generation.wrapping_add(1)))).transpose()
    }

    /// An inode is now in use.
    pub fn given(&mut self, ino: Ino) {
        if ino.0 < self.table_end {
            self.last = ino;
        }
        self.free.remove(ino.0);
    }

    /// An inode is free again.
    pub fn freed(&mut self, ino: Ino) {
        self.free.insert(ino.0);
    }

    /// There are these besides, all free.
    pub fn came(&mut self, numbers: Range<u32>) {
        numbers.for_each(|number| self.free.insert(number));
    }

    /// These are there no more.
    pub fn went(&mut self, numbers: Range<u32>) {
        numbers.for_each(|number| self.free.remove(number));
    }

    /// Whether these are all free, and as many others besides, so that the next few files need none of them.
    pub fn can_go(&self, numbers: Range<u32>) -> bool {
        self.free() >= 2 * numbers.len() as u32 && numbers.clone().all(|number| self.free.has(number))
    }

    /// A user more.
    pub fn open(&mut self, ino: Ino) {
        *self.opens.entry(ino).or_default() += 1;
    }

    /// A user less.
    ///
    /// # Errors
    /// [`Error::Invalid`] if there is none.
    pub fn release(&mut self, ino: Ino) -> Result<()> {
        let opens = self.opens.get_mut(&ino).ok_or(Error::Invalid("nobody has the file open"))?;
        *opens -= 1;
        if *opens == 0 {
            self.opens.remove(&ino);
        }
        Ok(())
    }

    /// Whether anybody uses it.
    pub fn is_open(&self, ino: Ino) -> bool {
        self.opens.contains_key(&ino)
    }
}
