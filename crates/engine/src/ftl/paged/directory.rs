//! Directory of translation pages: completely in RAM, or a tree whose nodes are in flash.

use super::contents::MetadataContents;
use super::space::Space;
use super::tree::TranslationTree;
use crate::layer::{LayerError, RamPart};
use crate::nand::Flash;
use crate::table::prefetch;
use crate::units::Slot;

/// Locations of translation pages.
pub enum Directory {
    /// The global mapping directory of DFTL.
    Global(Vec<Slot>),
    /// The tree of mu-FTL and IB-FTL.
    Tree(TranslationTree),
}

impl Directory {
    /// Returns the location of a translation page, [`Slot::NONE`] if it was never written; may read nodes.
    #[inline]
    pub fn locate<F: Flash>(&mut self, number: u32, space: &mut Space<F>) -> Result<Slot, LayerError> {
        match self {
            Directory::Global(locations) => Ok(locations[number as usize]),
            Directory::Tree(tree) => tree.locate(number, space),
        }
    }

    /// Returns the location without counting any flash operation, for checks.
    pub fn peek(&self, number: u32, contents: &MetadataContents) -> Slot {
        match self {
            Directory::Global(locations) => locations[number as usize],
            Directory::Tree(tree) => tree.peek(number, contents),
        }
    }

    /// Returns the location of the translation page for prefetching, if the location is known to be in RAM; otherwise
    /// [`Slot::NONE`].
    #[inline]
    pub fn hint(&self, number: u32) -> Slot {
        match self {
            Directory::Global(locations) => locations[number as usize],
            Directory::Tree(_) => Slot::NONE,
        }
    }

    /// Prefetches the location of the translation page.
    #[inline]
    pub fn prefetch(&self, number: u32) {
        if let Directory::Global(locations) = self {
            prefetch(locations.as_ptr().wrapping_add(number as usize));
        }
    }

    /// Records that a new version of the translation page is at `at`; may write nodes that no longer fit in the
    /// cache.
    pub fn set<F: Flash>(&mut self, number: u32, at: Slot, space: &mut Space<F>) -> Result<(), LayerError> {
        match self {
            Directory::Global(locations) => {
                locations[number as usize] = at;
                Ok(())
            }
            Directory::Tree(tree) => tree.set(number, at, space),
        }
    }

    /// Writes nodes until the remaining ones fit in the cache.
    pub fn shrink<F: Flash>(&mut self, space: &mut Space<F>) -> Result<(), LayerError> {
        match self {
            Directory::Global(_) => Ok(()),
            Directory::Tree(tree) => tree.shrink(space),
        }
    }

    /// Handles a node at `at` in a victim: rewrites it elsewhere if it is part of the tree.
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

    /// True if the tree's node `label` is at `at`.
    pub fn has_node(&self, label: u32, at: Slot, contents: &MetadataContents) -> bool {
        matches!(self, Directory::Tree(tree) if tree.has_node(label, at, contents))
    }

    /// Returns the RAM used in the device.
    pub fn ram(&self, page_bytes: u32) -> Vec<RamPart> {
        match self {
            Directory::Global(locations) => {
                vec![RamPart { name: "global mapping directory", bytes: 4 * locations.len() as u64 }]
            }
            Directory::Tree(tree) => tree.ram(page_bytes),
        }
    }

    /// Returns the maximum number of nodes that one change may write.
    pub fn max_appended_nodes(&self) -> u32 {
        match self {
            Directory::Global(_) => 0,
            Directory::Tree(tree) => tree.levels(),
        }
    }
}
