//! A pseudo-random permutation of `0..n` that is computed instead of stored.

use rand::RngCore;
use wearwell_base::seed::Seed;
use wearwell_base::units::Divider;

/// A bijection of `0..n` onto itself, in either direction.
///
/// This is a Feistel network on mixed radices (Black and Rogaway, "Ciphers with arbitrary finite domains", 2002,
/// section 5). A number is split into a row and a column of a near-square table of `rows * columns >= n` cells. Each
/// round shifts one of the two, modulo its radix, by a hash of the other. A value that is mapped to a cell number of
/// `n` or more goes through the network again. There are so few such cells that this happens to less than one value in
/// sqrt(n); a network on powers of two would repeat up to every second value.
#[derive(Clone, Debug)]
pub(super) struct Permutation {
    n: u32,
    rows: u32,
    columns: u32,
    by_columns: Divider,
    /// One key per round; a Feistel network needs four rounds to look random (Luby and Rackoff, 1988).
    keys: [u64; 4],
}

impl Permutation {
    /// Returns the permutation of `0..n` for `seed`; `n` must not be 0.
    pub fn new(n: u32, seed: Seed) -> Self {
        let rows = f64::from(n).sqrt().ceil() as u32;
        let columns = n.div_ceil(rows);
        let mut random = seed.random();
        let keys = std::array::from_fn(|_| random.next_u64());
        Permutation { n, rows, columns, by_columns: Divider::new(columns), keys }
    }

    /// Returns the image of `value`, which must be below `n`.
    #[inline(always)]
    pub fn forward(&self, mut value: u32) -> u32 {
        loop {
            let mut row = self.by_columns.quotient(value);
            let mut column = value - row * self.columns;
            let [k0, k1, k2, k3] = self.keys;
            for (for_row, for_column) in [(k0, k1), (k2, k3)] {
                row = add(row, shift(column, for_row, self.rows), self.rows);
                column = add(column, shift(row, for_column, self.columns), self.columns);
            }
            // There are at most 65,536 rows and columns: the product cannot exceed 2^32, nor the value 2^32 -
            // 1.
            value = row * self.columns + column;
            if value < self.n {
                return value;
            }
        }
    }

    /// Returns the value whose image is `value`, which must be below `n`.
    pub fn backward(&self, mut value: u32) -> u32 {
        loop {
            let mut row = self.by_columns.quotient(value);
            let mut column = value - row * self.columns;
            let [k0, k1, k2, k3] = self.keys;
            for (for_row, for_column) in [(k2, k3), (k0, k1)] {
                column = add(column, self.columns - shift(row, for_column, self.columns), self.columns);
                row = add(row, self.rows - shift(column, for_row, self.rows), self.rows);
            }
            value = row * self.columns + column;
            if value < self.n {
                return value;
            }
        }
    }
}

/// Returns the shift of one coordinate of a cell if the other coordinate is `value`: a hash under `key`, spread over
/// `0..radix`.
///
/// Two multiplications are needed: with one multiplication, neighbours kept their distance through all four rounds.
#[inline(always)]
fn shift(value: u32, key: u64, radix: u32) -> u32 {
    let mixed = (u64::from(value) ^ key).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    (((mixed >> 32) * u64::from(radix)) >> 32) as u32
}

/// Returns `a + b` modulo `radix`, for `a < radix` and `b <= radix`.
#[inline(always)]
fn add(a: u32, b: u32, radix: u32) -> u32 {
    let sum = a + b;
    // If the sum is below the radix, the difference wraps to a huge number. There is no branch, because a branch would
    // be mispredicted half of the time.
    sum.min(sum.wrapping_sub(radix))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_small_space_is_mapped_one_to_one() {
        for n in 1..=600 {
            let permutation = Permutation::new(n, Seed(u64::from(n)));
            let mut image: Vec<u32> = (0..n).map(|value| permutation.forward(value)).collect();
            assert!((0..n).all(|value| permutation.backward(image[value as usize]) == value));
            image.sort_unstable();
            assert!(image.into_iter().eq(0..n), "no permutation of 0..{n}");
        }
    }

    proptest! {
        #[test]
        fn backward_inverts_forward(n in 1..=u32::MAX, part in 0.0..1.0f64, seed: u64) {
            let permutation = Permutation::new(n, Seed(seed));
            let value = (f64::from(n) * part) as u32;
            let image = permutation.forward(value);
            prop_assert!(image < n);
            prop_assert_eq!(permutation.backward(image), value);
        }
    }

    #[test]
    fn largest_space_is_mapped_one_to_one_at_its_ends() {
        let permutation = Permutation::new(u32::MAX, Seed(1));
        for value in [0, 1, u32::MAX / 2, u32::MAX - 1] {
            assert_eq!(permutation.backward(permutation.forward(value)), value);
        }
    }

    /// The distance between the images of neighbouring values follows no pattern.
    #[test]
    fn distances_between_neighbours_are_uniform() {
        for n in [50_000u32, 1_000_003, 370_000_000] {
            let parts = 64u64;
            let permutation = Permutation::new(n, Seed(7));
            let mut counts = vec![0u64; parts as usize];
            for value in (0..n - 1).step_by((n / 50_000) as usize) {
                let (here, next) = (permutation.forward(value), permutation.forward(value + 1));
                let distance = u64::from(next) + u64::from(n) - u64::from(here);
                counts[(distance % u64::from(n) * parts / u64::from(n)) as usize] += 1;
            }
            crate::statistical_tests::assert_matches_weights(&counts, &vec![1.0; parts as usize]);
        }
    }

    /// Checks that the images of a contiguous tenth of the values are spread evenly: their number in each sixty-fourth
    /// of the space is binomially distributed.
    #[test]
    fn contiguous_range_is_spread_uniformly() {
        let (n, parts) = (1_000_000u32, 64);
        let permutation = Permutation::new(n, Seed(7));
        let mut counts = vec![0u64; parts];
        for value in 0..n / 10 {
            counts[permutation.forward(value) as usize * parts / n as usize] += 1;
        }
        crate::statistical_tests::assert_matches_weights(&counts, &vec![1.0; parts]);
    }
}
