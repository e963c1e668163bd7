//! Notes in spare areas that describe a block as a whole.

use crate::units::StreamId;

/// Role of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Holds pages of one logical block at their own offsets; written by a full merge, or page by page by the host.
    Data,
    /// Log of one logical block. A switch merge or a partial merge may have turned the log into the data block since.
    DedicatedLog,
    /// Log shared by all logical blocks.
    SharedLog,
}

/// Note about a block. Each run programmed into the block carries a note; the note of the last run is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockNote {
    pub role: Role,
    /// The logical block that the block belongs to; 0 for a shared log.
    pub logical: u32,
    /// Number of programmed pages at which the merge that is writing the block is complete; 0 without a merge.
    pub merged_pages: u32,
    /// True if some pages are padding.
    pub has_padding: bool,
    /// True if each page is at its own offset in the logical block.
    pub in_place: bool,
}

const MERGED_SHIFT: u32 = 32;
const MERGED_BITS: u64 = (1 << 28) - 1;
const HAS_PADDING: u64 = 1 << 60;
const IN_PLACE: u64 = 1 << 61;
const ROLE_SHIFT: u32 = 62;
const ROLES: [Role; 3] = [Role::Data, Role::DedicatedLog, Role::SharedLog];

impl BlockNote {
    /// Returns the note of a new, empty block.
    pub fn new(role: Role, logical: u32) -> Self {
        BlockNote { role, logical, merged_pages: 0, has_padding: false, in_place: role != Role::SharedLog }
    }

    /// Encodes the note as a number for the spare area.
    pub fn pack(self) -> u64 {
        let flags = if self.has_padding { HAS_PADDING } else { 0 } | if self.in_place { IN_PLACE } else { 0 };
        u64::from(self.logical)
            | (u64::from(self.merged_pages) & MERGED_BITS) << MERGED_SHIFT
            | (self.role as u64) << ROLE_SHIFT
            | flags
    }

    /// Decodes the note from the number in the spare area.
    pub fn unpack(note: u64) -> Self {
        BlockNote {
            role: ROLES[(note >> ROLE_SHIFT) as usize],
            logical: note as u32,
            merged_pages: (note >> MERGED_SHIFT & MERGED_BITS) as u32,
            has_padding: note & HAS_PADDING != 0,
            in_place: note & IN_PLACE != 0,
        }
    }

    /// Returns the stream hint for the flash, which separates data and logs.
    pub fn stream(self) -> StreamId {
        StreamId(self.role as u8)
    }

    /// True if a block with this note and `written` readable pages is a complete data block: it stores all pages of its
    /// logical block except for later writes to logs.
    pub fn is_complete(self, written: u32, pages_per_block: u32) -> bool {
        match self.role {
            Role::Data => written >= self.merged_pages,
            Role::DedicatedLog => {
                let merged = self.merged_pages > 0 && written >= self.merged_pages;
                self.in_place && (merged || written == pages_per_block)
            }
            Role::SharedLog => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn note_roundtrips_through_number() {
        for role in ROLES {
            for (logical, merged_pages) in [(0, 0), (u32::MAX, (1 << 28) - 1), (77, 3)] {
                for flags in 0..4 {
                    let (holes, in_place) = (flags & 1 == 1, flags & 2 == 2);
                    let note = BlockNote { role, logical, merged_pages, has_padding: holes, in_place };
                    assert_eq!(BlockNote::unpack(note.pack()), note);
                }
            }
        }
    }
}
