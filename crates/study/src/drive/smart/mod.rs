//! Counters of drives in the JSON output of `nvme-cli` and `smartctl`.

mod attributes;
mod counter;
mod document;
mod nvme;
mod smartctl;

pub use counter::{Counter, EraseCounts, MediaWrites};
pub use document::ReportError;

use document::Document;
use serde_json::Value;

/// Maximum length of a report in bytes; real drives have some tens of thousands.
const MAX_REPORT_BYTES: usize = 16 << 20;

/// State of a drive at one time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SmartReport {
    /// Name of the file.
    pub file: String,
    /// Model name of the drive.
    pub model: Option<String>,
    /// Serial number.
    pub serial: Option<String>,
    /// Logical capacity in bytes.
    pub capacity_bytes: Option<u64>,
    /// Bytes in use, as counted by the drive.
    pub utilised_bytes: Option<u64>,
    /// Time of the report, seconds since 1970.
    pub taken_at: Option<f64>,
    /// Hours of operation.
    pub power_on_hours: Option<Counter>,
    /// Bytes written by the host.
    pub host: Option<Counter>,
    /// Count of flash programs.
    pub media: Option<MediaWrites>,
    /// Erase counts of blocks.
    pub erases: Option<EraseCounts>,
    /// The maker's estimate of used life, per cent; may exceed 100.
    pub percentage_used: Option<Counter>,
    /// Remaining spare blocks, per cent of the original number.
    pub available_spare: Option<f64>,
    /// Number of bad blocks.
    pub bad_blocks: Option<f64>,
    /// Remarks about the evaluation of the report.
    pub notes: Vec<String>,
}

impl SmartReport {
    /// Reads a report from `file`: one JSON document of `smartctl -j`, or concatenated documents of `nvme-cli`:
    /// `smart-log`, and optionally `ocp smart-add-log`, `endurance-log`, `id-ctrl` and `id-ns`.
    ///
    /// # Errors
    /// Returns an error for text that is not a report, for a counter that is not a number, and without a count of host
    /// writes.
    pub fn read(file: &str, text: &str) -> Result<Self, ReportError> {
        let failed = |problem: String| ReportError { file: file.into(), key: String::new(), problem };
        if text.len() > MAX_REPORT_BYTES {
            return Err(failed(format!(
                "is {} bytes long; a report has at most {MAX_REPORT_BYTES}",
                text.len()
            )));
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

    /// Takes the values of one document.
    fn take(&mut self, document: &Document<'_>) -> Result<(), ReportError> {
        if document.has_any(&["smartctl", "json_format_version"]) {
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
