//! Which inodes are free, and which are open.

use crate::api::{Error, Ino, Result};
use crate::layout::Inode;
use crate::nvram::Nvram;
use crate::store::Region;
use std::collections::BTreeMap;

/// Which inodes are free, and which are open.
pub(crate) struct Inodes {
    /// The number given last.
    last: Ino,
    /// How many are free.
    free: u32,
    /// How often each is open.
    opens: BTreeMap<Ino, u64>,
}

/// All inode numbers.
pub(super) fn all<N: Nvram>(region: &Region<N>) -> impl Iterator<Item = Ino> + use<N> {
    (1..region.areas.inodes).map(Ino)
}

impl Inodes {
    /// Counts the free ones.
    pub fn new<N: Nvram>(region: &Region<N>) -> Result<Self> {
        let mut free = 0;
        for ino in all(region) {
            free += u32::from(region.raw_inode(ino)?.kind().is_none());
        }
        Ok(Inodes { last: Ino(0), free, opens: BTreeMap::new() })
    }

    /// How many are free.
    pub fn free(&self) -> u32 {
        self.free
    }

    /// The first free inode after the one given last, with the generation that it will have. It is free until
    /// [`Inodes::given`].
    pub fn find_free<N: Nvram>(&self, region: &Region<N>) -> Result<(Ino, u32)> {
        if self.free > 0 {
            let after = self.last.0 + 1..region.areas.inodes;
            for ino in after.chain(1..self.last.0 + 1).map(Ino) {
                let inode: Inode = region.raw_inode(ino)?;
                if inode.kind().is_none() {
                    // One whose mode was damaged may be in use.
                    return Ok((ino, region.sound_inode(ino)?.generation.wrapping_add(1)));
                }
            }
        }
        Err(Error::NoSpace("no inode is free"))
    }

    /// An inode is now in use.
    pub fn given(&mut self, ino: Ino) {
        self.last = ino;
        self.free -= 1;
    }

    /// An inode is free again.
    pub fn freed(&mut self) {
        self.free += 1;
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
