//! Past use of drives in service: a table with a row for each drive, or a folder of SMART reports.

use crate::drive::SmartReport;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use wearwell_base::config::ConfigError;

/// Past use of a drive.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    /// Bytes written by the host.
    pub host_bytes: f64,
    /// Days of operation, if known.
    pub days: Option<f64>,
    /// Fraction of the drive's life that is used, as reported by the drive.
    pub used: Option<f64>,
    /// Bytes programmed to flash, if counted.
    pub media_bytes: Option<f64>,
    /// Index of the drive's tenant, if the table names a tenant.
    pub tenant: Option<usize>,
}

/// Allowed columns of a table.
const COLUMNS: [&str; 7] = [
    "serial",
    "model",
    "tenant",
    "host_bytes_written",
    "media_bytes_written",
    "power_on_hours",
    "percentage_used",
];

/// Maximum length of a table in bytes.
const MAX_TABLE_BYTES: u64 = 1 << 30;
/// Maximum number of drives in a table or a folder.
const MAX_DRIVES: usize = 10_000_000;

/// Reads the drives of `path`; a folder's reports are read in name order. `tenants` are the names that a table may use.
///
/// # Errors
/// Returns an error with file and line, and an empty key, for unreadable input.
pub fn read(path: &Path, tenants: &[&str]) -> Result<Vec<Record>, ConfigError> {
    let records = if path.is_dir() { folder(path) } else { table(path, tenants) };
    let records = records.map_err(|problem| ConfigError { key: String::new(), problem })?;
    if records.is_empty() {
        return Err(ConfigError::new("", format!("{} has no drive", path.display())));
    }
    Ok(records)
}

fn text(path: &Path) -> Result<String, String> {
    let io_error = |error: std::io::Error| format!("{}: {error}", path.display());
    let file = File::open(path).map_err(io_error)?;
    let text = std::io::read_to_string(file.take(MAX_TABLE_BYTES + 1)).map_err(io_error)?;
    match text.len() as u64 > MAX_TABLE_BYTES {
        true => Err(format!("{}: is longer than {MAX_TABLE_BYTES} bytes", path.display())),
        false => Ok(text),
    }
}

fn folder(path: &Path) -> Result<Vec<Record>, String> {
    let io_error = |error: std::io::Error| format!("{}: {error}", path.display());
    let entries: Result<Vec<_>, _> = std::fs::read_dir(path).map_err(io_error)?.collect();
    let mut paths: Vec<_> = entries.map_err(io_error)?.into_iter().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|end| end == "json"));
    paths.sort();
    let report = |path: &std::path::PathBuf| {
        let report = SmartReport::read(&path.display().to_string(), &text(path)?)
            .map_err(|error| error.to_string())?;
        let host = report.host.as_ref().map_or(0.0, |host| host.amount().value);
        let amplification = report
            .media
            .as_ref()
            .map(|media| media.amplification(report.host.as_ref().expect("counted").amount()));
        Ok(Record {
            host_bytes: host,
            days: report.power_on_hours.as_ref().map(|hours| hours.amount().value / 24.0),
            used: report.percentage_used.as_ref().map(|used| used.amount().value / 100.0),
            media_bytes: amplification.filter(|found| found.is_known()).map(|found| found.value * host),
            tenant: None,
        })
    };
    paths.iter().map(report).collect()
}

fn table(path: &Path, tenants: &[&str]) -> Result<Vec<Record>, String> {
    let text = text(path)?;
    let mut reader =
        csv::ReaderBuilder::new().trim(csv::Trim::All).comment(Some(b'#')).from_reader(text.as_bytes());
    let head = reader.headers().map_err(|error| format!("{}: {error}", path.display()))?.clone();
    let mut column_positions = BTreeMap::new();
    for (at, name) in head.iter().enumerate() {
        if !COLUMNS.contains(&name) {
            let allowed = COLUMNS.join(", ");
            return Err(format!(
                "{}:1: the column \"{name}\" is unknown; there are {allowed}",
                path.display()
            ));
        }
        if column_positions.insert(name, at).is_some() {
            return Err(format!("{}:1: the column \"{name}\" is there twice", path.display()));
        }
    }
    if !column_positions.contains_key("host_bytes_written") {
        return Err(format!("{}:1: the column \"host_bytes_written\" is missing", path.display()));
    }
    let mut records = Vec::new();
    for row in reader.records() {
        let row = row.map_err(|error| format!("{}: {error}", path.display()))?;
        let line = row.position().map_or(0, csv::Position::line);
        let cells = TableRow { column_positions: &column_positions, row: &row };
        let record =
            cells.record(tenants).map_err(|problem| format!("{}:{line}: {problem}", path.display()))?;
        records.push(record);
        if records.len() > MAX_DRIVES {
            return Err(format!("{}:{line}: more than {MAX_DRIVES} drives", path.display()));
        }
    }
    Ok(records)
}

