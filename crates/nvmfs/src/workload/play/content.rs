//! Content that can be verified: its bytes depend on their file and offset.

use super::super::FileId;

/// Bytes of a word, the unit of generation.
const WORD_BYTES: u64 = 8;

/// Fills `out` with the bytes at `offset_bytes` of `file`. The bytes are a function of file and offset, and differ at
/// other offsets and in other files.
pub fn fill(file: FileId, offset_bytes: u64, out: &mut [u8]) {
    let mut at = 0;
    while at < out.len() {
        let position = offset_bytes + at as u64;
        let word = word(file, position / WORD_BYTES).to_le_bytes();
        let from = &word[(position % WORD_BYTES) as usize..];
        let bytes = from.len().min(out.len() - at);
        out[at..at + bytes].copy_from_slice(&from[..bytes]);
        at += bytes;
    }
}

/// Returns a word of a file: a hash of file and word index by the finaliser of SplitMix64 (Steele, Lea and Flood,
/// OOPSLA 2014).
fn word(file: FileId, index: u64) -> u64 {
    let mut mixed = (u64::from(file.0) << 40 ^ index).wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_depends_on_offset_and_not_on_request() {
        let mut whole = [0; 64];
        fill(FileId(3), 1000, &mut whole);
        for (first, length) in [(0, 64), (1, 7), (5, 30), (63, 1)] {
            let mut part = vec![0; length];
            fill(FileId(3), 1000 + first as u64, &mut part);
            assert_eq!(part, whole[first..first + length]);
        }
        let mut other = [0; 64];
        fill(FileId(4), 1000, &mut other);
        assert_ne!(whole, other);
    }
}
