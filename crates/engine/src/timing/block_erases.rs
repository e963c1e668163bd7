//! Ends of block erases, which programs of these blocks wait for.

use crate::units::BlockId;

/// Flag of an entry that contains, instead of a time, the number of the node that will end the erase.
const PENDING: u64 = 1 << 63;

/// Condition that a program of a block waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dependency {
    Nothing,
    /// A program can begin at this time, when the erase ends.
    Until(u64),
    /// A program can begin when this node ends, because the erase then ends.
    OnNode(u32),
}

/// End of the last erase of each block.
#[derive(Debug, Default)]
pub(super) struct BlockErases {
    /// True if programs never wait, because the drive keeps erased blocks in reserve.
    erases_ahead: bool,
    ends: Vec<u64>,
    /// Latest end of all erases; after this time, and without a pending erase, no lookup is needed.
    latest_ns: u64,
    pending: u32,
}

impl BlockErases {
    /// Creates the table of a drive; `erases_ahead` is false if programs wait for erases.
    pub fn new(erases_ahead: bool) -> Self {
        BlockErases { erases_ahead, ..BlockErases::default() }
    }

    /// Records that the erase of `block` will end with `node`.
    pub fn begin(&mut self, block: BlockId, node: u32) {
        if self.erases_ahead {
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
        if self.erases_ahead {
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
    pub fn dependency(&self, block: BlockId, now_ns: u64) -> Dependency {
        if self.pending == 0 && self.latest_ns <= now_ns {
            return Dependency::Nothing;
        }
        match self.ends.get(block.index()) {
            Some(entry) if entry & PENDING != 0 => Dependency::OnNode((entry & !PENDING) as u32),
            Some(&end_ns) if end_ns > now_ns => Dependency::Until(end_ns),
            _ => Dependency::Nothing,
        }
    }
}
