//! Words that contain their own checksum. A word is written atomically, so the number and its checksum change
//! together.

/// Number of bits of a checked word that hold the number.
const NUMBER_BITS: u32 = 40;
/// Upper bound (exclusive) of the numbers.
const NUMBERS: u64 = 1 << NUMBER_BITS;

/// Returns a number below 2^40 with 24 bits of its checksum above it; 0 yields 0. Larger numbers wrap around.
pub fn checked_word(number: u64) -> u64 {
    let number = number % NUMBERS;
    // XOR makes the checksum of 0 equal to 0, so zeroed memory is valid.
    let sum = crc32fast::hash(&number.to_le_bytes()) ^ crc32fast::hash(&[0; 8]);
    number | u64::from(sum & 0xff_ffff) << NUMBER_BITS
}

/// Returns the number in a checked word; `None` if the word is damaged.
pub fn checked_number(word: u64) -> Option<u64> {
    let number = word % NUMBERS;
    (checked_word(number) == word).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_round_trip_and_damaged_words_are_rejected() {
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
