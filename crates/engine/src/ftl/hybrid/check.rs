//! Consistency checks between the tables and the flash.

use super::blocks::{HybridState, PADDING};
use crate::nand::{Flash, PageState};
use crate::units::{BlockId, Lpn, Slot};

impl<F: Flash> HybridState<F> {
    /// Recomputes all tables and compares them with the stored ones.
    pub fn check(&self) -> Result<(), String> {
        self.check_pages()?;
        self.check_logs()?;
        self.check_blocks()
    }

    /// Checks that every page that holds data is stored at the location given by the tables.
    fn check_pages(&self) -> Result<(), String> {
        let mut live = vec![0; self.logical_blocks.len()];
        for page in (0..self.config.logical_pages).map(Lpn) {
            let Some(slot) = self.locate(page) else {
                if self.log_map[page.index()] != Slot::NONE {
                    return Err(format!("{page:?} is in a log but holds nothing"));
                }
                continue;
            };
            live[self.split(page).0 as usize] += 1;
            let (block, at) = self.block_of(slot);
            match self.pool.medium.spare(block, at) {
                PageState::Written(spare) if spare.owner == page => {}
                found => {
                    return Err(format!("{page:?} should be at {block:?}, page {at}; there is {found:?}"));
                }
            }
        }
        let counted = self.logical_blocks.iter().map(|logical| logical.live);
        if !counted.eq(live.iter().copied()) || live.iter().sum::<u32>() != self.mapped {
            return Err(format!("{live:?} live pages of the logical blocks are counted otherwise"));
        }
        Ok(())
    }

    fn check_logs(&self) -> Result<(), String> {
        for log in self.dedicated_logs.values().chain(&self.shared_logs) {
            for (at, &owner) in (0..).zip(&log.owners) {
                let stored = match self.pool.medium.spare(log.block, at) {
                    PageState::Written(spare) => spare.owner,
                    other => return Err(format!("page {at} of the log {:?} is {other:?}", log.block)),
                };
                let in_place = owner == PADDING || self.split(owner).1 == at;
                if stored != owner || log.note.in_place && !in_place {
                    return Err(format!(
                        "page {at} of the log {:?} is of {stored:?}, not {owner:?}",
                        log.block
                    ));
                }
            }
        }
        let logs = self.dedicated_logs.len() + self.shared_logs.len();
        if logs > self.config.log_blocks as usize {
            return Err(format!("{logs} log blocks, more than {}", self.config.log_blocks));
        }
        Ok(())
    }

    /// Checks that every usable block has exactly one role.
    fn check_blocks(&self) -> Result<(), String> {
        let data = self.logical_blocks.iter().filter_map(|logical| logical.data).map(|data| data.block);
        let logs = self.dedicated_logs.values().chain(&self.shared_logs).map(|log| log.block);
        let mut counted: Vec<BlockId> = data.chain(logs).chain(self.pool.erased.iter().copied()).collect();
        counted.sort_unstable();
        let all: Vec<BlockId> = (0..self.pool.medium.blocks())
            .map(BlockId)
            .filter(|&block| !self.pool.medium.is_bad(block))
            .collect();
        if counted != all || all.len() != self.pool.usable_blocks as usize {
            return Err(format!("{counted:?} are data, logs and erased blocks, {all:?} are usable"));
        }
        match self.pool.erased.iter().find(|&&block| self.pool.medium.next_page(block) != Some(0)) {
            Some(block) => Err(format!("{block:?} is not erased")),
            None => self.pool.medium.check(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{HybridFtl, HybridKind};
    use crate::ftl::tests::drives::{hybrid, hybrid_config, write};
    use crate::layer::{ContentId, Layer};
    use crate::nand::Nand;
    use crate::units::{Lpn, Slot};

    type Drive = HybridFtl<Nand<ContentId>>;

    #[test]
    fn check_finds_inconsistencies() {
        type Break = fn(&mut Drive);
        let breaks: [(&str, Break); 5] = [
            ("is in a log but holds nothing", |drive| drive.state.log_map[9] = Slot(4)),
            ("counted otherwise", |drive| drive.state.mapped += 1),
            ("of the log", |drive| drive.state.dedicated_logs.get_mut(&0).unwrap().owners[0] = Lpn(2)),
            ("log blocks, more than 0", |drive| drive.state.config.log_blocks = 0),
            ("are usable", |drive| drive.state.pool.usable_blocks -= 1),
        ];
        let filled = || {
            let mut drive = hybrid(hybrid_config(HybridKind::Bast, 12, 2));
            write(&mut drive, [0, 1, 2, 3, 1, 4]);
            drive
        };
        assert_eq!(filled().check(), Ok(()));
        for (what, break_it) in breaks {
            let mut drive = filled();
            break_it(&mut drive);
            let problem = drive.check().expect_err(what);
            assert!(problem.contains(what), "{problem}, expected: {what}");
        }
    }
}
