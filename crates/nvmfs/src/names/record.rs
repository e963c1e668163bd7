//! Directory entries: records that fill each block without gaps, as in ext2.

use crate::api::{BLOCK_BYTES, Ino, Kind, MAX_NAME_BYTES};
use crate::layout::{kind_bits, kind_of};

/// Bytes in front of the name: inode, length of the record, length of the name, file type. Record sizes are multiples
/// of this number.
pub(super) const HEAD_BYTES: usize = 8;
/// Shift between the file type bits of a mode and the type code in a record.
const KIND_SHIFT: u32 = 12;

/// A record in a directory block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record<'a> {
    /// Offset within the block, bytes.
    pub at: usize,
    /// Length, bytes.
    pub length: usize,
    /// Entry in the record; `None` if the record is free.
    pub entry: Option<(Ino, Kind, &'a [u8])>,
}

/// Malformed record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BadRecord {
    /// Offset within the block, bytes.
    pub at: usize,
    /// Length in bytes; `None` if the length is invalid too, so that the following records cannot be found.
    pub length: Option<usize>,
}

/// Returns the size in bytes of the record for a name of this length.
pub(super) fn record_bytes(name: usize) -> usize {
    (HEAD_BYTES + name).next_multiple_of(HEAD_BYTES)
}

/// True if `name` is valid in a stored entry.
fn is_name(name: &[u8]) -> bool {
    let has_bad_byte = name.iter().any(|byte| matches!(byte, 0 | b'/'));
    !name.is_empty() && !has_bad_byte && name != b"." && name != b".."
}

/// Decodes the record at offset `at` of a block; `inodes` is the upper bound (exclusive) of inode numbers.
#[inline]
pub(super) fn record_at(
    block: &[u8; BLOCK_BYTES],
    at: usize,
    inodes: u32,
) -> std::result::Result<Record<'_>, BadRecord> {
    let bad = BadRecord { at, length: None };
    let (head, rest) =
        block.get(at..).and_then(|bytes| bytes.split_first_chunk::<HEAD_BYTES>()).ok_or(bad)?;
    let ino = u32::from_le_bytes([head[0], head[1], head[2], head[3]]);
    let length = usize::from(u16::from_le_bytes([head[4], head[5]]));
    let name_bytes = usize::from(head[6]);
    if length < HEAD_BYTES || length % HEAD_BYTES != 0 || at + length > BLOCK_BYTES {
        return Err(bad);
    }
    if ino == 0 {
        return Ok(Record { at, length, entry: None });
    }
    let bad = BadRecord { at, length: Some(length) };
    let name = rest[..length - HEAD_BYTES].get(..name_bytes).filter(|name| is_name(name)).ok_or(bad)?;
    let kind = kind_of(u32::from(head[7]) << KIND_SHIFT).ok_or(bad)?;
    if ino >= inodes {
        return Err(bad);
    }
    Ok(Record { at, length, entry: Some((Ino(ino), kind, name)) })
}

/// Returns the records of a block in order, including malformed records; ends after a record with an invalid length.
pub(super) fn records(
    block: &[u8; BLOCK_BYTES],
    inodes: u32,
) -> impl Iterator<Item = std::result::Result<Record<'_>, BadRecord>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        if at >= BLOCK_BYTES {
            return None;
        }
        let record = record_at(block, at, inodes);
        let length = match record {
            Ok(record) => Some(record.length),
            Err(bad) => bad.length,
        };
        at = length.map_or(BLOCK_BYTES, |length| at + length);
        Some(record)
    })
}

/// Encodes the head of a record as a word; an `entry` of `None` is a free record.
pub(crate) fn head(length: usize, entry: Option<(Ino, Kind, usize)>) -> u64 {
    let (ino, kind, name) = match entry {
        Some((ino, kind, name)) => (ino.0, kind_bits(kind) >> KIND_SHIFT, name),
        None => (0, 0, 0),
    };
    debug_assert!(name <= MAX_NAME_BYTES && length <= BLOCK_BYTES);
    u64::from(ino) | (length as u64) << 32 | (name as u64) << 48 | u64::from(kind) << 56
}

/// Encodes a record with its name, padded with zeros.
pub(super) fn encode(ino: Ino, kind: Kind, name: &[u8]) -> Vec<u8> {
    let length = record_bytes(name.len());
    let mut bytes = Vec::with_capacity(length);
    bytes.extend(head(length, Some((ino, kind, name.len()))).to_le_bytes());
    bytes.extend(name);
    bytes.resize(length, 0);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn block_of(entries: &[(u32, &[u8])]) -> [u8; BLOCK_BYTES] {
        let mut block = [0; BLOCK_BYTES];
        let mut at = 0;
        for (ino, name) in entries {
            let bytes = encode(Ino(*ino), Kind::File, name);
            block[at..at + bytes.len()].copy_from_slice(&bytes);
            at += bytes.len();
        }
        block[at..at + 8].copy_from_slice(&head(BLOCK_BYTES - at, None).to_le_bytes());
        block
    }

    #[test]
    fn records_round_trip() {
        let names: [(u32, &[u8]); 3] = [(5, b"a"), (6, &[b'x'; 255]), (7, b"12345678")];
        let block = block_of(&names);
        let found: Vec<Record<'_>> = records(&block, 8).map(|record| record.unwrap()).collect();
        assert_eq!(found.iter().map(|record| record.length).collect::<Vec<_>>(), [16, 264, 16, 4096 - 296]);
        for (record, (ino, name)) in found.iter().zip(names) {
            assert_eq!(record.entry, Some((Ino(ino), Kind::File, name)));
        }
        assert_eq!(found[3].entry, None);
        let bad = records(&block, 7).filter_map(|record| record.err()).collect::<Vec<_>>();
        assert_eq!(bad, [BadRecord { at: 280, length: Some(16) }], "inode 7 of 7");
    }

    proptest! {
        #[test]
        fn walk_of_arbitrary_blocks_ends(seed: Vec<u64>, changes: Vec<(u16, u8)>) {
            let mut block = block_of(&[(5, b"a"), (6, b"some name"), (7, b"another")]);
            for (word, bytes) in seed.iter().zip(block.chunks_exact_mut(8)) {
                bytes.copy_from_slice(&word.to_le_bytes());
            }
            for (at, byte) in changes {
                block[usize::from(at) % BLOCK_BYTES] = byte;
            }
            let mut end = 0;
            for record in records(&block, 100) {
                let (at, length) = match record {
                    Ok(record) => {
                        let is_sane = |(ino, _, name): (Ino, Kind, &[u8])| (1..100).contains(&ino.0) && is_name(name);
                        prop_assert!(record.entry.is_none_or(is_sane));
                        (record.at, record.length)
                    }
                    Err(bad) => (bad.at, bad.length.unwrap_or(BLOCK_BYTES - bad.at)),
                };
                prop_assert_eq!(at, end);
                prop_assert!(length >= HEAD_BYTES);
                end = at + length;
            }
            prop_assert_eq!(end, BLOCK_BYTES);
        }
    }
}
