//! Radix sort of page numbers, without branches that depend on their values.

use crate::units::Lpn;

/// Minimum length of a list for radix sort: shorter lists are sorted by comparison, which costs less than counting
/// digits.
const MIN_RADIX_LENGTH: usize = 64;

/// Maximum number of bits per digit.
const MAX_DIGIT_BITS: u32 = 10;

/// Sorts `pages` digit by digit, least significant digit first; `scratch` is a buffer.
///
/// A digit has at most twice as many values as there are pages. Scanning the counts of all values then costs less than
/// the additional pass over the pages that smaller digits would need.
pub(super) fn sort(pages: &mut Vec<Lpn>, scratch: &mut Vec<Lpn>) {
    if pages.len() < MIN_RADIX_LENGTH {
        pages.sort_unstable();
        return;
    }
    let bits = u32::BITS - pages.iter().fold(0, |all, page| all | page.0).leading_zeros();
    let digits = bits.div_ceil((pages.len().ilog2() + 1).min(MAX_DIGIT_BITS));
    let digit_bits = bits.div_ceil(digits.max(1));
    let mut position_buffer = [0u32; 1 << MAX_DIGIT_BITS];
    let positions = &mut position_buffer[..1 << digit_bits];
    scratch.clear();
    scratch.resize(pages.len(), Lpn(0));
    for shift in (0..digits).map(|nth| nth * digit_bits) {
        let digit = |page: &Lpn| (page.0 >> shift) as usize & ((1 << digit_bits) - 1);
        positions.fill(0);
        pages.iter().for_each(|page| positions[digit(page)] += 1);
        let mut before = 0;
        for position in &mut *positions {
            before += std::mem::replace(position, before);
        }
        for page in &*pages {
            let position = &mut positions[digit(page)];
            scratch[*position as usize] = *page;
            *position += 1;
        }
        std::mem::swap(pages, scratch);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn radix_sort_equals_comparison_sort(
            numbers in prop::collection::vec(any::<u32>(), 0..300),
            shift in 0u32..32,
        ) {
            let mut pages: Vec<Lpn> = numbers.iter().map(|number| Lpn(number >> shift)).collect();
            let mut expected = pages.clone();
            expected.sort_unstable();
            sort(&mut pages, &mut vec![Lpn(7); 3]);
            prop_assert_eq!(pages, expected);
        }
    }
}
