//! Words that carry their own checksum: they change untorn, and so does it.

/// Bits of the number in such a word.
const NUMBER_BITS: u32 = 40;
/// Numbers are below this.
const NUMBERS: u64 = 1 << NUMBER_BITS;

/// A number below 2^40 with 24 bits of its checksum above it; 0 is 0. Larger numbers begin again.
pub fn checked_word(number: u64) -> u64 {
    let number = number % NUMBERS;
    // So that 0 has a checksum of 0: memory of zeros says nothing.
    let sum = crc32fast::hash(&number.to_le_bytes()) ^ crc32fast::hash(&[0; 8]);
    number | u64::from(sum & 0xff_ffff) << NUMBER_BITS
}

/// The number of such a word; `None` if it is damaged.
pub fn checked_number(word: u64) -> Option<u64> {
    let number = word % NUMBERS;
    (checked_word(number) == word).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_and_no_damaged_word_does() {
        assert_eq!(checked_word(0), 0);
        for number in [0, 1, 2, 3, 255, 1 << 20, (1 << 33) + 7, NUMBERS - 1] {
            let word = checked_word(number);
            assert_eq!(checked_number(word), Some(number));
            for (one, other) in (0..64).flat_map(|one| (0..64).map(move |other| (one, other))) {
                let damaged = if one == other { word ^ 1 << one } else { word ^ 1 << one ^ 1 << other };
                assert_eq!(checked_number(damaged), None, "{number}: bits {one} and {other}");
            }
        }
        assert_eq!(checked_number(checked_word(NUMBERS + 5)), Some(5));
    }
}
