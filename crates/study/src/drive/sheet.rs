//! Data sheets of drives, as given and with all values resolved.

use super::models::DriveModels;
use serde::{Deserialize, Serialize};
use wearwell_base::config::ConfigError;
use wearwell_base::units::SpareSpace;
use wearwell_engine::nand::{PRESETS, Preset};
use wearwell_stack::{ByteSize, Rating};
use wearwell_theory::TheoryError;

/// Data sheet; unknown values are unset.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DataSheet {
    /// Logical capacity, decimal as in data sheets: "1.92 TB".
    pub capacity: Option<ByteSize>,
    /// Raw flash capacity: "2 TiB".
    pub raw_capacity: Option<ByteSize>,
    /// Flash beyond the logical capacity, as a fraction of the logical capacity.
    pub over_provisioning: Option<f64>,
    /// Flash beyond the logical capacity, as a fraction of the flash.
    pub spare_factor: Option<f64>,
    /// Terabytes (10^12 bytes) that the host may write.
    pub tbw: Option<f64>,
    /// Drive writes per day over the warranty.
    pub dwpd: Option<f64>,
    /// Years of warranty.
    pub warranty_years: Option<f64>,
    /// Cell type: name of the preset that supplies the endurance.
    pub cells: Option<String>,
    /// Program/erase cycles that a block endures; defaults to those of `cells`.
    pub endurance_cycles: Option<u32>,
    /// Write amplification at which the maker states TBW, if known; this value then determines the cycles.
    pub rated_write_amplification: Option<f64>,
    /// Host writes per day, in units of 10^9 bytes.
    pub gb_per_day: Option<f64>,
    /// Bytes per second of sequential writes.
    pub sequential_write: Option<ByteSize>,
    /// Sustained random writes of 4 KiB per second.
    pub random_write_iops: Option<f64>,
    /// Bytes per second of the interface.
    pub interface: Option<ByteSize>,
    /// Fraction of the writes to hot pages; requires `hot_space`.
    pub hot_writes: Option<f64>,
    /// Fraction of the pages that are hot.
    pub hot_space: Option<f64>,
    /// Pages per block of the models.
    pub pages_per_block: Option<u32>,
}

/// Data sheet with all values resolved.
#[derive(Clone, Debug, PartialEq)]
pub struct ResolvedSheet {
    /// Data sheet as given.
    pub stated: DataSheet,
    /// Logical capacity in bytes.
    pub capacity_bytes: u64,
    /// Raw flash capacity in bytes.
    pub raw_bytes: u64,
    /// True if the flash was not given and assumed to be the next power of two.
    pub is_raw_assumed: bool,
    /// Program/erase cycles of a block.
    pub endurance_cycles: Option<u32>,
    /// Rated endurance.
    pub rating: Option<Rating>,
    /// Models of write amplification.
    pub models: DriveModels,
}

impl DataSheet {
    /// Resolves all values.
    ///
    /// # Errors
    /// Returns an error that names the key if a figure is impossible, or contradicts another.
    pub fn resolve(&self) -> Result<ResolvedSheet, ConfigError> {
        let capacity_bytes = self
            .capacity
            .ok_or_else(|| ConfigError::new("capacity", "is missing; data sheets have it: \"1.92 TB\""))?
            .0;
        if capacity_bytes == 0 {
            return Err(ConfigError::new("capacity", "is 0"));
        }
        self.check_numbers()?;
        let raw_bytes = self.raw_bytes(capacity_bytes)?;
        let rating = Rating::of(capacity_bytes, self.tbw, self.dwpd, self.warranty_years)?;
        let preset = self.preset()?;
        let implied =
            self.implied_cycles(raw_bytes.unwrap_or(assumed_raw_bytes(capacity_bytes)), rating.as_ref())?;
        let endurance_cycles =
            self.endurance_cycles.or(implied).or(preset.map(|preset| preset.endurance_cycles));
        if endurance_cycles == Some(0) {
            return Err(ConfigError::new("endurance_cycles", "is 0; a block endures at least 1 cycle"));
        }
        Ok(ResolvedSheet {
            stated: self.clone(),
            capacity_bytes,
            raw_bytes: raw_bytes.unwrap_or(assumed_raw_bytes(capacity_bytes)),
            is_raw_assumed: raw_bytes.is_none(),
            endurance_cycles,
            rating,
            models: self.models()?,
        })
    }

