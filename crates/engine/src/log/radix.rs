//! Radix sort of page numbers, without branches that depend on their values.

use crate::units::Lpn;

/// Lists shorter than this are sorted by comparison: a radix sort's counting would cost more.
const FEW: usize = 64;

/// Maximum number of bits per digit.
const MOST_BITS: u32 = 10;

/// Sorts `pages` digit by digit, least significant digit first; `spare` is scratch space.
///
/// A digit has at most twice as many values as there are pages: scanning the counts of all values costs less than the
/// extra pass over the pages that smaller digits would need.
pub(super) fn sort(pages: &mut Vec<Lpn>, spare: &mut Vec<Lpn>) {
    if pages.len() < FEW {
        pages.sort_unstable();
        return;
    }
    let bits = u32::BITS - pages.iter().fold(0, |all, page| all | page.0).leading_zeros();
    let digits = bits.div_ceil((pages.len().ilog2() + 1).min(MOST_BITS));
    let digit_bits = bits.div_ceil(digits.max(1));
    let mut all_places = [0u32; 1 << MOST_BITS];
    let places = &mut all_places[..1 << digit_bits];
    spare.clear();
    spare.resize(pages.len(), Lpn(0));
    for shift in (0..digits).map(|nth| nth * digit_bits) {
        let digit = |page: &Lpn| (page.0 >> shift) as usize & ((1 << digit_bits) - 1);
        places.fill(0);
        pages.iter().for_each(|page| places[digit(page)] += 1);
        let mut before = 0;
        for place in &mut *places {
            before += std::mem::replace(place, before);
        }
        for page in &*pages {
            let place = &mut places[digit(page)];
            spare[*place as usize] = *page;
            *place += 1;
        }
        std::mem::swap(pages, spare);
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
            let mut wanted = pages.clone();
            wanted.sort_unstable();
            sort(&mut pages, &mut vec![Lpn(7); 3]);
            prop_assert_eq!(pages, wanted);
        }
    }
}
