//! Allowed states after a power cut.

use crate::crash::tree::{Node, Tree};
use wearwell_nvmfs::api::{BLOCK_BYTES, Kind};

const WORD_BYTES: usize = 8;
const ZEROS: [u8; BLOCK_BYTES] = [0; BLOCK_BYTES];

/// Visible content before the interrupted operation, and after it.
pub struct Expected {
    pub before: Tree,
    pub after: Tree,
    /// True if the operation writes to a file, and may therefore be partly complete.
    pub is_write: bool,
}

impl Expected {
    /// Expects exactly this tree: no operation was interrupted.
    pub fn exact(tree: Tree) -> Expected {
        Expected { before: tree.clone(), after: tree, is_write: false }
    }

    /// Checks that a tree is allowed; otherwise describes the difference.
    pub fn check(&self, found: &Tree) -> Result<(), String> {
        if *found == self.before || *found == self.after {
            return Ok(());
        }
        if !self.is_write {
            return Err(format!(
                "neither as before nor as after:\n  {}\n  {}",
                difference(&self.before, found),
                difference(&self.after, found)
            ));
        }
        let counts = [&self.before, &self.after, found].map(|tree| tree.nodes.len());
        if counts[0] != counts[2] || counts[1] != counts[2] {
            return Err(format!("files before, after and found: {counts:?}"));
        }
        let unseen = [&self.before, &self.after, found].map(|tree| tree.invisible_blocks);
        let all = [&self.before, &self.after, found].map(|tree| tree.blocks() + tree.invisible_blocks);
        // Any part of a reservation may be complete. Blocks that were being written beyond the end may be reserved
        // instead.
        if unseen[2] < unseen[0].min(unseen[1]) || all[2] > all[0].max(all[1]) {
            return Err(format!(
                "blocks, and those behind ends, before, after and found: {all:?}, {unseen:?}"
            ));
        }
        let mut nodes = self.before.nodes.iter().zip(&self.after.nodes).zip(&found.nodes);
        nodes.try_for_each(|((before, after), found)| between(before, after, found))
    }
}

/// Describes the first difference between two trees.
pub fn difference(one: &Tree, other: &Tree) -> String {
    for (one, other) in one.nodes.iter().zip(&other.nodes) {
        if one.path != other.path || one.attributes != other.attributes || one.atomic != other.atomic {
            let what =
                |node: &Node| format!("{} {:?} {:?}", node.path.escape_ascii(), node.attributes, node.atomic);
            return format!("{}\n    is {}", what(one), what(other)).chars().take(3000).collect();
        }
        let blocks = one.blocks.keys().chain(other.blocks.keys());
        if let Some(block) =
            blocks.min_by_key(|block| (one.blocks.get(block) == other.blocks.get(block), **block))
            && one.blocks.get(block) != other.blocks.get(block)
        {
            let is_there = [one, other].map(|node| node.blocks.contains_key(block));
            return format!("block {block} of {}, there: {is_there:?}", one.path.escape_ascii());
        }
    }
    let counts = [one, other].map(|tree| (tree.nodes.len(), tree.invisible_blocks));
    format!("files and blocks behind their ends: {:?} are {:?}", counts[0], counts[1])
}

/// Checks that the state of a file is allowed during a write: everything except data, size and times must match.
fn between(before: &Node, after: &Node, found: &Node) -> Result<(), String> {
    let path = found.path.escape_ascii();
    let mut attributes = found.attributes.clone();
    let (old, new) = (&before.attributes, &after.attributes);
    let size_bytes = attributes.size_bytes;
    let fields = [
        (size_bytes as i64, old.size_bytes as i64, new.size_bytes as i64),
        (attributes.accessed_ns, old.accessed_ns, new.accessed_ns),
        (attributes.modified_ns, old.modified_ns, new.modified_ns),
        (attributes.changed_ns, old.changed_ns, new.changed_ns),
    ];
    if fields.iter().any(|(found, old, new)| found != old && found != new) {
        return Err(format!("{path}: size or times found, before, after: {fields:?}"));
    }
    attributes.size_bytes = old.size_bytes;
    attributes.accessed_ns = old.accessed_ns;
    attributes.modified_ns = old.modified_ns;
    attributes.changed_ns = old.changed_ns;
    if attributes != *old || found.atomic != before.atomic || found.atomic != after.atomic {
        return Err(format!("{path}: it is otherwise changed: {attributes:?}, was {old:?}"));
    }
    if old.kind != Kind::File {
        return Ok(());
    }
    let mut blocks: Vec<u64> =
        [before, after, found].iter().flat_map(|node| node.blocks.keys().copied()).collect();
    blocks.sort_unstable();
    blocks.dedup();
    blocks.into_iter().try_for_each(|block| between_blocks(before, after, found, block))
}

fn between_blocks(before: &Node, after: &Node, found: &Node, block: u64) -> Result<(), String> {
    let content =
        |node: &Node| node.blocks.get(&block).map_or(ZEROS, |bytes| bytes[..].try_into().expect("a block"));
    let (old, new, now) = (content(before), content(after), content(found));
    let is_there = [before, after, found].map(|node| node.blocks.contains_key(&block));
    let start = block * BLOCK_BYTES as u64;
    let length = found.attributes.size_bytes.saturating_sub(start).min(BLOCK_BYTES as u64) as usize;
    let path = found.path.escape_ascii();
    // Beyond the end of the file nothing is visible, even if data was already written there.
    if length > 0 && is_there[0] && is_there[1] && !is_there[2] {
        return Err(format!("{path}: block {block} is gone"));
    }
    // One extra zero block is allowed if an allocation was in progress.
    if !is_there[0] && !is_there[1] && now != ZEROS {
        return Err(format!("{path}: block {block} is new"));
    }
    for at in (0..length).step_by(WORD_BYTES) {
        let word = at..(at + WORD_BYTES).min(length);
        if now[word.clone()] != old[word.clone()] && now[word.clone()] != new[word.clone()] {
            return Err(format!("{path}: word at {at} of block {block} is neither old nor new"));
        }
    }
    Ok(())
}
