//! Exact conversion of a table's numbers from their units.

use crate::fields::{parse_decimal, parse_hexadecimal, parse_u64};

/// Units of time: name, and the exponent of its power of ten in ns.
///
/// All are powers of ten, so that a decimal number is truncated and never rounded.
const TIME_UNITS: [(&str, i32); 5] = [("s", 9), ("ms", 6), ("us", 3), ("ns", 0), ("filetime", 2)];

/// Units of time, listed for a sentence.
pub const TIME_UNIT_NAMES: &str = "s, ms, us, ns or filetime (100 ns)";

/// Named units of offsets and lengths.
const BYTE_UNITS: [(&str, u64); 6] =
    [("bytes", 1), ("sectors", 512), ("pages", 4096), ("KiB", 1 << 10), ("MiB", 1 << 20), ("kB", 1000)];

/// Units of offsets and lengths, listed for a sentence.
pub const BYTE_UNIT_NAMES: &str = "bytes, sectors (512), pages (4096), kB, KiB, MiB or a number of bytes";

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeUnit {
    /// The unit is 10^`digits` ns.
    digits: i32,
}

impl TimeUnit {
    /// Returns the unit called `name`.
    pub fn named(name: &str) -> Option<Self> {
        TIME_UNITS.iter().find(|(candidate, _)| *candidate == name).map(|&(_, digits)| TimeUnit { digits })
    }

    /// Converts the number `text` to ns, rounded down; `None` if it is not a valid number or does not fit.
    #[inline]
    pub fn ns(self, text: &[u8]) -> Option<u64> {
        parse_decimal(text, self.digits as u32).or_else(|| {
            let number = Decimal::parse(text)?;
            number.times_power_of_ten(self.digits).rounded_down()
        })
    }

    /// Formats `ns` in this unit, with as many digits as necessary.
    pub fn text(self, ns: u64) -> String {
        let unit = 10u64.pow(self.digits as u32);
        match ns % unit {
            0 => (ns / unit).to_string(),
            rest => format!("{}.{rest:0width$}", ns / unit, width = self.digits as usize),
        }
    }
}

/// Returns the bytes of the unit called `name`, which may be a number.
pub fn byte_unit(name: &str) -> Option<u64> {
    let unit = BYTE_UNITS.iter().find(|(candidate, _)| *candidate == name).map(|(_, bytes)| *bytes);
    unit.or_else(|| parse_u64(name.as_bytes()).filter(|&bytes| bytes > 0))
}

/// Converts the number `text` of units of `unit` bytes to bytes; `None` if the result is not whole or does not fit.
#[inline]
pub fn parse_bytes(text: &[u8], unit: u64) -> Option<u64> {
    parse_u64(text)
        .and_then(|number| number.checked_mul(unit))
        .or_else(|| parse_hex_or_decimal_bytes(text, unit))
}

#[cold]
fn parse_hex_or_decimal_bytes(text: &[u8], unit: u64) -> Option<u64> {
    if let [b'0', b'x' | b'X', digits @ ..] = text {
        return parse_hexadecimal(digits)?.checked_mul(unit);
    }
    Decimal::parse(text)?.times(unit)?.whole()
}

/// The number `digits` x 10^`exponent`.
struct Decimal {
    digits: u128,
    exponent: i32,
}

impl Decimal {
    /// Parses a number such as `4096.0` or `1.28166E+17`, of at most 30 digits.
    fn parse(text: &[u8]) -> Option<Self> {
        let end = text.iter().position(|byte| matches!(byte, b'e' | b'E')).unwrap_or(text.len());
        let (number, power) = text.split_at(end);
        let mut exponent = match power {
            [] => 0,
            [_, b'-', power @ ..] => -parse_small_power(power)?,
            [_, b'+', power @ ..] | [_, power @ ..] => parse_small_power(power)?,
        };
        let point = number.iter().position(|&byte| byte == b'.').unwrap_or(number.len());
        let fraction = number.get(point + 1..).unwrap_or_default();
        let integer = &number[..point];
        let all_digits = integer.iter().chain(fraction).all(u8::is_ascii_digit);
        if integer.is_empty() || !all_digits || integer.len() + fraction.len() > 30 {
            return None;
        }
        let digits = integer.iter().chain(fraction).fold(0, |sum, digit| sum * 10 + u128::from(digit - b'0'));
        exponent -= fraction.len() as i32;
        Some(Decimal { digits, exponent })
    }

