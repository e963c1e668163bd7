//! Rating in a data sheet: TBW, drive writes per day, and the warranty that ties the two together.

use serde::{Deserialize, Serialize};
use wearwell_base::config::ConfigError;

/// Days in a year of warranty, as in data sheets: 1.92 TB once a day for five years are 3,504 TB.
pub const WARRANTY_DAYS_A_YEAR: f64 = 365.0;

/// Largest relative difference between TBW and the drive writes per day, because data sheets round both.
const ROUNDING_TOLERANCE: f64 = 0.1;

/// Bytes that the maker lets the host write.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rating {
    /// Bytes that the host may write, in units of 10^12 bytes.
    pub tbw: f64,
    /// Drive writes per day over the warranty; `None` if the warranty is unknown.
    pub dwpd: Option<f64>,
    /// Years of warranty, of 365 days.
    pub warranty_years: Option<f64>,
}

impl Rating {
    /// Returns the rating of a drive of `capacity_bytes`; a missing figure is computed from the other two. `None` if
    /// neither TBW nor drive writes per day are given.
    ///
    /// # Errors
    /// Returns an error for a figure that is not above 0, and for drive writes per day without TBW and without a
    /// warranty. Also fails for three figures that contradict each other by more than a tenth. The error names the key
    /// of the figure.
    pub fn of(
        capacity_bytes: u64,
        tbw: Option<f64>,
        dwpd: Option<f64>,
        warranty_years: Option<f64>,
    ) -> Result<Option<Self>, ConfigError> {
        for (key, value) in [("tbw", tbw), ("dwpd", dwpd), ("warranty_years", warranty_years)] {
            if let Some(value) = value.filter(|value| !(*value > 0.0 && value.is_finite())) {
                return Err(ConfigError::new(key, format!("is {value}; it must be a number above 0")));
            }
        }
        let tb_a_year = capacity_bytes as f64 / 1e12 * WARRANTY_DAYS_A_YEAR;
        let rating = match (tbw, dwpd, warranty_years) {
            (None, None, _) => return Ok(None),
            (None, Some(_), None) => {
                let problem = "says nothing without the years it is for; give the warranty";
                return Err(ConfigError::new("dwpd", problem));
            }
            (Some(tbw), None, None) => Rating { tbw, dwpd: None, warranty_years: None },
            (Some(tbw), None, Some(years)) => {
                Rating { tbw, dwpd: Some(tbw / (tb_a_year * years)), warranty_years }
            }
            (Some(tbw), Some(dwpd), None) => {
                Rating { tbw, dwpd: Some(dwpd), warranty_years: Some(tbw / (tb_a_year * dwpd)) }
            }
            (None, Some(dwpd), Some(years)) => {
                Rating { tbw: tb_a_year * dwpd * years, dwpd: Some(dwpd), warranty_years }
            }
            (Some(tbw), Some(dwpd), Some(years)) => {
                let amount = tb_a_year * dwpd * years;
                if (tbw / amount).max(amount / tbw) - 1.0 > ROUNDING_TOLERANCE {
                    let digits = if amount < 10.0 { 6 } else { 0 };
                    let problem = format!(
                        "is {dwpd}, which over {years} years of {WARRANTY_DAYS_A_YEAR} days is {amount:.digits$} TB, and `tbw` is {tbw}: \
                         leave one of them out, or correct the capacity or the warranty"
                    );
                    return Err(ConfigError::new("dwpd", problem));
                }
                Rating { tbw, dwpd: Some(dwpd), warranty_years }
            }
        };
        Ok(Some(rating))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAPACITY: u64 = 1_920_000_000_000;

    #[test]
    fn third_figure_follows_from_any_two() {
        let rating_of = |tbw, dwpd, years| Rating::of(CAPACITY, tbw, dwpd, years).unwrap().unwrap();
        let is_close = |value: Option<f64>, expected: f64| (value.unwrap() / expected - 1.0).abs() < 1e-12;
        assert!(is_close(Some(rating_of(None, Some(1.0), Some(5.0)).tbw), 3504.0));
        assert!(is_close(rating_of(Some(3504.0), None, Some(5.0)).dwpd, 1.0));
        assert!(is_close(rating_of(Some(3504.0), Some(1.0), None).warranty_years, 5.0));
        assert_eq!(
            rating_of(Some(3500.0), None, None),
            Rating { tbw: 3500.0, dwpd: None, warranty_years: None }
        );
        assert_eq!(Rating::of(CAPACITY, None, None, Some(5.0)), Ok(None));
    }

    /// 600 TB on a drive of 1 TB over five years are 0.329 drive writes per day; the data sheet rounds that to 0.3,
    /// which is no contradiction.
    #[test]
    fn rounded_figures_are_accepted_and_contradicting_figures_are_refused() {
        let rounded = Rating::of(1_000_000_000_000, Some(600.0), Some(0.3), Some(5.0));
        assert_eq!(rounded.unwrap().unwrap().tbw, 600.0);
        let error = Rating::of(CAPACITY, Some(3504.0), Some(3.0), Some(5.0)).unwrap_err();
        assert_eq!(error.key, "dwpd");
        assert!(error.problem.contains("is 10512 TB, and `tbw` is 3504"), "{error}");
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(Rating::of(CAPACITY, Some(bad), None, None).unwrap_err().key, "tbw");
            assert_eq!(Rating::of(CAPACITY, None, Some(1.0), Some(bad)).unwrap_err().key, "warranty_years");
        }
        assert_eq!(Rating::of(CAPACITY, None, Some(1.0), None).unwrap_err().key, "dwpd");
    }
}
