//! Checks of a cleanly closed file system before anything in it is changed: the page table, data on NVRAM, and all
//! other areas that the scan does not check.

use super::Store;
use super::pages::{State, block_in, state_in};
use super::region::update_of;
use super::scan::{ChecksummedPart, DamagedArea, Problem, ProblemKind, Scan};
use super::sums::{are_notes_valid, data_sum, has_no_notes};
use crate::api::{BLOCK_BYTES, Ino};
use crate::layout::{Areas, Checksums, Epoch, ListEnds, PAGE_INFO_BYTES, PageId, Superblock};
use crate::nvram::Nvram;
use crate::ssd::Ssd;
use rayon::prelude::*;

/// Minimum number of pages that a thread checks.
const MIN_PAGES_PER_THREAD: usize = 256;

/// Returns the word that marks a file system as closed.
pub(super) fn closed_word(bytes: &[u8]) -> u64 {
    word(bytes, ListEnds::CLEAN_AT)
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"))
}

fn half(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"))
}

/// Returns the problems with the NVRAM of a file system that has checksums.
pub(super) fn check_close_checksums(bytes: &[u8], areas: &Areas, superblock: &Superblock) -> Scan {
    let mut scan = Scan::default();
    let was_closed = closed_word(bytes) == ListEnds::CLEAN;
    let are_lists_sound = was_closed && half(bytes, ListEnds::SUM_AT) == table_sum(bytes, areas);
    let are_epochs_sound = [Epoch::AT, Epoch::NEXT_AT].iter().all(|at| Epoch::decode(bytes, *at).is_some());
    let damaged = [
        (update_of(bytes, areas, true).is_none(), DamagedArea::Log),
        (!was_closed && closed_word(bytes) != 0, DamagedArea::Closed),
        (was_closed && !are_lists_sound, DamagedArea::Lists),
        (!are_notes_valid(bytes, areas) || was_closed && !has_no_notes(bytes), DamagedArea::ChangeNotes),
        (was_closed && !are_epochs_sound, DamagedArea::Epoch),
    ];
    scan.areas.extend(damaged.into_iter().filter(|(is_wrong, _)| *is_wrong).map(|(_, area)| area));
    scan.problem_count = scan.areas.len() as u64;
    if was_closed && superblock.checksums == Checksums::All {
        let pages = (0..areas.pages).into_par_iter().with_min_len(MIN_PAGES_PER_THREAD);
        let problems: Vec<Problem> =
            pages.filter_map(|page| check_data_page(bytes, areas, PageId(page))).collect();
        problems.into_iter().for_each(|problem| scan.report(problem));
    }
    scan
}

/// Returns the problem with a data page, if any; data pages have checksums while the file system is closed.
fn check_data_page(bytes: &[u8], areas: &Areas, page: PageId) -> Option<Problem> {
    let at = areas.page_info(page);
    let info = &bytes[at..at + PAGE_INFO_BYTES];
    if !is_data(state_in(info)) {
        return None;
    }
    let (ino, block) = block_in(info);
    let content = &bytes[areas.page(page)..][..BLOCK_BYTES];
    let is_wrong = half(bytes, areas.page_sum(page)) != data_sum(ino, block, content);
    is_wrong.then(|| Problem {
        ino,
        kind: ProblemKind::Checksum(ChecksummedPart::NvramData(block.into())),
        word: None,
    })
}

fn is_data(state: State) -> bool {
    matches!(state, State::Clean | State::Dirty | State::Kept)
}

/// Returns the checksum over the page table and the ends of its lists.
fn table_sum(bytes: &[u8], areas: &Areas) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&bytes[ListEnds::AT..ListEnds::AT + 16]);
    hasher.update(&bytes[areas.page_table..][..areas.pages as usize * PAGE_INFO_BYTES]);
    hasher.finalize()
}

impl<N: Nvram, S: Ssd> Store<N, S> {
    /// Computes the checksums of everything that is verified after a clean close. On return, only the checksums of
    /// metadata are durable.
    pub(super) fn write_close_checksums(&mut self) {
        self.region.update_all_checksums();
        if self.superblock.checksums != Checksums::All {
            return;
        }
        for page in (0..self.region.areas.pages).map(PageId) {
            let at = self.region.areas.page_info(page);
            let info = &self.region.bytes()[at..at + PAGE_INFO_BYTES];
            if is_data(state_in(info)) {
                let (ino, block): (Ino, u32) = block_in(info);
                let sum = data_sum(ino, block, self.region.page(page));
                self.region.store_half_volatile(self.region.areas.page_sum(page), sum);
            }
        }
    }

    /// Returns the checksum of the current page table.
    pub(super) fn table_sum(&self) -> u32 {
        table_sum(self.region.bytes(), &self.region.areas)
    }
}
