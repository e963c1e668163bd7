//! Basic quantities: page and block numbers, and measures of spare space.

use serde::{Deserialize, Serialize};

/// A logical page number, as seen by the user of a layer.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lpn(pub u32);

/// A physical page of a medium: `block * pages_per_block + page`.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(pub u32);

impl Slot {
    /// Marker for a logical page that is not stored.
    pub const NONE: Slot = Slot(u32::MAX);
}

/// An erase block of a medium.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockId(pub u32);

/// An append stream of a layer.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct StreamId(pub u8);

impl Lpn {
    /// Returns the number as an index into a table.
    #[inline(always)]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl BlockId {
    /// Returns the number as an index into a table.
    #[inline(always)]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl StreamId {
    /// Returns the number as an index into a table.
    #[inline(always)]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Spare space of a device in its four usual measures.
///
/// `T` is the number of physical pages, `U` that of logical pages. The literature mixes these measures, so every result
/// prints all four.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpareSpace {
    /// `alpha = T / U`.
    pub alpha: f64,
    /// `S_f = (T - U) / T` (Desnoyers; Van Houdt).
    pub spare_factor: f64,
    /// `(T - U) / U`, often quoted in percent by vendors.
    pub over_provisioning: f64,
    /// `rho = U / T`, the load or utilisation (Van Houdt).
    pub load: f64,
}

impl SpareSpace {
    /// Names of the four measures.
    pub const NAMES: [&str; 4] = ["spare_factor", "over_provisioning", "alpha", "load"];

    /// Returns the measure with one of [`Self::NAMES`].
    ///
    /// # Panics
    /// Panics for another name.
    pub fn measure(&self, name: &str) -> f64 {
        match name {
            "spare_factor" => self.spare_factor,
            "over_provisioning" => self.over_provisioning,
            "alpha" => self.alpha,
            "load" => self.load,
            _ => panic!("{name} is no measure of spare space"),
        }
    }

    /// Returns the spare factor that corresponds to `value` of the measure `name`, one of [`Self::NAMES`]; outside of 0
    /// to 1 if no drive has such a value.
    ///
    /// # Panics
    /// Panics for another name.
    pub fn spare_factor_of(name: &str, value: f64) -> f64 {
        match name {
            "spare_factor" => value,
            "over_provisioning" => value / (1.0 + value),
            "alpha" => 1.0 - 1.0 / value,
            "load" => 1.0 - value,
            _ => panic!("{name} is no measure of spare space"),
        }
    }

    /// Calculates the measures from page counts; `logical_pages` must be positive and at most `physical_pages`.
    pub fn from_pages(physical_pages: u64, logical_pages: u64) -> Self {
        let (t, u) = (physical_pages as f64, logical_pages as f64);
        SpareSpace { alpha: t / u, spare_factor: (t - u) / t, over_provisioning: (t - u) / u, load: u / t }
    }

    /// Calculates the measures from the spare factor, which must lie strictly between 0 and 1.
    pub fn from_spare_factor(spare_factor: f64) -> Self {
        let load = 1.0 - spare_factor;
        SpareSpace { alpha: 1.0 / load, spare_factor, over_provisioning: spare_factor / load, load }
    }
}

/// Exact division of 32-bit numbers by a number fixed at set-up.
///
/// Every overwrite converts a slot to its block, and block sizes of real flash (576 or 1152 pages) are not powers of
/// two. Multiplies by a 63-bit reciprocal that is rounded up: the result is exact if `dividend * divisor < 2^63`, hence
/// for every dividend if the divisor is below 2^31.
#[derive(Clone, Copy, Debug)]
pub struct Divider {
    reciprocal: u64,
    divisor: u32,
}

impl Divider {
    /// Returns a divider by `divisor`, which is from 1 to 2^31.
    pub fn new(divisor: u32) -> Self {
        assert!((1..=1 << 31).contains(&divisor), "a divisor of {divisor}");
        Divider { reciprocal: (1u64 << 63) / u64::from(divisor) + 1, divisor }
    }

    /// Returns `dividend / divisor`.
    #[inline(always)]
    pub fn quotient(self, dividend: u32) -> u32 {
        ((u128::from(dividend) * u128::from(self.reciprocal)) >> 63) as u32
    }

    /// Returns the divisor.
    #[inline(always)]
    pub fn divisor(self) -> u32 {
        self.divisor
    }
}

/// Returns the number of consecutive pages at the beginning of the list; 0 for an empty list.
#[inline]
pub fn run_length(pages: &[Lpn]) -> usize {
    let first = pages.first().map_or(0, |page| page.0);
    prefix_len(pages, |at, page| page.0 == first.wrapping_add(at))
}

