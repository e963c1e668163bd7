//! Programs of pages that are planned but have not reached their die; they must arrive in page order.

use crate::units::BlockId;

/// Last planned program of each block and die that has not reached the die yet.
///
/// Flash is programmed in the order of a block's pages. A program without dependencies must not overtake an earlier
/// program that waits for reads of cleaning.
#[derive(Debug)]
pub(super) struct PendingPrograms {
    /// Programs by die; each list is short, because few blocks are open.
    pending: Vec<Vec<(BlockId, u32)>>,
}

impl PendingPrograms {
    pub fn new(dies: u32) -> Self {
        PendingPrograms { pending: vec![Vec::new(); dies as usize] }
    }

    /// Records `node` as the next program of `block` on `die`. Returns the previous program of that block if it has
    /// not reached the die yet.
    pub fn plan(&mut self, die: u32, block: BlockId, node: u32) -> Option<u32> {
        let pending = &mut self.pending[die as usize];
        match pending.iter_mut().find(|(open, _)| *open == block) {
            Some((_, before)) => Some(std::mem::replace(before, node)),
            None => {
                pending.push((block, node));
                None
            }
        }
    }

    /// True if a program of `block` is on its way to `die`.
    #[inline]
    pub fn is_under_way(&self, die: u32, block: BlockId) -> bool {
        self.pending[die as usize].iter().any(|(open, _)| *open == block)
    }

    /// Records that the program `node` has reached `die`.
    #[inline]
    pub fn arrived(&mut self, die: u32, node: u32) {
        self.pending[die as usize].retain(|(_, last)| *last != node);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn program_follows_its_predecessor_until_that_has_arrived() {
        let mut programs = PendingPrograms::new(2);
        let (one, other) = (BlockId(1), BlockId(2));
        assert_eq!(
            [programs.plan(0, one, 10), programs.plan(0, other, 11), programs.plan(1, one, 12)],
            [None; 3]
        );
        assert_eq!([programs.plan(0, one, 13), programs.plan(0, one, 14)], [Some(10), Some(13)]);
        programs.arrived(0, 10);
        programs.arrived(0, 13);
        assert!(programs.is_under_way(0, one) && programs.is_under_way(0, other));
        programs.arrived(0, 14);
        assert!(!programs.is_under_way(0, one) && programs.is_under_way(1, one));
        assert_eq!(programs.plan(0, one, 15), None);
    }
}