    fn check_numbers(&self) -> Result<(), ConfigError> {
        let numbers = [
            ("rated_write_amplification", self.rated_write_amplification),
            ("gb_per_day", self.gb_per_day),
            ("random_write_iops", self.random_write_iops),
        ];
        for (key, value) in numbers {
            if let Some(value) = value.filter(|value| !(*value > 0.0 && value.is_finite())) {
                return Err(ConfigError::new(key, format!("is {value}; it must be a number above 0")));
            }
        }
        for (key, size) in [("sequential_write", self.sequential_write), ("interface", self.interface)] {
            if size == Some(ByteSize(0)) {
                return Err(ConfigError::new(key, "is 0 bytes a second"));
            }
        }
        Ok(())
    }

    /// Returns the bytes of flash, if any of its measures is given.
    fn raw_bytes(&self, capacity_bytes: u64) -> Result<Option<u64>, ConfigError> {
        let measures = [("over_provisioning", self.over_provisioning), ("spare_factor", self.spare_factor)];
        let stated: Vec<(&str, f64)> =
            measures.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
        match (self.raw_capacity, &stated[..]) {
            (None, []) => Ok(None),
            (Some(raw), []) if raw.0 > capacity_bytes => Ok(Some(raw.0)),
            (Some(raw), []) => {
                let problem = format!(
                    "is {} bytes, no more than the {capacity_bytes} bytes that the drive shows; data sheets show decimal \
                     terabytes (TB), and flash comes in binary ones (TiB)",
                    raw.0
                );
                Err(ConfigError::new("raw_capacity", problem))
            }
            (None, &[(name, value)]) => {
                let spare_factor = SpareSpace::spare_factor_of(name, value);
                if !(value.is_finite() && spare_factor > 0.0 && spare_factor < 1.0) {
                    let allowed = if name == "spare_factor" { "between 0 and 1" } else { "above 0" };
                    return Err(ConfigError::new(name, format!("is {value}; it must be {allowed}")));
                }
                Ok(Some((capacity_bytes as f64 / (1.0 - spare_factor)).round() as u64))
            }
            (raw, given) => {
                let raw = raw.map(|_| "raw_capacity");
                let names: Vec<&str> = raw.into_iter().chain(given.iter().map(|(name, _)| *name)).collect();
                Err(ConfigError::new(
                    names[0],
                    format!("{} say the same thing; give one", names.join(" and ")),
                ))
            }
        }
    }

    /// Returns the preset of the cell type.
    pub(super) fn preset(&self) -> Result<Option<&'static Preset>, ConfigError> {
        let Some(name) = &self.cells else { return Ok(None) };
        Preset::find(&name.to_ascii_lowercase()).map(Some).ok_or_else(|| {
            let names = PRESETS.iter().map(|preset| preset.entry.name).collect::<Vec<_>>().join(", ");
            ConfigError::new("cells", format!("\"{name}\" is unknown; one of {names}"))
        })
    }

    /// Returns the cycles implied by TBW and the write amplification for which it is stated.
    fn implied_cycles(&self, raw_bytes: u64, rating: Option<&Rating>) -> Result<Option<u32>, ConfigError> {
        let Some(amplification) = self.rated_write_amplification else { return Ok(None) };
        let Some(rating) = rating else {
            let problem = "is that of TBW, which is not given";
            return Err(ConfigError::new("rated_write_amplification", problem));
        };
        if self.endurance_cycles.is_some() {
            let problem = "and TBW give the cycles, which are given as well; leave one out";
            return Err(ConfigError::new("rated_write_amplification", problem));
        }
        let cycles = rating.tbw * 1e12 * amplification / raw_bytes as f64;
        if !(1.0..=f64::from(u32::MAX)).contains(&cycles) {
            let problem = format!("and TBW would take {cycles:.3} cycles, as no flash has");
            return Err(ConfigError::new("rated_write_amplification", problem));
        }
        Ok(Some(cycles.round() as u32))
    }

    fn models(&self) -> Result<DriveModels, ConfigError> {
        let hot_cold = match (self.hot_writes, self.hot_space) {
            (Some(writes), Some(space)) => Some((writes, space)),
            (None, None) => None,
            (Some(_), None) => return Err(ConfigError::new("hot_space", "is missing beside hot_writes")),
            (None, Some(_)) => return Err(ConfigError::new("hot_writes", "is missing beside hot_space")),
        };
        DriveModels::new(self.pages_per_block, hot_cold).map_err(|error| match error {
            TheoryError::Parameter { parameter: "pages_per_block", problem } => {
                ConfigError::new("pages_per_block", problem)
            }
            other => ConfigError::new("hot_writes, hot_space", other.to_string()),
        })
    }
}

