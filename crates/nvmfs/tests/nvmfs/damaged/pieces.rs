//! What stands where in an image.

use super::image::Image;
use wearwell_nvmfs::api::{BLOCK_BYTES, Ino, Kind};
use wearwell_nvmfs::layout::{Inode, Place, SIZE_OF_INODE};

/// First bytes of inodes in use and of pages by what they hold.
#[derive(Debug, Default)]
pub struct Pieces {
    pub inodes: Vec<usize>,
    pub directories: Vec<usize>,
    pub pointers: Vec<usize>,
    pub xattrs: Vec<usize>,
    pub targets: Vec<usize>,
    pub data: Vec<usize>,
    /// Pointers to places of all kinds, those in use.
    pub places: Vec<u64>,
}

impl Pieces {
    /// Those of a whole image.
    pub fn of(image: &Image) -> Self {
        let mut pieces = Pieces::default();
        for ino in (1..image.areas.inodes).map(Ino) {
            let at = image.areas.inode(ino).expect("a number within the table");
            let bytes = image.nvram[at..at + SIZE_OF_INODE].try_into().expect("an inode");
            let inode = Inode::decode(bytes);
            let Some(kind) = inode.kind() else { continue };
            pieces.inodes.push(at);
            let page = pieces.page(image, inode.xattrs);
            pieces.xattrs.extend(page);
            if inode.is_inline_link() {
                continue;
            }
            for (slot, pointer) in inode.pointers.into_iter().enumerate() {
                pieces.tree(image, kind, pointer, slot.saturating_sub(3));
            }
        }
        pieces
    }

    fn page(&mut self, image: &Image, pointer: u64) -> Option<usize> {
        match Place::of(pointer, &image.areas).expect("the image is whole") {
            Place::Hole => None,
            Place::Ssd(_) | Place::Reserved => {
                self.places.push(pointer);
                None
            }
            Place::Nvram(page) => {
                self.places.push(pointer);
                Some(image.areas.page(page))
            }
        }
    }

    fn tree(&mut self, image: &Image, kind: Kind, pointer: u64, levels: usize) {
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
            Kind::Directory => self.directories.push(at),
            Kind::Symlink => self.targets.push(at),
            _ => self.data.push(at),
        }
    }
}
