//! Ends of block erases, which programs of these blocks wait for.

use crate::units::BlockId;

/// Marks the node that will end the erase, in place of a time.
const PENDING: u64 = 1 << 63;

/// Condition that a program of a block waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    Nothing,
    /// The erase ends at this time.
    Until(u64),
    /// The erase ends when this node ends.
    For(u32),
}

/// The last erase of each block.
#[derive(Debug, Default)]
pub(super) struct Erased {
    /// True if programs never wait, because the drive keeps erased blocks in reserve.
    is_ahead: bool,
    ends: Vec<u64>,
    /// The latest end; after it, and with no pending erase, no lookup is needed.
    latest_ns: u64,
    pending: u32,
}

impl Erased {
    /// Creates the table of a drive that erases ahead, or of one whose programs wait.
    pub fn new(is_ahead: bool) -> Self {
        Erased { is_ahead, ..Erased::default() }
    }

    /// Records that the erase of `block` will end with `node`.
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

    /// Records that the erase by `node` ends at `end_ns`.
    pub fn end(&mut self, block: BlockId, node: u32, end_ns: u64) {
        if self.is_ahead {
            return;
        }
        self.pending -= 1;
        self.latest_ns = self.latest_ns.max(end_ns);
        let entry = &mut self.ends[block.index()];
        // Another erase of the block may be pending already.
        if *entry == PENDING | u64::from(node) {
            *entry = end_ns;
        }
    }

    /// Returns the condition that a program of `block` at `now_ns` waits for.
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