/// Returns the next power of two above the capacity, the usual size of flash.
fn assumed_raw_bytes(capacity_bytes: u64) -> u64 {
    capacity_bytes.checked_add(1).and_then(u64::checked_next_power_of_two).unwrap_or(u64::MAX)
}

impl ResolvedSheet {
    /// Returns the spare space in its four measures.
    pub fn spare_space(&self) -> SpareSpace {
        SpareSpace::from_pages(self.raw_bytes, self.capacity_bytes)
    }

    /// Returns the bytes that the flash endures, if its endurance is known.
    pub fn media_bytes(&self) -> Option<f64> {
        Some(self.raw_bytes as f64 * f64::from(self.endurance_cycles?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drive() -> DataSheet {
        DataSheet { capacity: Some(ByteSize(1_920_000_000_000)), ..DataSheet::default() }
    }

    #[test]
    fn flash_capacity_is_given_once_or_assumed() {
        let raw = |sheet: DataSheet| sheet.resolve().map(|sheet| (sheet.raw_bytes, sheet.is_raw_assumed));
        assert_eq!(raw(drive()), Ok((1 << 41, true)));
        let two = ByteSize(2 << 40);
        assert_eq!(raw(DataSheet { raw_capacity: Some(two), ..drive() }), Ok((1 << 41, false)));
        let more = DataSheet { over_provisioning: Some(0.25), ..drive() };
        assert_eq!(raw(more.clone()), Ok((2_400_000_000_000, false)));
        assert_eq!(raw(DataSheet { spare_factor: Some(0.2), ..drive() }), Ok((2_400_000_000_000, false)));
        let error = |sheet: DataSheet| raw(sheet).unwrap_err();
        assert_eq!(error(DataSheet { raw_capacity: Some(two), ..more }).key, "raw_capacity");
        assert!(error(DataSheet { raw_capacity: drive().capacity, ..drive() }).problem.contains("binary"));
        for bad in [0.0, -0.07, f64::NAN, f64::INFINITY] {
            let error = error(DataSheet { over_provisioning: Some(bad), ..drive() });
            assert_eq!(error.key, "over_provisioning");
        }
    }

    #[test]
    fn cycles_come_from_the_sheet_from_tbw_or_from_the_cells() {
        let cycles = |sheet: DataSheet| sheet.resolve().map(|sheet| sheet.endurance_cycles);
        let cells = DataSheet { cells: Some("TLC".into()), ..drive() };
        assert_eq!(cycles(cells.clone()), Ok(Some(3000)));
        assert_eq!(cycles(DataSheet { endurance_cycles: Some(7000), ..cells.clone() }), Ok(Some(7000)));
        // TBW of 3,504 TB at a write amplification of 2.5 means 8,760 TB of flash writes, on 2.199 TB of flash.
        let rated = DataSheet { tbw: Some(3504.0), rated_write_amplification: Some(2.5), ..cells };
        assert_eq!(cycles(rated.clone()), Ok(Some(3984)));
        let keys = [
            DataSheet { endurance_cycles: Some(7000), ..rated.clone() },
            DataSheet { tbw: None, ..rated.clone() },
            DataSheet { rated_write_amplification: Some(1e300), ..rated },
        ];
        for sheet in keys {
            assert_eq!(cycles(sheet).unwrap_err().key, "rated_write_amplification");
        }
        let unknown = cycles(DataSheet { cells: Some("plc".into()), ..drive() }).unwrap_err();
        assert!(unknown.to_string().starts_with("cells: \"plc\" is unknown; one of slc, mlc"), "{unknown}");
        assert_eq!(
            cycles(DataSheet { endurance_cycles: Some(0), ..drive() }).unwrap_err().key,
            "endurance_cycles"
        );
        assert_eq!(cycles(DataSheet::default()).unwrap_err().key, "capacity");
    }

    #[test]
    fn assumed_flash_exceeds_the_capacity() {
        for capacity in [1, 2, 1 << 40, u64::MAX - 1] {
            let sheet = DataSheet { capacity: Some(ByteSize(capacity)), ..DataSheet::default() };
            assert!(sheet.resolve().unwrap().raw_bytes > capacity);
        }
    }
}
