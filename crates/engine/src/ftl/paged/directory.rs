//! Where translation pages are: all in RAM, or in a tree of nodes that lie in flash themselves.

use super::contents::Contents;
use super::space::Space;
use super::tree::Tree;
use crate::layer::{LayerError, RamPart};
use crate::nand::Flash;
use crate::table::prefetch;
use crate::units::Slot;

/// The addresses of translation pages.
pub enum Directory {
    /// The global mapping directory of DFTL.
    Global(Vec<Slot>),
    /// The tree of mu-FTL and IB-FTL.
    Tree(Tree),
}

impl Directory {
    /// Where a translation page is, [`Slot::NONE`] if it was never written; may read nodes.
    #[inline]
    pub fn locate<F: Flash>(&mut self, number: u32, space: &mut Space<F>) -> Result<Slot, LayerError> {
        match self {
            Directory::Global(places) => Ok(places[number as usize]),
            Directory::Tree(tree) => tree.locate(number, space),
        }
    }

    /// The same at no cost, for checks.
    pub fn peek(&self, number: u32, contents: &Contents) -> Slot {
        match self {
            Directory::Global(places) => places[number as usize],
            Directory::Tree(tree) => tree.peek(number, contents),
        }
    }

    /// Where the translation page is, if that is in RAM without fail; [`Slot::NONE`] if not. For prefetching.
    #[inline]
    pub fn hint(&self, number: u32) -> Slot {
        match self {
            Directory::Global(places) => places[number as usize],
            Directory::Tree(_) => Slot::NONE,
        }
    }

    /// The translation page's address will be read soon: a hint.
    #[inline]
    pub fn prefetch(&self, number: u32) {
        if let Directory::Global(places) = self {
            prefetch(places.as_ptr().wrapping_add(number as usize));
        }
    }

    /// A new version of the translation page is at `at`; may write nodes that are not cached any longer.
    pub fn set<F: Flash>(&mut self, number: u32, at: Slot, space: &mut Space<F>) -> Result<(), LayerError> {
        match self {
            Directory::Global(places) => {
                places[number as usize] = at;
                Ok(())
            }
            Directory::Tree(tree) => tree.set(number, at, space),
        }
    }

    /// Writes nodes until those in RAM fit their room.
    pub fn shrink<F: Flash>(&mut self, space: &mut Space<F>) -> Result<(), LayerError> {
        match self {
            Directory::Global(_) => Ok(()),
            Directory::Tree(tree) => tree.shrink(space),
        }
    }

    /// Cleaning comes upon a node at `at`: it is written elsewhere if it is the tree's.
    pub fn relocate_node<F: Flash>(
        &mut self,
        label: u32,
        at: Slot,
        space: &mut Space<F>,
    ) -> Result<(), LayerError> {
        match self {
            Directory::Global(_) => Ok(()),
            Directory::Tree(tree) => tree.relocate(label, at, space),
        }
    }

    /// Whether the node named `label` is the tree's at `at`.
    pub fn has_node(&self, label: u32, at: Slot, contents: &Contents) -> bool {
        matches!(self, Directory::Tree(tree) if tree.has_node(label, at, contents))
    }

    /// RAM in the device.
    pub fn ram(&self, page_bytes: u32) -> Vec<RamPart> {
        match self {
            Directory::Global(places) => {
                vec![RamPart { name: "global mapping directory", bytes: 4 * places.len() as u64 }]
            }
            Directory::Tree(tree) => tree.ram(page_bytes),
        }
    }

    /// Most nodes that one change may write.
    pub fn most_appended(&self) -> u32 {
        match self {
            Directory::Global(_) => 0,
            Directory::Tree(tree) => tree.levels(),
        }
    }
}
