//! Entries of the map that something holds for, a bit each.

use crate::units::Slot;

/// Pages with a bit each in a word.
pub(super) const WORD: usize = u64::BITS as usize;

/// Which of the first 64 entries of the map `holds` holds for, told their position, too: a bit each. All are compared without a branch,
/// by vector code that the compiler makes of this, and the outcomes, a byte each, are gathered by eight.
#[inline(always)]
pub(super) fn marks(slots: &[Slot], holds: impl Fn(u32, Slot) -> bool) -> u64 {
    let mut outcomes = [0u8; WORD];
    for ((outcome, &slot), at) in outcomes.iter_mut().zip(slots).zip(0..) {
        *outcome = u8::from(holds(at, slot));
    }
    // Byte k moves to bit k of the top byte.
    let gather = |eight: &[u8; 8]| u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56;
    let eights = outcomes.as_chunks().0.iter().zip((0..).step_by(8));
    eights.fold(0, |all, (eight, at)| all | gather(eight) << at)
}

/// The lowest so many bits of a word.
#[inline(always)]
pub(super) fn lowest(bits: u32) -> u64 {
    if bits < u64::BITS { !(u64::MAX << bits) } else { u64::MAX }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn each_entry_is_marked_by_its_place(slots in prop::collection::vec(0u32..3, 0..=WORD), bits in 0u32..80) {
            let slots: Vec<Slot> = slots.into_iter().map(Slot).collect();
            let found = marks(&slots, |at, slot| slot.0 == at % 3);
            for at in 0..WORD {
                let holds = slots.get(at).is_some_and(|slot| slot.0 as usize == at % 3);
                prop_assert_eq!(found >> at & 1 == 1, holds);
                prop_assert_eq!(lowest(bits) >> at & 1 == 1, at < bits as usize);
            }
        }
    }
}
