//! A drive's own counters, as `nvme-cli` and `smartctl` print them in JSON.

mod attributes;
mod counter;
mod document;
mod nvme;
mod smartctl;

pub use counter::{Counter, EraseCounts, Media};
pub use document::ReportError;

use document::Document;
use serde_json::Value;

/// Longest report that is read, bytes; those of real drives have some tens of thousands.
const LONGEST: usize = 16 << 20;

/// What a drive says of itself at one time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SmartReport {
    /// Where it was read.
    pub file: String,
    /// What the drive is called.
    pub model: Option<String>,
    /// Its serial number.
    pub serial: Option<String>,
    /// Bytes that it shows.
    pub capacity_bytes: Option<u64>,
    /// Bytes of these that hold something, as the drive counts them.
    pub utilised_bytes: Option<u64>,
    /// When the report was made, seconds since 1970.
    pub taken_at: Option<f64>,
    /// Hours under power.
    pub power_on_hours: Option<Counter>,
    /// Bytes that the host wrote.
    pub host: Option<Counter>,
    /// What the flash took.
    pub media: Option<Media>,
    /// How often its blocks were erased.
    pub erases: Option<EraseCounts>,
    /// The maker's estimate of the life used, per cent; may pass 100.
    pub percentage_used: Option<Counter>,
    /// Spare blocks left, per cent of those that it had.
    pub available_spare: Option<f64>,
    /// Blocks that went bad.
    pub bad_blocks: Option<f64>,
    /// What a reader should know about how it was read.
    pub notes: Vec<String>,
}

impl SmartReport {
    /// Reads a report of `file`: one JSON document of `smartctl -j`, or those of `nvme-cli` one after the other: `smart-log`, and
    /// `ocp smart-add-log`, `endurance-log`, `id-ctrl` and `id-ns` as there are.
    ///
    /// # Errors
    /// Text that is none; a counter that is no number; no count of what the host wrote.
    pub fn read(file: &str, text: &str) -> Result<Self, ReportError> {
        let failed = |problem: String| ReportError { file: file.into(), key: String::new(), problem };
        if text.len() > LONGEST {
            return Err(failed(format!("is {} bytes long; a report has at most {LONGEST}", text.len())));
        }
        let mut report = SmartReport { file: file.into(), ..SmartReport::default() };
        let mut documents = 0;
        for value in serde_json::Deserializer::from_str(text).into_iter::<Value>() {
            let value = value.map_err(|error| failed(format!("is no JSON: {error}")))?;
            report.take(&Document::root(file, &value)?)?;
            documents += 1;
        }
        if documents == 0 {
            return Err(failed("is empty".into()));
        }
        if report.host.is_none() {
            let problem = "has no count of what the host wrote: `nvme smart-log -o json` has `data_units_written`, \
                           `smartctl -a -j` has it too, or `Logical Sectors Written`, or an attribute such as 241";
            return Err(failed(problem.into()));
        }
        Ok(report)
    }

    /// Takes what one document says.
    fn take(&mut self, document: &Document<'_>) -> Result<(), ReportError> {
        if document.has(&["smartctl", "json_format_version"]) {
            return smartctl::take(self, document);
        }
        if nvme::take(self, document)? {
            return Ok(());
        }
        let keys: Vec<&str> = document.keys().take(5).collect();
        let problem = format!(
            "is neither of `smartctl -j` nor of nvme-cli's smart-log, ocp or intel smart-add-log, endurance-log, id-ctrl or id-ns; its \
             keys begin with {}",
            if keys.is_empty() { "nothing".into() } else { keys.join(", ") }
        );
        Err(document.error("", problem))
    }
}

#[cfg(test)]
mod tests;
