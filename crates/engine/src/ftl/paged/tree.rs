//! A B-tree over the translation pages, with nodes in flash and a cache of nodes (mu-FTL, IB-FTL).

use super::contents::{MetaPage, MetadataContents};
use super::space::Space;
use crate::config::ConfigError;
use crate::counters::Cause;
use crate::layer::{LayerError, RamPart};
use crate::nand::Flash;
use crate::units::Slot;

/// A node: addresses of translation pages, or of nodes one level below.
struct TreeNode {
    /// Addresses of the node's children, while the node is cached.
    children: Option<Box<[Slot]>>,
    dirty: bool,
    /// Number of the node's cached children; a node with cached children stays cached.
    cached_children: u32,
    /// Time of the last use.
    last_use: u64,
}

/// A tree with a fixed fan-out. The keys are the numbers of translation pages, without gaps, so a node's position
/// follows from the key, and only addresses are stored. Each entry counts 8 bytes, because a real tree would also
/// store the key.
///
/// The root is always cached. Other nodes are cached as long as they fit; the least recently used node without cached
/// children is evicted first. A changed node is only written at its eviction, so that several changes to one node are
/// written once.
pub struct TranslationTree {
    fan_out: u32,
    translation_pages: u32,
    /// Nodes by level: the parents of translation pages first, the root last.
    levels: Vec<Vec<TreeNode>>,
    /// Maximum number of cached nodes in addition to the root.
    capacity: usize,
    cached: usize,
    root: Slot,
    clock: u64,
}

impl TranslationTree {
    /// Creates a tree over `locations`, completely in RAM until nodes must be evicted.
    pub fn new(locations: &[Slot], page_bytes: u32, cached_nodes: Option<u32>) -> Result<Self, ConfigError> {
        let fan_out = (page_bytes / 8).max(2);
        let mut levels = Vec::new();
        let mut width = locations.len();
        let mut contents = locations.to_vec();
        loop {
            let nodes: Vec<TreeNode> = contents
                .chunks(fan_out as usize)
                .map(|children| TreeNode {
                    children: Some(children.into()),
                    dirty: true,
                    cached_children: if levels.is_empty() { 0 } else { children.len() as u32 },
                    last_use: 0,
                })
                .collect();
            width = width.div_ceil(fan_out as usize);
            levels.push(nodes);
            if width <= 1 {
                break;
            }
            contents = vec![Slot::NONE; width];
        }
        let below_root: usize = levels[..levels.len() - 1].iter().map(Vec::len).sum();
        let min_cached = levels.len().saturating_sub(1);
        let capacity = cached_nodes.map_or(below_root, |nodes| nodes as usize);
        if capacity < min_cached {
            let problem = format!("is {capacity}; a path from the root takes {min_cached}");
            return Err(ConfigError::new("cached_nodes", problem));
        }
        Ok(TranslationTree {
            fan_out,
            translation_pages: locations.len() as u32,
            levels,
            capacity,
            cached: below_root,
            root: Slot::NONE,
            clock: 0,
        })
    }

    /// Evicts nodes until the remaining ones fit in the cache.
    pub fn shrink<F: Flash>(&mut self, space: &mut Space<F>) -> Result<(), LayerError> {
        while self.cached > self.capacity {
            self.evict(space)?;
        }
        Ok(())
    }

    pub fn levels(&self) -> u32 {
        self.levels.len() as u32
    }

    fn root_level(&self) -> usize {
        self.levels.len() - 1
    }

    /// Returns the number of a node in the spare area of its page.
    fn label(&self, level: usize, number: usize) -> u32 {
        let below: usize = self.levels[..level].iter().map(Vec::len).sum();
        self.translation_pages + (below + number) as u32
    }

    fn node_of_label(&self, label: u32) -> Option<(usize, usize)> {
        let mut number = label.checked_sub(self.translation_pages)? as usize;
        for (level, nodes) in self.levels.iter().enumerate() {
            if number < nodes.len() {
                return Some((level, number));
            }
            number -= nodes.len();
        }
        None
    }

    /// Returns the location at which a node was last written.
    fn address(&self, level: usize, number: usize, contents: &MetadataContents) -> Slot {
        if level == self.root_level() {
            return self.root;
        }
        let fan_out = self.fan_out as usize;
        self.children(level + 1, number / fan_out, contents)[number % fan_out]
    }

