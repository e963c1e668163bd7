//! Columns of a text line, and numbers in them, without copies and without floating point.

use super::error::BadValue;
use super::request::Op;

/// Allowed operation letters of formats that only have reads and writes.
const READ_OR_WRITE: &str = "R or W";

/// Iterates over the columns of one line.
pub struct Fields<'a> {
    /// Remaining part of the line; `None` after the last column.
    rest: Option<&'a [u8]>,
    separator: Separator,
}

#[derive(Clone, Copy, PartialEq)]
enum Separator {
    /// Exactly one byte between columns; blanks around a column are ignored.
    Byte(u8),
    /// Any run of blanks and tabs.
    Blanks,
}

impl<'a> Fields<'a> {
    /// Splits a line at commas.
    pub fn commas(line: &'a [u8]) -> Self {
        Self::separated_by(b',', line)
    }

    /// Splits a line at `separator`; blanks around a column are ignored.
    pub fn separated_by(separator: u8, line: &'a [u8]) -> Self {
        Fields { rest: Some(line), separator: Separator::Byte(separator) }
    }

    /// Splits a line at runs of blanks and tabs.
    pub fn blanks(line: &'a [u8]) -> Self {
        Fields { rest: Some(line.trim_ascii()), separator: Separator::Blanks }
    }

    /// Returns the next column, or `None` at the end of the line.
    #[inline]
    pub fn next(&mut self) -> Option<&'a [u8]> {
        let rest = self.rest?;
        let end = match self.separator {
            Separator::Byte(separator) => rest.iter().position(|&byte| byte == separator),
            Separator::Blanks if rest.is_empty() => {
                self.rest = None;
                return None;
            }
            Separator::Blanks => rest.iter().position(|byte| byte.is_ascii_whitespace()),
        };
        let Some(end) = end else {
            self.rest = None;
            return Some(rest.trim_ascii());
        };
        let after = &rest[end + 1..];
        self.rest = Some(if self.separator == Separator::Blanks { after.trim_ascii_start() } else { after });
        Some(rest[..end].trim_ascii())
    }

    /// Returns the next column, which must not be missing or empty.
    #[inline]
    pub fn text(&mut self, column: &'static str) -> Result<&'a [u8], BadValue> {
        match self.next() {
            Some(text) if !text.is_empty() => Ok(text),
            _ => Err(BadValue::new(column, b"", "a value")),
        }
    }

    /// Skips the next column, which may be empty but not missing.
    #[inline]
    pub fn skip(&mut self, column: &'static str) -> Result<(), BadValue> {
        self.next().map(|_| ()).ok_or_else(|| BadValue::new(column, b"", "a column"))
    }

    /// Parses the next column as a whole number below 2^64.
    #[inline]
    pub fn u64(&mut self, column: &'static str) -> Result<u64, BadValue> {
        let text = self.text(column)?;
        parse_u64(text).ok_or_else(|| BadValue::new(column, text, "a whole number from 0 to 2^64 - 1"))
    }

    /// Parses the next column as a whole number below 2^32.
    #[inline]
    pub fn u32(&mut self, column: &'static str) -> Result<u32, BadValue> {
        let text = self.text(column)?;
        let number = parse_u64(text).and_then(|number| u32::try_from(number).ok());
        number.ok_or_else(|| BadValue::new(column, text, "a whole number from 0 to 2^32 - 1"))
    }

    /// Parses the next column, in units of `unit` bytes; returns bytes.
    #[inline]
    pub fn bytes(&mut self, column: &'static str, unit: u64) -> Result<u64, BadValue> {
        let text = self.text(column)?;
        let bytes = parse_u64(text).and_then(|number| number.checked_mul(unit));
        bytes.ok_or_else(|| BadValue::new(column, text, "a whole number that stays below 2^64 in bytes"))
    }

    /// Parses the next column, a decimal number, in units of 10^-`digits`; further digits are dropped.
    #[inline]
    pub fn decimal(&mut self, column: &'static str, digits: u32) -> Result<u64, BadValue> {
        let text = self.text(column)?;
        parse_decimal(text, digits)
            .ok_or_else(|| BadValue::new(column, text, "a plain decimal number, not negative, below 2^64 ns"))
    }

    /// Parses the next column as a whole number in units of `unit_ns`; returns ns.
    #[inline]
    pub fn time(&mut self, column: &'static str, unit_ns: u64) -> Result<u64, BadValue> {
        let text = self.text(column)?;
        let time = parse_u64(text).and_then(|number| number.checked_mul(unit_ns));
        time.ok_or_else(|| BadValue::new(column, text, "a whole number that stays below 2^64 in ns"))
    }

    /// Parses the next column as the letter R or W, upper or lower case.
    #[inline]
    pub fn read_or_write(&mut self, column: &'static str) -> Result<Op, BadValue> {
        match self.text(column)? {
            b"R" | b"r" => Ok(Op::Read),
            b"W" | b"w" => Ok(Op::Write),
            other => Err(BadValue::new(column, other, READ_OR_WRITE)),
        }
    }

    /// Parses the next column as one of two operation codes.
    #[inline]
    pub fn op_code(
        &mut self,
        column: &'static str,
        read: u8,
        write: u8,
        expected: &'static str,
    ) -> Result<Op, BadValue> {
        match self.text(column)? {
            [code] if *code == read => Ok(Op::Read),
            [code] if *code == write => Ok(Op::Write),
            other => Err(BadValue::new(column, other, expected)),
        }
    }

    /// Refuses further columns.
    #[inline]
    pub fn end(&mut self) -> Result<(), BadValue> {
        match self.next() {
            None => Ok(()),
            Some(extra) => Err(BadValue::new("(one too many)", extra, "the end of the line")),
        }
    }
}