    fn times(self, factor: u64) -> Option<Self> {
        Some(Decimal { digits: self.digits.checked_mul(u128::from(factor))?, ..self })
    }

    fn times_power_of_ten(self, power: i32) -> Self {
        Decimal { exponent: self.exponent + power, ..self }
    }

    fn rounded_down(&self) -> Option<u64> {
        let power = 10u128.checked_pow(self.exponent.unsigned_abs());
        let number = match (self.exponent >= 0, power) {
            _ if self.digits == 0 => 0,
            (true, power) => self.digits.checked_mul(power?)?,
            (false, power) => power.map_or(0, |power| self.digits / power),
        };
        u64::try_from(number).ok()
    }

    fn whole(self) -> Option<u64> {
        let number = self.rounded_down()?;
        let is_whole = self.exponent >= 0
            || self.digits == 0
            || 10u128
                .checked_pow(self.exponent.unsigned_abs())
                .is_some_and(|power| self.digits.is_multiple_of(power));
        is_whole.then_some(number)
    }
}

/// Parses a power of ten of at most four digits.
fn parse_small_power(text: &[u8]) -> Option<i32> {
    (text.len() <= 4).then(|| parse_u64(text)).flatten().map(|number| number as i32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ns(unit: &str, text: &str) -> Option<u64> {
        TimeUnit::named(unit).unwrap().ns(text.as_bytes())
    }

    #[test]
    fn times_are_converted_from_every_unit() {
        assert_eq!(ns("s", "1484803046.187999857"), Some(1_484_803_046_187_999_857));
        assert_eq!(ns("s", "7.3902e-05"), Some(73_902));
        assert_eq!(ns("ms", "2.5"), Some(2_500_000));
        assert_eq!(ns("us", "35081"), Some(35_081_000));
        assert_eq!(ns("ns", "7.9"), Some(7));
        assert_eq!(ns("filetime", "1.28166E+17"), Some(12_816_600_000_000_000_000));
        assert_eq!(ns("filetime", "128166372003061629"), Some(12_816_637_200_306_162_900));
        assert_eq!(ns("s", "1e-9999"), Some(0));
        for text in ["", "-1", "+1", "1e", "e5", "1e99999", "1.5.2", "NaN", "inf", "1e11", "0x10", "1 2"] {
            assert_eq!(ns("s", text), None, "{text}");
        }
        assert_eq!(TimeUnit::named("min"), None);
    }

    #[test]
    fn bytes_are_converted_from_every_unit() {
        let unit = |name: &str| byte_unit(name).unwrap();
        assert_eq!(parse_bytes(b"8", unit("sectors")), Some(4096));
        assert_eq!(parse_bytes(b"0.5", unit("KiB")), Some(512));
        assert_eq!(parse_bytes(b"4096.0", unit("bytes")), Some(4096));
        assert_eq!(parse_bytes(b"1.6384e4", 1), Some(16_384));
        assert_eq!(parse_bytes(b"0x1F", unit("512")), Some(31 * 512));
        assert_eq!(parse_bytes(b"0.0001", 512), None);
        for text in [&b""[..], b"-8", b"8 KiB", b"0x", b"18446744073709551615", b"1e40", b"nan"] {
            assert_eq!(parse_bytes(text, 2), None, "{}", text.escape_ascii());
        }
        assert_eq!((byte_unit("0"), byte_unit("kiB"), byte_unit("")), (None, None, None));
    }

    proptest! {
        #[test]
        fn written_time_reads_back_equal(time: u64, at in 0usize..5) {
            let unit = TimeUnit::named(TIME_UNITS[at].0).unwrap();
            prop_assert_eq!(unit.ns(unit.text(time).as_bytes()), Some(time));
        }

        #[test]
        fn any_text_is_parsed_or_refused_without_panic(text in "[0-9.eE+x-]{0,40}", unit in 1u64..1 << 40) {
            let _ = (parse_bytes(text.as_bytes(), unit), TimeUnit { digits: 9 }.ns(text.as_bytes()));
        }
    }
}