    /// Reads the node and its ancestors into the cache.
    fn fetch<F: Flash>(
        &mut self,
        level: usize,
        number: usize,
        space: &mut Space<F>,
    ) -> Result<(), LayerError> {
        self.clock += 1;
        if self.levels[level][number].children.is_none() {
            self.fetch(level + 1, number / self.fan_out as usize, space)?;
            // The ancestors were just used, and the cache holds more nodes than these, so another node is evicted.
            while self.cached >= self.capacity {
                self.evict(space)?;
            }
            let at = self.address(level, number, &space.contents);
            space.read_metadata(at, Cause::Translation)?;
            let Some(MetaPage::Node(children)) = space.contents.page(at) else {
                panic!("no node of the tree is at {at:?}");
            };
            self.levels[level][number].children = Some((**children).clone());
            self.cached += 1;
            self.levels[level + 1][number / self.fan_out as usize].cached_children += 1;
        }
        self.levels[level][number].last_use = self.clock;
        Ok(())
    }

    /// Evicts the least recently used node without cached children, but never the root.
    fn evict<F: Flash>(&mut self, space: &mut Space<F>) -> Result<(), LayerError> {
        let nodes = self.levels[..self.root_level()].iter().enumerate();
        let all = nodes.flat_map(|(level, nodes)| (0..nodes.len()).map(move |number| (level, number)));
        let victim = all
            .filter(|&(level, number)| {
                let node = &self.levels[level][number];
                node.children.is_some() && node.cached_children == 0
            })
            .min_by_key(|&(level, number)| (self.levels[level][number].last_use, level, number))
            .expect("a path is shorter than the room for nodes");
        self.write_out(victim.0, victim.1, space)?;
        self.levels[victim.0][victim.1].children = None;
        self.cached -= 1;
        self.levels[victim.0 + 1][victim.1 / self.fan_out as usize].cached_children -= 1;
        Ok(())
    }

    /// Writes a cached node if it was changed.
    fn write_out<F: Flash>(
        &mut self,
        level: usize,
        number: usize,
        space: &mut Space<F>,
    ) -> Result<(), LayerError> {
        if !self.levels[level][number].dirty {
            return Ok(());
        }
        let old = self.address(level, number, &space.contents);
        let children = self.levels[level][number].children.as_deref().expect("cached");
        let at = space.append_node(self.label(level, number), children)?;
        self.levels[level][number].dirty = false;
        if level == self.root_level() {
            self.root = at;
        } else {
            let parent = &mut self.levels[level + 1][number / self.fan_out as usize];
            parent.children.as_mut().expect("cached as long as a child is")[number % self.fan_out as usize] =
                at;
            parent.dirty = true;
        }
        if old != Slot::NONE {
            space.discard_metadata(old);
        }
        Ok(())
    }

    pub fn locate<F: Flash>(&mut self, number: u32, space: &mut Space<F>) -> Result<Slot, LayerError> {
        let (node, child) = ((number / self.fan_out) as usize, (number % self.fan_out) as usize);
        self.fetch(0, node, space)?;
        Ok(self.levels[0][node].children.as_ref().expect("just fetched")[child])
    }

    /// Returns the children of a node, cached or not.
    fn children<'a>(&'a self, level: usize, number: usize, contents: &'a MetadataContents) -> &'a [Slot] {
        if let Some(children) = &self.levels[level][number].children {
            return children;
        }
        match contents.page(self.address(level, number, contents)) {
            Some(MetaPage::Node(children)) => children,
            _ => panic!("node {number} of level {level} is lost"),
        }
    }

    pub fn peek(&self, number: u32, contents: &MetadataContents) -> Slot {
        self.children(0, (number / self.fan_out) as usize, contents)[(number % self.fan_out) as usize]
    }

    pub fn set<F: Flash>(&mut self, number: u32, at: Slot, space: &mut Space<F>) -> Result<(), LayerError> {
        let (node, child) = ((number / self.fan_out) as usize, (number % self.fan_out) as usize);
        self.fetch(0, node, space)?;
        let node = &mut self.levels[0][node];
        node.children.as_mut().expect("just fetched")[child] = at;
        node.dirty = true;
        Ok(())
    }

    pub fn has_node(&self, label: u32, at: Slot, contents: &MetadataContents) -> bool {
        self.node_of_label(label).is_some_and(|(level, number)| self.address(level, number, contents) == at)
    }

    pub fn relocate<F: Flash>(
        &mut self,
        label: u32,
        at: Slot,
        space: &mut Space<F>,
    ) -> Result<(), LayerError> {
        let Some((level, number)) = self.node_of_label(label) else { return Ok(()) };
        if level < self.root_level() {
            self.fetch(level + 1, number / self.fan_out as usize, space)?;
        }
        if self.address(level, number, &space.contents) != at {
            return Ok(());
        }
        self.fetch(level, number, space)?;
        self.levels[level][number].dirty = true;
        self.write_out(level, number, space)
    }

    pub fn ram(&self, page_bytes: u32) -> Vec<RamPart> {
        let page = u64::from(page_bytes);
        vec![
            RamPart { name: "b-tree root", bytes: page },
            RamPart { name: "b-tree nodes", bytes: page * self.cached.min(self.capacity) as u64 },
        ]
    }
}
