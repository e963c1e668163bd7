//! Bit masks of the map entries that satisfy a predicate.

use crate::units::Slot;

/// Pages per word of a bit mask.
pub(super) const WORD: usize = u64::BITS as usize;

/// Returns a mask of the entries, of the first 64, for which `predicate(index, entry)` is true.
///
/// All entries are compared without branches, in a loop that the compiler vectorises; the outcomes, one byte each,
/// are packed eight at a time.
#[inline(always)]
pub(super) fn match_mask(slots: &[Slot], predicate: impl Fn(u32, Slot) -> bool) -> u64 {
    let mut outcomes = [0u8; WORD];
    for ((outcome, &slot), at) in outcomes.iter_mut().zip(slots).zip(0..) {
        *outcome = u8::from(predicate(at, slot));
    }
    // Byte k moves to bit k of the top byte.
    let gather = |eight: &[u8; 8]| u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56;
    let eights = outcomes.as_chunks().0.iter().zip((0..).step_by(8));
    eights.fold(0, |all, (eight, at)| all | gather(eight) << at)
}

/// Returns a word with the lowest `bits` bits set.
#[inline(always)]
pub(super) fn low_bits(bits: u32) -> u64 {
    if bits < u64::BITS { !(u64::MAX << bits) } else { u64::MAX }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn mask_bit_matches_entry_index(slots in prop::collection::vec(0u32..3, 0..=WORD), bits in 0u32..80) {
            let slots: Vec<Slot> = slots.into_iter().map(Slot).collect();
            let mask = match_mask(&slots, |at, slot| slot.0 == at % 3);
            for at in 0..WORD {
                let is_match = slots.get(at).is_some_and(|slot| slot.0 as usize == at % 3);
                prop_assert_eq!(mask >> at & 1 == 1, is_match);
                prop_assert_eq!(low_bits(bits) >> at & 1 == 1, at < bits as usize);
            }
        }
    }
}
