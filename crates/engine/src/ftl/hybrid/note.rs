//! What the spare areas of a block say of the block as a whole.

use crate::units::StreamId;

/// What a block is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Holds pages of one logical block in their places: the product of a full merge, or written page after page.
    Data,
    /// Log of one logical block; it may have become its data block since, by a switch or a partial merge.
    OwnLog,
    /// Log of any logical blocks.
    SharedLog,
}

/// The note of a block. Each run that is programmed into it carries one; that of the last one holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Note {
    pub role: Role,
    /// The logical block that it belongs to; 0 for a shared log.
    pub logical: u32,
    /// Pages it has when the merge that wrote the last ones is complete; 0 if no merge did.
    pub merged_pages: u32,
    /// Whether some of its pages are padding.
    pub holes: bool,
    /// Whether each page is in its place, the one of its number in the logical block.
    pub in_place: bool,
}

const MERGED_SHIFT: u32 = 32;
const MERGED_BITS: u64 = (1 << 28) - 1;
const HOLES: u64 = 1 << 60;
const IN_PLACE: u64 = 1 << 61;
const ROLE_SHIFT: u32 = 62;
const ROLES: [Role; 3] = [Role::Data, Role::OwnLog, Role::SharedLog];

impl Note {
    /// A block that begins to be filled.
    pub fn new(role: Role, logical: u32) -> Self {
        Note { role, logical, merged_pages: 0, holes: false, in_place: role != Role::SharedLog }
    }

    /// As a number for the spare area.
    pub fn pack(self) -> u64 {
        let flags = if self.holes { HOLES } else { 0 } | if self.in_place { IN_PLACE } else { 0 };
        u64::from(self.logical)
            | (u64::from(self.merged_pages) & MERGED_BITS) << MERGED_SHIFT
            | (self.role as u64) << ROLE_SHIFT
            | flags
    }

    /// From the number found in the spare area.
    pub fn unpack(note: u64) -> Self {
        Note {
            role: ROLES[(note >> ROLE_SHIFT) as usize],
            logical: note as u32,
            merged_pages: (note >> MERGED_SHIFT & MERGED_BITS) as u32,
            holes: note & HOLES != 0,
            in_place: note & IN_PLACE != 0,
        }
    }

    /// A hint for whatever is below: data and logs apart.
    pub fn stream(self) -> StreamId {
        StreamId(self.role as u8)
    }

    /// Whether a block with this note and so many readable pages of `pages_per_block` holds all that its logical block needs
    /// besides what was written to logs later.
    pub fn is_complete(self, written: u32, pages_per_block: u32) -> bool {
        match self.role {
            Role::Data => written >= self.merged_pages,
            Role::OwnLog => {
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
    fn what_is_packed_is_found_again() {
        for role in ROLES {
            for (logical, merged_pages) in [(0, 0), (u32::MAX, (1 << 28) - 1), (77, 3)] {
                for flags in 0..4 {
                    let (holes, in_place) = (flags & 1 == 1, flags & 2 == 2);
                    let note = Note { role, logical, merged_pages, holes, in_place };
                    assert_eq!(Note::unpack(note.pack()), note);
                }
            }
        }
    }
}
