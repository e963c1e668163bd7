//! Entries of Logarithmic Gecko, bit-packed as the paper assumes.

use super::FormatError;
use crate::validity::GeckoConfig;

/// Position of the next bit.
struct BitCursor<'a> {
    bytes: &'a mut [u8],
    at: usize,
}

impl BitCursor<'_> {
    fn put(&mut self, value: u64, bits: u32) {
        for bit in 0..bits {
            if value >> bit & 1 == 1 {
                self.bytes[self.at / 8] |= 1 << (self.at % 8);
            }
            self.at += 1;
        }
    }

    fn take(&mut self, bits: u32) -> u64 {
        let mut value = 0;
        for bit in 0..bits {
            value |= u64::from(self.bytes[self.at / 8] >> (self.at % 8) & 1) << bit;
            self.at += 1;
        }
        value
    }
}

/// Writes the entries of a page of a run, given in the store's word format: for each entry its key, its erase flag,
/// and one bit for each page of its part of a block. Returns the number of entries.
///
/// # Errors
/// Fails if there are more entries than fit on a page.
pub fn pack(config: &GeckoConfig, words: &[u64], page: &mut [u8]) -> Result<u32, FormatError> {
    let layout = config.entry_words();
    let entries = words.len() / layout.stride;
    if entries > config.page_entries() as usize || page.len() < config.page_bytes as usize {
        return Err(FormatError(format!("{entries} entries do not fit in {} bytes", page.len())));
    }
    page.fill(0);
    let mut bits = BitCursor { bytes: page, at: 0 };
    for entry in words.chunks_exact(layout.stride) {
        bits.put(entry[0] >> (layout.head_bits + 1), config.key_bits - 1);
        bits.put(entry[0] >> layout.head_bits & 1, 1);
        let mut remaining_bits = config.part_pages();
        bits.put(entry[0] & ((1 << layout.head_bits) - 1), remaining_bits.min(layout.head_bits));
        remaining_bits = remaining_bits.saturating_sub(layout.head_bits);
        for &word in &entry[1..] {
            bits.put(word, remaining_bits.min(64));
            remaining_bits = remaining_bits.saturating_sub(64);
        }
    }
    Ok(entries as u32)
}

/// Reads `entries` entries into the store's word format.
///
/// # Errors
/// Fails for more entries than fit on a page, for invalid keys, and for keys out of order.
pub fn unpack(config: &GeckoConfig, entries: u32, page: &mut [u8]) -> Result<Vec<u64>, FormatError> {
    let layout = config.entry_words();
    if entries > config.page_entries() || page.len() < config.page_bytes as usize {
        return Err(FormatError(format!("{entries} entries do not fit in {} bytes", page.len())));
    }
    let mut bits = BitCursor { bytes: page, at: 0 };
    let mut words = Vec::with_capacity(entries as usize * layout.stride);
    let mut last = None;
    for _ in 0..entries {
        let (key, flag) = (bits.take(config.key_bits - 1), bits.take(1));
        if key >= config.max_entries() || last.is_some_and(|last| last >= key) {
            return Err(FormatError(format!("entry {key} of a run is out of order, or of no block")));
        }
        last = Some(key);
        let mut remaining_bits = config.part_pages();
        let head = bits.take(remaining_bits.min(layout.head_bits));
        remaining_bits = remaining_bits.saturating_sub(layout.head_bits);
        words.push(key << (layout.head_bits + 1) | flag << layout.head_bits | head);
        for _ in 1..layout.stride {
            words.push(bits.take(remaining_bits.min(64)));
            remaining_bits = remaining_bits.saturating_sub(64);
        }
    }
    Ok(words)
}