/// Parses a whole number of decimal digits only; `None` for any other text and from 2^64 on.
#[inline]
pub fn parse_u64(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    // Up to 19 digits cannot overflow, which keeps the check out of the loop for usual numbers.
    if text.len() > 19 {
        return parse_u64_checked(text);
    }
    let mut number = 0u64;
    for &byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number = number * 10 + u64::from(digit);
    }
    Some(number)
}

#[cold]
fn parse_u64_checked(text: &[u8]) -> Option<u64> {
    text.iter().try_fold(0u64, |number, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    })
}

/// Parses a decimal number in units of 10^-`digits`, exactly; further digits are dropped.
///
/// Decimal seconds of a present-day clock have more digits than an `f64` holds, so they are not parsed as `f64`.
#[inline]
pub fn parse_decimal(text: &[u8], digits: u32) -> Option<u64> {
    let point = text.iter().position(|&byte| byte == b'.');
    let (integer_digits, fraction_digits) =
        point.map_or((text, &b""[..]), |point| (&text[..point], &text[point + 1..]));
    if point.is_some() && (integer_digits.is_empty() || fraction_digits.is_empty()) {
        return None;
    }
    let used = fraction_digits.len().min(digits as usize);
    if !fraction_digits[used..].iter().all(u8::is_ascii_digit) {
        return None;
    }
    let fraction =
        if used == 0 { 0 } else { parse_u64(&fraction_digits[..used])? * 10u64.pow(digits - used as u32) };
    parse_u64(integer_digits)?.checked_mul(10u64.pow(digits))?.checked_add(fraction)
}

/// Parses a hexadecimal number without prefix, below 2^64.
pub fn parse_hexadecimal(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > 16 {
        return None;
    }
    text.iter().try_fold(0u64, |number, &byte| Some(number << 4 | u64::from(hex_digit(byte)?)))
}

/// Returns the value of one hexadecimal digit, upper or lower case.
#[inline]
pub fn hex_digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn parse_u64_agrees_with_standard_library(number: u64, text in "[0-9]{0,22}|[-+0-9a. ]{1,5}") {
            prop_assert_eq!(parse_u64(number.to_string().as_bytes()), Some(number));
            let standard = if text.starts_with('+') { None } else { text.parse().ok() };
            prop_assert_eq!(parse_u64(text.as_bytes()), standard);
        }

        #[test]
        fn decimals_are_exact(seconds in 0u64..=18_446_744_072, ns in 0u64..1_000_000_000) {
            let text = format!("{seconds}.{ns:09}");
            prop_assert_eq!(parse_decimal(text.as_bytes(), 9), Some(seconds * 1_000_000_000 + ns));
        }
    }

    #[test]
    fn parse_decimal_accepts_limits_and_refuses_malformed_text() {
        assert_eq!(parse_decimal(b"0.1", 9), Some(100_000_000));
        assert_eq!(parse_decimal(b"7", 9), Some(7_000_000_000));
        assert_eq!(parse_decimal(b"0.1234567899", 9), Some(123_456_789));
        assert_eq!(parse_decimal(b"18446744073.709551615", 9), Some(u64::MAX));
        let refused: [&[u8]; 9] = [
            b"",
            b".",
            b"1.",
            b".5",
            b"-1",
            b"1e5",
            b"1.28166E+17",
            b"18446744073.709551616",
            b"0.000000000x",
        ];
        for text in refused {
            assert_eq!(parse_decimal(text, 9), None, "{}", text.escape_ascii());
        }
    }

    #[test]
    fn columns_are_split_at_commas_and_blanks() {
        let mut commas = Fields::commas(b"1, 2,,x");
        assert_eq!(commas.u64("a").unwrap(), 1);
        assert_eq!(commas.u32("b").unwrap(), 2);
        assert_eq!(
            commas.text("c").unwrap_err().to_string(),
            "column `c` is missing or empty, expected a value"
        );
        assert!(commas.end().is_err());
        let mut blanks = Fields::blanks(b"  1 \t 2  ");
        assert_eq!((blanks.u64("a").unwrap(), blanks.u64("b").unwrap()), (1, 2));
        assert!(blanks.end().is_ok());
        assert!(Fields::blanks(b"   ").next().is_none());
    }
}
