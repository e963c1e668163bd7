//! When the erase of each block ended, for those who want to program it.

use crate::units::BlockId;

/// Marks the node that will end the erase, in place of a time.
const PENDING: u64 = 1 << 63;

/// What a program of a block has to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    Nothing,
    /// The erase ends then.
    Until(u64),
    /// The erase ends with this node.
    For(u32),
}

/// The last erase of each block.
#[derive(Debug, Default)]
pub(super) struct Erased {
    /// Nobody waits, because others are erased already.
    is_ahead: bool,
    ends: Vec<u64>,
    /// The latest end; after it, with none pending, there is nothing to look up.
    latest_ns: u64,
    pending: u32,
}

impl Erased {
    /// Of a drive that erases ahead, or of one whose programs wait.
    pub fn new(is_ahead: bool) -> Self {
        Erased { is_ahead, ..Erased::default() }
    }

    /// The erase of `block` will end with `node`.
    pub fn begin(&mut self, block: BlockId, node: u32) {
        if self.is_ahead {
            return;
        }
        if self.ends.len() <= block.index() {
            self.ends.resize(block.index() + 1, 0);
        }
        self.ends[block.index()] = PENDING | u64::from(node);
        self.pending += 1;
    }

    /// It ends at `end_ns`.
    pub fn end(&mut self, block: BlockId, node: u32, end_ns: u64) {
        if self.is_ahead {
            return;
        }
        self.pending -= 1;
        self.latest_ns = self.latest_ns.max(end_ns);
        let entry = &mut self.ends[block.index()];
        // Unless the block is to be erased once more already.
        if *entry == PENDING | u64::from(node) {
            *entry = end_ns;
        }
    }

    /// What a program of `block` at `now_ns` waits for.
    #[inline]
    pub fn wait(&self, block: BlockId, now_ns: u64) -> Wait {
        if self.pending == 0 && self.latest_ns <= now_ns {
            return Wait::Nothing;
        }
        match self.ends.get(block.index()) {
            Some(entry) if entry & PENDING != 0 => Wait::For((entry & !PENDING) as u32),
            Some(&end_ns) if end_ns > now_ns => Wait::Until(end_ns),
            _ => Wait::Nothing,
        }
    }
}