/// Returns the first and the last page if all other pages lie between them, as in a rising list; `None` for an empty
/// list.
#[inline]
pub fn bounds(pages: &[Lpn]) -> Option<(Lpn, Lpn)> {
    let (first, last) = (*pages.first()?, *pages.last()?);
    let span = last.0.checked_sub(first.0)?;
    let is_between = |page: &Lpn| page.0.wrapping_sub(first.0) <= span;
    pages.iter().fold(true, |all, page| all & is_between(page)).then_some((first, last))
}

/// Returns the number of runs of consecutive pages in the list.
pub fn count_runs(pages: &[Lpn]) -> usize {
    let Some((_, rest)) = pages.split_first() else { return 0 };
    // Gaps have the width of page numbers, so that vector code can add them up.
    let gap = |(page, next): (&Lpn, &Lpn)| u32::from(next.0 != page.0.wrapping_add(1));
    1 + pages.iter().zip(rest).map(gap).sum::<u32>() as usize
}

/// Returns the length of the prefix whose items satisfy `holds`, which also receives the position.
///
/// Checks sixteen items at a time without a branch, which the compiler turns into vector code: most lists are long
/// runs. Most other lists end their run early, so the first few items are checked one by one.
#[inline(always)]
pub fn prefix_len<T: Copy>(items: &[T], holds: impl Fn(u32, T) -> bool) -> usize {
    const STEP: usize = 16;
    const HEAD: usize = 4;
    let head = (0..).zip(&items[..HEAD.min(items.len())]);
    let mut length = head.take_while(|&(at, &item)| holds(at, item)).count();
    if length < HEAD {
        return length;
    }
    for step in items[HEAD..].chunks_exact(STEP) {
        if !(length as u32..).zip(step).fold(true, |all, (at, &item)| all & holds(at, item)) {
            break;
        }
        length += STEP;
    }
    let rest = (length as u32..).zip(&items[length..]);
    length + rest.take_while(|&(at, &item)| holds(at, item)).count()
}

/// Returns the runs of consecutive pages of the list, in order.
#[inline]
pub fn runs(mut pages: &[Lpn]) -> impl Iterator<Item = &[Lpn]> {
    std::iter::from_fn(move || {
        let (run, rest) = pages.split_at(run_length(pages));
        pages = rest;
        (!run.is_empty()).then_some(run)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn divider_agrees_with_division(dividend: u32, divisor in 1u32..=1 << 31) {
            prop_assert_eq!(Divider::new(divisor).quotient(dividend), dividend / divisor);
        }
    }

    #[test]
    fn bounds_exist_if_all_pages_lie_between_first_and_last() {
        let pages = |numbers: &[u32]| numbers.iter().map(|&number| Lpn(number)).collect::<Vec<_>>();
        let bounds = |numbers: &[u32]| super::bounds(&pages(numbers)).map(|(first, last)| (first.0, last.0));
        assert_eq!(bounds(&[]), None);
        assert_eq!(bounds(&[7]), Some((7, 7)));
        assert_eq!(bounds(&[3, 5, 4, 9]), Some((3, 9)));
        for numbers in [[3, 2, 9], [3, 10, 9], [9, 5, 3], [3, u32::MAX, 9]] {
            assert_eq!(bounds(&numbers), None);
        }
    }

    #[test]
    fn divider_at_extreme_operands_agrees_with_division() {
        for divisor in [1, 2, 3, 31, 32, 33, 576, 1152, (1 << 31) - 1, 1 << 31] {
            let multiple = (u32::MAX / divisor) * divisor;
            for dividend in [0, 1, divisor - 1, divisor, multiple - 1, multiple, u32::MAX] {
                assert_eq!(Divider::new(divisor).quotient(dividend), dividend / divisor);
            }
        }
    }

    #[test]
    fn four_spare_space_measures_agree() {
        let op = SpareSpace::from_pages(1000, 900);
        assert!((op.spare_factor - 0.10).abs() < 1e-12);
        assert!((op.alpha - 1.0 / 0.9).abs() < 1e-12);
        assert!((op.over_provisioning - 1.0 / 9.0).abs() < 1e-12);
        assert!((op.load - 0.90).abs() < 1e-12);
        for name in SpareSpace::NAMES {
            let spare_factor = SpareSpace::spare_factor_of(name, op.measure(name));
            assert!((spare_factor - 0.10).abs() < 1e-12, "{name}");
        }
    }
}