/// Row of a table.
struct TableRow<'a> {
    column_positions: &'a BTreeMap<&'a str, usize>,
    row: &'a csv::StringRecord,
}

impl TableRow<'_> {
    fn text(&self, column: &str) -> Option<&str> {
        self.column_positions.get(column).and_then(|&at| self.row.get(at)).filter(|text| !text.is_empty())
    }

    fn number(&self, column: &str) -> Result<Option<f64>, String> {
        let Some(text) = self.text(column) else { return Ok(None) };
        let number = text.parse::<f64>().ok().filter(|number| *number >= 0.0 && number.is_finite());
        number.map(Some).ok_or_else(|| format!("{column}: \"{text}\" is no number from 0"))
    }

    fn record(&self, tenants: &[&str]) -> Result<Record, String> {
        let host_bytes = self.number("host_bytes_written")?.ok_or("host_bytes_written: is empty")?;
        let tenant = self.text("tenant").map(|name| {
            let found = tenants.iter().position(|tenant| *tenant == name);
            found.ok_or_else(|| format!("tenant: \"{name}\" is unknown; there are {}", tenants.join(", ")))
        });
        Ok(Record {
            host_bytes,
            days: self.number("power_on_hours")?.map(|hours| hours / 24.0),
            used: self.number("percentage_used")?.map(|used| used / 100.0),
            media_bytes: self.number("media_bytes_written")?,
            tenant: tenant.transpose()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_table(text: &str) -> Result<Vec<Record>, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("drives.csv");
        std::fs::write(&path, text).unwrap();
        read(&path, &["db", "web"]).map_err(|error| error.problem)
    }

    #[test]
    fn each_row_is_read_as_a_drive() {
        let head = "serial,tenant,host_bytes_written,power_on_hours,percentage_used\n";
        let records = parse_table(&format!("{head}A, web, 1e12, 48, 10\nB,,2000,,\n")).unwrap();
        let first =
            Record { host_bytes: 1e12, days: Some(2.0), used: Some(0.1), media_bytes: None, tenant: Some(1) };
        assert_eq!(records, [first, Record { host_bytes: 2000.0, ..Record::default() }]);
    }

    #[test]
    fn invalid_table_is_refused_with_its_line() {
        let cases = [
            ("host_bytes_written,wear\n1,2\n", ":1: the column \"wear\" is unknown"),
            ("serial\nA\n", ":1: the column \"host_bytes_written\" is missing"),
            ("serial,serial\nA,B\n", ":1: the column \"serial\" is there twice"),
            ("host_bytes_written\n1\nx\n", ":3: host_bytes_written: \"x\" is no number from 0"),
            ("host_bytes_written\n-1\n", ":2: host_bytes_written: \"-1\""),
            ("host_bytes_written,tenant\n1,mail\n", ":2: tenant: \"mail\" is unknown; there are db, web"),
            ("host_bytes_written,tenant\n1\n", "found record with 1 fields"),
            ("host_bytes_written\n", "has no drive"),
            ("", "is missing"),
        ];
        for (text, expected) in cases {
            let problem = parse_table(text).unwrap_err();
            assert!(problem.contains(expected), "{text:?}: {problem}");
        }
    }

    #[test]
    fn folder_is_read_as_one_report_per_drive() {
        let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/samples");
        let folder = tempfile::tempdir().unwrap();
        for name in ["nvme-july.json", "sata.json"] {
            std::fs::copy(samples.join(name), folder.path().join(name)).unwrap();
        }
        let records = read(folder.path(), &[]).unwrap();
        assert_eq!(records.len(), 2);
        assert!(
            records.iter().all(|record| record.host_bytes > 1e12 && record.days > Some(1.0)),
            "{records:?}"
        );
        std::fs::write(folder.path().join("z.json"), "{}").unwrap();
        assert!(read(folder.path(), &[]).unwrap_err().problem.contains("z.json"));
    }
}
