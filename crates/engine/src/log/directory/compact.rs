//! Stream compaction: the owners of a block's valid pages, without a branch for each page.

use crate::units::{BlockId, Lpn};
use crate::validity::RamBitmap;

/// Owners per vector register.
#[cfg(target_arch = "x86_64")]
const LANES: usize = 8;

/// Writes the owners of valid pages to the beginning of `output`, in order, and returns their number. `owners` are the
/// owners of the first pages of `block`. `output` must be as long as `owners`; its other entries are overwritten, too.
#[inline(always)]
pub(super) fn valid_owners(
    validity: &RamBitmap,
    block: BlockId,
    owners: &[Lpn],
    output: &mut [Lpn],
) -> usize {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("popcnt") {
        // SAFETY: the CPU has the features that the function is compiled for.
        return unsafe { valid_owners_avx2(validity, block, owners, output) };
    }
    valid_owners_scalar(validity, block, owners, output)
}

#[inline(always)]
fn valid_owners_scalar(validity: &RamBitmap, block: BlockId, owners: &[Lpn], output: &mut [Lpn]) -> usize {
    let mut found = 0;
    validity.for_each_word(block, owners.len() as u32, |pages, valid| {
        found = compact(&owners[pages.start as usize..pages.end as usize], valid, output, found);
    });
    found
}

/// Appends the owners whose bit is set in `valid` (lowest bit first) to the first `found` entries of `output`. Returns
/// the new number of entries.
///
/// Writes every owner, but advances only for valid ones: a branch on the bit would be mispredicted.
#[inline(always)]
fn compact(owners: &[Lpn], mut valid: u64, output: &mut [Lpn], mut found: usize) -> usize {
    for &owner in owners {
        output[found] = owner;
        found += (valid & 1) as usize;
        valid >>= 1;
    }
    found
}

/// For each mask, the permutation that moves the lanes whose bit is set in the mask to the front.
#[cfg(target_arch = "x86_64")]
static PERMUTATIONS: [[u8; LANES]; 1 << LANES] = permutations();

#[cfg(target_arch = "x86_64")]
const fn permutations() -> [[u8; LANES]; 1 << LANES] {
    let mut table = [[0; LANES]; 1 << LANES];
    let mut mask = 0;
    while mask < table.len() {
        let (mut lane, mut found) = (0, 0);
        while lane < LANES {
            if mask >> lane & 1 == 1 {
                table[mask][found] = lane as u8;
                found += 1;
            }
            lane += 1;
        }
        mask += 1;
    }
    table
}

/// Does the work of [`valid_owners_scalar`] for eight owners at a time, with a permutation looked up by their
/// eight validity bits.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,popcnt")]
fn valid_owners_avx2(validity: &RamBitmap, block: BlockId, owners: &[Lpn], output: &mut [Lpn]) -> usize {
    use std::arch::x86_64::{
        _mm_loadl_epi64, _mm256_cvtepu8_epi32, _mm256_loadu_si256, _mm256_permutevar8x32_epi32,
        _mm256_storeu_si256,
    };
    let output = &mut output[..owners.len()];
    let mut found = 0;
    validity.for_each_word(block, owners.len() as u32, |pages, mut valid| {
        let (vectors, rest) = owners[pages.start as usize..pages.end as usize].as_chunks::<LANES>();
        for vector in vectors {
            let mask = valid as u8;
            // SAFETY: the loads read eight bytes of a permutation and eight owners. `output` is as long as `owners` and
            // holds at most the owners before this vector, so eight more fit.
            unsafe {
                let order =
                    _mm256_cvtepu8_epi32(_mm_loadl_epi64(PERMUTATIONS[usize::from(mask)].as_ptr().cast()));
                let packed = _mm256_permutevar8x32_epi32(_mm256_loadu_si256(vector.as_ptr().cast()), order);
                _mm256_storeu_si256(output.as_mut_ptr().add(found).cast(), packed);
            }
            found += mask.count_ones() as usize;
            valid >>= LANES;
        }
        found = compact(rest, valid, output, found);
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Slot;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn compaction_keeps_valid_owners_in_order(
            numbers in prop::collection::vec(any::<u32>(), 0..=200),
            valid in prop::collection::vec(any::<bool>(), 200),
        ) {
            const BLOCK: BlockId = BlockId(1);
            let mut validity = RamBitmap::new(3, 200);
            let owners: Vec<Lpn> = numbers.into_iter().map(Lpn).collect();
            let mut expected = Vec::new();
            for ((&owner, &valid), slot) in owners.iter().zip(&valid).zip(200..) {
                if valid { expected.push(owner) } else { validity.clear(Slot(slot)) }
            }
            for valid_owners in [valid_owners, valid_owners_scalar] {
                let mut output = vec![Lpn(7); owners.len() + 3];
                let found = valid_owners(&validity, BLOCK, &owners, &mut output);
                prop_assert_eq!(&output[..found], &expected[..]);
                prop_assert_eq!(&output[owners.len()..], &[Lpn(7); 3][..]);
            }
        }
    }
}
