//! Locations of the structures in an image.

use super::image::Image;
use wearwell_nvmfs::api::{BLOCK_BYTES, Ino, Kind};
use wearwell_nvmfs::layout::{BlockLocation, INODE_BYTES, Inode};

/// Offsets of the inodes in use, including the file of inode pages, and offsets of pages by their content.
#[derive(Debug, Default)]
pub struct Structures {
    pub inodes: Vec<usize>,
    pub inode_pages: Vec<usize>,
    pub directories: Vec<usize>,
    pub pointers: Vec<usize>,
    pub xattrs: Vec<usize>,
    pub targets: Vec<usize>,
    pub data: Vec<usize>,
    /// Pointers in use, of all types.
    pub locations: Vec<u64>,
}

impl Structures {
    /// Returns the locations in an undamaged image.
    pub fn find(image: &Image) -> Self {
        let mut pieces = Structures::default();
        let file = pieces.inode(image, image.areas.inode_table);
        pieces.inodes.push(image.areas.inode_table);
        for (slot, pointer) in file.pointers.into_iter().enumerate() {
            pieces.tree(image, None, pointer, slot.saturating_sub(3));
        }
        let table = (1..image.areas.inodes).map(|ino| image.areas.inode(Ino(ino)).expect("in the table"));
        let of_page = |at: &usize| (*at..*at + BLOCK_BYTES).step_by(INODE_BYTES).collect::<Vec<_>>();
        let paged = pieces.inode_pages.iter().flat_map(of_page);
        for at in table.chain(paged).collect::<Vec<_>>() {
            let inode = pieces.inode(image, at);
            let Some(kind) = inode.kind() else { continue };
            pieces.inodes.push(at);
            let page = pieces.page(image, inode.xattrs);
            pieces.xattrs.extend(page);
            if inode.is_inline_link() {
                continue;
            }
            for (slot, pointer) in inode.pointers.into_iter().enumerate() {
                pieces.tree(image, Some(kind), pointer, slot.saturating_sub(3));
            }
        }
        pieces
    }

    fn inode(&self, image: &Image, at: usize) -> Inode {
        Inode::decode(image.nvram[at..at + INODE_BYTES].try_into().expect("an inode"))
    }

    /// Returns the offset of an inode.
    pub fn inode_at(&self, image: &Image, ino: Ino) -> usize {
        let paged = || {
            let (number, index) = image.areas.paged_inode(ino).expect("not in the table");
            self.inode_pages[number as usize] + index * INODE_BYTES
        };
        image.areas.inode(ino).unwrap_or_else(paged)
    }

    fn page(&mut self, image: &Image, pointer: u64) -> Option<usize> {
        match BlockLocation::decode(pointer, &image.areas).expect("the image is whole") {
            BlockLocation::Hole | BlockLocation::Absent => None,
            BlockLocation::Ssd(_) | BlockLocation::Reserved => {
                self.locations.push(pointer);
                None
            }
            BlockLocation::Nvram(page) => {
                self.locations.push(pointer);
                Some(image.areas.page(page))
            }
        }
    }

    /// Walks the tree below a pointer of a file; `kind` is `None` for the file of inode pages.
    fn tree(&mut self, image: &Image, kind: Option<Kind>, pointer: u64, levels: usize) {
        let Some(at) = self.page(image, pointer) else { return };
        if levels > 0 {
            self.pointers.push(at);
            let (words, _) = image.nvram[at..at + BLOCK_BYTES].as_chunks::<8>();
            for word in words {
                self.tree(image, kind, u64::from_le_bytes(*word), levels - 1);
            }
            return;
        }
        match kind {
            None => self.inode_pages.push(at),
            Some(Kind::Directory) => self.directories.push(at),
            Some(Kind::Symlink) => self.targets.push(at),
            _ => self.data.push(at),
        }
    }
}
