//! Interpretations of the figures that the text of Qiu and Reddy (2013) allows, with NVMFS compared with one rival in
//! each.

use crate::Failure;
use crate::assumptions::Assumptions;
use crate::interval::Interval;
use crate::nvmfs::observations::Observation;
use crate::session::Session;

/// The interpretation that fits the paper. The NVRAM has a sixth of the size of the SSD on which the traces ran.
/// Cleaning is "activated only under high disk utilization", so at most a quarter of the disk was written in addition
/// to files that fill 60 %.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interpretation {
    /// Ratio of SSD size to NVRAM size.
    pub nvram_divisor: u64,
    /// Write-out policy of Conquest, the rival of NVMFS.
    pub rival: &'static str,
    /// Start of the part of the run that counts.
    pub counted_from: &'static str,
    /// Number of bytes written after the files are made, as multiples of the size of the SSD.
    pub written: f64,
}

impl Interpretation {
    /// Reads the values of a session.
    ///
    /// # Errors
    ///
    /// Returns an error if the register lacks a number.
    pub fn from_session(session: &Session) -> Result<Interpretation, Failure> {
        let one_over = session.assumed_value("nvmfs/nvram-one-over")? as u64;
        Ok(Interpretation {
            nvram_divisor: one_over,
            rival: "periodic",
            counted_from: "mkfs",
            written: session.assumed_value("nvmfs/written")?,
        })
    }

    /// Replaces the values of the register by those of the interpretation, in the settings of a program.
    ///
    /// # Errors
    ///
    /// Returns an error if the register lacks a number.
    pub fn apply_to(&self, one_over: &mut [u64], written: &mut Vec<f64>) -> Result<(), Failure> {
        let register = Assumptions::register();
        let default = (register.value("nvmfs/nvram-one-over")? as u64, register.value("nvmfs/written")?);
        one_over
            .iter_mut()
            .filter(|value| **value == default.0)
            .for_each(|value| *value = self.nvram_divisor);
        written.iter_mut().filter(|value| **value == default.1).for_each(|value| *value = self.written);
        written.sort_by(f64::total_cmp);
        written.dedup();
        Ok(())
    }
}

/// Case of the comparison, independent of the seed and the file system.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Case<'a> {
    /// Ratio of SSD size to NVRAM size.
    pub nvram_divisor: u64,
    /// Share of the SSD that the files take.
    pub utilisation: f64,
    /// Order of accesses to files and records.
    pub order: &'a str,
    /// Workload.
    pub workload: &'static str,
}

/// Returns the order that the original program of the workload has by default.
pub fn default_order(workload: &str) -> &'static str {
    if workload == "iozone" { "permuted" } else { "uniform" }
}

/// Comparison of NVMFS with one rival in one interpretation, with a value per seed.
#[derive(Clone, Debug)]
pub struct Row<'a> {
    /// Case of the comparison.
    pub case: Case<'a>,
    /// Write-out policy of Conquest, the rival of NVMFS.
    pub rival: &'static str,
    /// Start of the part of the run that counts.
    pub counted_from: &'static str,
    /// Number of bytes written, as multiples of the size of the SSD.
    pub written: f64,
    /// Results of NVMFS.
    pub nvmfs: Vec<Observation>,
    /// Results of Conquest.
    pub conquest: Vec<Observation>,
}

impl Row<'_> {
    /// True if this is the interpretation that fits the paper.
    pub fn is_in_interpretation(&self, interpretation: &Interpretation) -> bool {
        let Row { case, rival, counted_from: counted, written, .. } = self;
        let one_over = case.nvram_divisor;
        Interpretation { nvram_divisor: one_over, rival, counted_from: counted, written: *written }
            == *interpretation
            && self.has_default_order()
    }

    /// True if the workload has the default order of its original program.
    pub fn has_default_order(&self) -> bool {
        let Case { order, workload, .. } = self.case;
        order == "own" || order == default_order(workload)
    }

    /// Returns the ratio of NVMFS to Conquest in per cent, seed by seed; `None` if a value is 0 in some run.
    pub fn ratio_percent(&self, field: impl Fn(&Observation) -> f64) -> Option<Interval> {
        let pairs = self.nvmfs.iter().zip(&self.conquest).map(|(ours, theirs)| (field(ours), field(theirs)));
        let values: Vec<f64> = pairs.map(|(ours, theirs)| (ours / theirs - 1.0) * 100.0).collect();
        values.iter().all(|value| value.is_finite()).then(|| Interval::from_values(&values))
    }

    /// Returns the ratio of bytes sent to the SSD; `None` if a file system sends none in some run, because all writes
    /// stay on its NVRAM.
    pub fn traffic(&self) -> Option<Interval> {
        self.ratio_percent(Observation::traffic)
    }

    /// Returns the ratio of erases on a drive with a page-level map.
    pub fn page_erases(&self) -> Option<Interval> {
        self.ratio_percent(Observation::page_erases)
    }

    /// Returns the ratio of erases on FAST.
    pub fn fast_erases(&self) -> Option<Interval> {
        self.ratio_percent(|look| look.fast_erases().unwrap_or(f64::NAN))
    }

    /// Returns the name of the row as a case of a statement.
    pub fn name(&self) -> String {
        let Case { nvram_divisor: one_over, utilisation, order, workload } = self.case;
        let Row { rival, counted_from: counted, written, .. } = self;
        format!("{workload} ({order}) at {utilisation}; NVRAM 1/{one_over}; {rival}; {counted} + {written}")
    }
}

/// Columns that identify a row in tables.
pub const KEYS: [&str; 7] = ["nvram", "rival", "counted", "written", "order", "utilisation", "workload"];

/// Returns the values of the row in these columns.
pub fn keys(row: &Row) -> Vec<String> {
    let Case { nvram_divisor: one_over, utilisation, order, workload } = row.case;
    let [rival, counted] = [row.rival, row.counted_from].map(str::to_owned);
    vec![
        format!("1/{one_over}"),
        rival,
        counted,
        row.written.to_string(),
        order.to_owned(),
        utilisation.to_string(),
        workload.to_owned(),
    ]
}
