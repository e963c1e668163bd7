//! The readings that the text of Qiu and Reddy (2013) allows of their figures, and NVMFS beside one rival in each.

use crate::Failure;
use crate::assumptions::Assumptions;
use crate::interval::Interval;
use crate::nvmfs::course::Look;
use crate::session::Session;

/// The reading of the paper. NVRAM is a sixth of what the traces ran on. Cleaning is "activated only under high disk utilization", so a
/// quarter of the disk at most was written beside files that fill 60 %.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// The SSD over the NVRAM.
    pub one_over: u64,
    /// How Conquest writes dirty blocks out.
    pub rival: &'static str,
    /// From when on it counts.
    pub counted: &'static str,
    /// Multiples of the SSD that are written once the files are made.
    pub written: f64,
}

impl Reading {
    /// That of a session.
    ///
    /// # Errors
    ///
    /// A number that is not in the register.
    pub fn of(session: &Session) -> Result<Reading, Failure> {
        let one_over = session.assumed("nvmfs/nvram-one-over")? as u64;
        Ok(Reading {
            one_over,
            rival: "periodic",
            counted: "mkfs",
            written: session.assumed("nvmfs/written")?,
        })
    }

    /// Puts what is assumed of the reading in the place of what the register has, among the settings of a program.
    ///
    /// # Errors
    ///
    /// A number that is not in the register.
    pub fn put_into(&self, one_over: &mut [u64], written: &mut Vec<f64>) -> Result<(), Failure> {
        let register = Assumptions::register();
        let usual = (register.value("nvmfs/nvram-one-over")? as u64, register.value("nvmfs/written")?);
        one_over.iter_mut().filter(|value| **value == usual.0).for_each(|value| *value = self.one_over);
        written.iter_mut().filter(|value| **value == usual.1).for_each(|value| *value = self.written);
        written.sort_by(f64::total_cmp);
        written.dedup();
        Ok(())
    }
}

/// What is compared, whatever the seed and the file system.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Case<'a> {
    /// The SSD over the NVRAM.
    pub one_over: u64,
    /// Share of the SSD that the files take.
    pub utilisation: f64,
    /// Order in which files and records are taken.
    pub order: &'a str,
    /// The workload.
    pub workload: &'static str,
}

/// The order that the workload's own program has unless it is told otherwise.
pub fn own_order(workload: &str) -> &'static str {
    if workload == "iozone" { "permuted" } else { "uniform" }
}

/// NVMFS beside one rival, in one reading: a value for each seed.
#[derive(Clone, Debug)]
pub struct Row<'a> {
    /// What is compared.
    pub case: Case<'a>,
    /// How Conquest writes dirty blocks out.
    pub rival: &'static str,
    /// From when on it counts.
    pub counted: &'static str,
    /// Multiples of the SSD that are written.
    pub written: f64,
    /// NVMFS.
    pub ours: Vec<Look>,
    /// Conquest.
    pub theirs: Vec<Look>,
}

impl Row<'_> {
    /// Whether it is the paper's reading.
    pub fn is_in(&self, reading: &Reading) -> bool {
        let Row { case, rival, counted, written, .. } = self;
        let one_over = case.one_over;
        Reading { one_over, rival, counted, written: *written } == *reading && self.is_in_its_own_order()
    }

    /// Whether the workload has the order of its own program.
    pub fn is_in_its_own_order(&self) -> bool {
        let Case { order, workload, .. } = self.case;
        order == "own" || order == own_order(workload)
    }

    /// Ours over theirs in per cent, seed by seed; `None` where one is nothing in some run.
    pub fn percent(&self, of: impl Fn(&Look) -> f64) -> Option<Interval> {
        let pairs = self.ours.iter().zip(&self.theirs).map(|(ours, theirs)| (of(ours), of(theirs)));
        let values: Vec<f64> = pairs.map(|(ours, theirs)| (ours / theirs - 1.0) * 100.0).collect();
        values.iter().all(|value| value.is_finite()).then(|| Interval::of(&values))
    }

    /// Bytes sent; `None` where one sends nothing in some run, because all that is written stays on its NVRAM.
    pub fn traffic(&self) -> Option<Interval> {
        self.percent(Look::traffic)
    }

    /// Erases on a drive with a map of pages.
    pub fn page_erases(&self) -> Option<Interval> {
        self.percent(Look::page_erases)
    }

    /// Erases on FAST.
    pub fn fast_erases(&self) -> Option<Interval> {
        self.percent(|look| look.fast_erases().unwrap_or(f64::NAN))
    }

    /// As a case of a statement.
    pub fn name(&self) -> String {
        let Case { one_over, utilisation, order, workload } = self.case;
        let Row { rival, counted, written, .. } = self;
        format!("{workload} ({order}) at {utilisation}; NVRAM 1/{one_over}; {rival}; {counted} + {written}")
    }
}

/// What names a row in tables.
pub const KEYS: [&str; 7] = ["nvram", "rival", "counted", "written", "order", "utilisation", "workload"];

/// Its values.
pub fn keys(row: &Row) -> Vec<String> {
    let Case { one_over, utilisation, order, workload } = row.case;
    let [rival, counted] = [row.rival, row.counted].map(str::to_owned);
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
