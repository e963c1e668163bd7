//! Numbers stored as multiples of a common step above their minimum, in the narrowest type that holds them.

/// A column of numbers.
pub struct Column {
    min: u64,
    step: u64,
    multiples: Multiples,
}

/// Multiples of the step, one for each number.
enum Multiples {
    /// All numbers are equal.
    Zero(usize),
    U8(Box<[u8]>),
    U16(Box<[u16]>),
    U32(Box<[u32]>),
    U64(Box<[u64]>),
}

impl Column {
    /// Stores `values`.
    pub fn pack(values: impl Iterator<Item = u64> + Clone) -> Self {
        let min = values.clone().min().unwrap_or(0);
        let mut step = 0;
        let mut max = 0;
        for value in values.clone() {
            let above = value - min;
            max = max.max(above);
            if step != 1 && (step == 0 || !above.is_multiple_of(step)) {
                step = greatest_common_divisor(step, above);
            }
        }
        let multiples = values.map(|value| (value - min).checked_div(step).unwrap_or(0));
        let multiples = match max.checked_div(step) {
            None => Multiples::Zero(multiples.count()),
            Some(0..=0xff) => Multiples::U8(multiples.map(|multiple| multiple as u8).collect()),
            Some(0x100..=0xffff) => Multiples::U16(multiples.map(|multiple| multiple as u16).collect()),
            Some(0x1_0000..=0xffff_ffff) => {
                Multiples::U32(multiples.map(|multiple| multiple as u32).collect())
            }
            Some(_) => Multiples::U64(multiples.collect()),
        };
        Column { min, step, multiples }
    }

    /// Appends all numbers to `out`, each converted by `convert`.
    #[inline]
    pub fn unpack<T>(&self, out: &mut Vec<T>, convert: impl Fn(u64) -> T) {
        let Column { min, step, .. } = *self;
        let value = |multiple: u64| convert(min + step * multiple);
        match &self.multiples {
            Multiples::Zero(count) => out.extend((0..*count).map(|_| value(0))),
            Multiples::U8(multiples) => out.extend(multiples.iter().map(|&multiple| value(multiple.into()))),
            Multiples::U16(multiples) => out.extend(multiples.iter().map(|&multiple| value(multiple.into()))),
            Multiples::U32(multiples) => out.extend(multiples.iter().map(|&multiple| value(multiple.into()))),
            Multiples::U64(multiples) => out.extend(multiples.iter().map(|&multiple| value(multiple))),
        }
    }

    /// Returns the bytes of memory that the numbers take.
    pub fn bytes(&self) -> usize {
        match &self.multiples {
            Multiples::Zero(_) => 0,
            Multiples::U8(multiples) => size_of_val(&**multiples),
            Multiples::U16(multiples) => size_of_val(&**multiples),
            Multiples::U32(multiples) => size_of_val(&**multiples),
            Multiples::U64(multiples) => size_of_val(&**multiples),
        }
    }
}

/// Returns the greatest common divisor, by Euclid's algorithm; the divisor of 0 and a number is the number.
fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn unpack(column: &Column) -> Vec<u64> {
        let mut values = Vec::new();
        column.unpack(&mut values, |value| value);
        values
    }

    #[test]
    fn column_uses_narrowest_type() {
        let bytes = |values: &[u64]| Column::pack(values.iter().copied()).bytes();
        assert_eq!(bytes(&[7; 100]), 0);
        assert_eq!(bytes(&[4096, 8192, 65536]), 3);
        assert_eq!(bytes(&[0, 300]), 2);
        assert_eq!(bytes(&[0, 1, 300]), 6);
        assert_eq!(bytes(&[5, 5 + (1 << 32), 6]), 24);
        assert_eq!(bytes(&[0, 100 << 32, 100]), 24);
        assert_eq!(bytes(&[0, 1000 << 24, 1000]), 12);
    }

    proptest! {
        #[test]
        fn packed_numbers_round_trip(
            min in any::<u64>(), step in 1u64..5000, multiples in proptest::collection::vec(0u64..1 << 40, 0..60), shift in 0u32..40,
        ) {
            let values: Vec<u64> =
                multiples.iter().map(|&multiple| min.saturating_add(step * (multiple >> shift))).collect();
            let column = Column::pack(values.iter().copied());
            prop_assert_eq!(unpack(&column), values);
        }
    }
}
