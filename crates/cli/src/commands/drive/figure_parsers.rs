//! Parsers for figures as data sheets print them: `7%`, `5y`, `3.5 PB`, `130k`, `7 GB/s`.

use crate::scenario_args::size;
use wearwell_stack::ByteSize;

/// Parses a number above 0.
pub fn positive(text: &str) -> Result<f64, String> {
    let number = text.trim().parse::<f64>().ok().filter(|number| number.is_finite() && *number > 0.0);
    number.ok_or_else(|| format!("`{text}` is no number above 0"))
}

/// Parses a ratio, or a percentage with its sign.
pub fn ratio(text: &str) -> Result<f64, String> {
    match text.trim().strip_suffix('%') {
        Some(percent) => Ok(positive(percent)? / 100.0),
        None => positive(text),
    }
}

/// Parses terabytes, or a size with its unit.
pub fn terabytes(text: &str) -> Result<f64, String> {
    if let Ok(terabytes) = positive(text) {
        return Ok(terabytes);
    }
    match size(text) {
        Ok(ByteSize(bytes)) if bytes > 0 && text.trim().parse::<f64>().is_err() => Ok(bytes as f64 / 1e12),
        _ => Err(format!("`{text}` is neither a number of terabytes nor a size such as \"3.5 PB\"")),
    }
}

/// Parses years, with or without the unit, or months.
pub fn years(text: &str) -> Result<f64, String> {
    let text = text.trim();
    let of = |endings: &[&str]| endings.iter().find_map(|ending| text.strip_suffix(ending));
    if let Some(months) = of(&["months", "month", "mo"]) {
        return Ok(positive(months)? / 12.0);
    }
    positive(of(&["years", "year", "y"]).unwrap_or(text))
}

/// Parses days, with or without the unit, weeks or hours.
pub fn days(text: &str) -> Result<f64, String> {
    let text = text.trim();
    let units = [
        ("days", 1.0),
        ("day", 1.0),
        ("d", 1.0),
        ("weeks", 7.0),
        ("w", 7.0),
        ("hours", 1.0 / 24.0),
        ("h", 1.0 / 24.0),
    ];
    match units.iter().find_map(|(ending, days)| Some((text.strip_suffix(ending)?, days))) {
        Some((number, days)) => Ok(positive(number)? * days),
        None => positive(text),
    }
}

/// Parses operations per second, with an optional `k` or `M`.
pub fn operations(text: &str) -> Result<f64, String> {
    let text = text.trim();
    let units = [("k", 1e3), ("K", 1e3), ("M", 1e6)];
    match units.iter().find_map(|(ending, unit)| Some((text.strip_suffix(ending)?, unit))) {
        Some((number, unit)) => Ok(positive(number)? * unit),
        None => positive(text),
    }
}

/// Parses bytes per second, with or without `/s`.
pub fn rate(text: &str) -> Result<ByteSize, String> {
    size(text.trim().trim_end_matches("/s"))
}

/// Parses bytes per day, with or without `/day`.
pub fn per_day(text: &str) -> Result<ByteSize, String> {
    size(text.trim().trim_end_matches("/day").trim_end_matches("/d"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_as_they_are_printed() {
        assert_eq!([ratio("7%"), ratio("0.07"), ratio(" 28 % ")], [Ok(0.07), Ok(0.07), Ok(0.28)]);
        assert_eq!(
            [terabytes("3504"), terabytes("3.5PB"), terabytes("600 TB")],
            [Ok(3504.0), Ok(3500.0), Ok(600.0)]
        );
        assert_eq!(
            [years("5"), years("5y"), years("5 years"), years("36 months")],
            [Ok(5.0), Ok(5.0), Ok(5.0), Ok(3.0)]
        );
        assert_eq!(
            [days("30"), days("30d"), days("2 weeks"), days("12h")],
            [Ok(30.0), Ok(30.0), Ok(14.0), Ok(0.5)]
        );
        assert_eq!(
            [operations("130k"), operations("1.5M"), operations("90000")],
            [Ok(130e3), Ok(1.5e6), Ok(9e4)]
        );
        assert_eq!(
            [rate("7 GB/s"), per_day("500GB/day")],
            [Ok(ByteSize(7_000_000_000)), Ok(ByteSize(500_000_000_000))]
        );
        for bad in ["", "%", "x", "-1", "0", "inf", "NaN", "1e400"] {
            assert!(ratio(bad).is_err() && years(bad).is_err() && days(bad).is_err(), "{bad}");
            assert!(operations(bad).is_err() && terabytes(bad).is_err(), "{bad}");
        }
    }
}
