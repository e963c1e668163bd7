//! A sparse address space on the drive's own log: the layer above has no map, no log and no journal.
//!
//! The drive maps any address, writes groups of pages atomically, and makes trims persistent. Its user (DFS and NVMFS:
//! Josephson, Bongo, Flynn and Li, FAST 2010; Yang et al., INFLOW 2014, sec. 6) then needs neither a block map nor a
//! journal. Here, a page number of the user stands for the address that a file system would choose. The choice of
//! address has no effect on the layers below, so pages keep their numbers.

use super::pass_through::PassThrough;
use super::segments::BoxedLayer;
use crate::config::ConfigError;
use crate::layer::{
    Abilities, Ability, Answer, Command, Layer, LayerError, LayerExt, MetadataReport, Payload, Query,
    Reports, check_range,
};
use crate::units::{Lpn, runs};

/// Bytes per map entry for the key of a sparse address, in addition to the location that every map stores.
const KEY_BYTES: u64 = 8;

/// Writes of persistent TRIM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrimLogConfig {
    /// Records of trimmed ranges per page; at least 1.
    pub records_per_page: u32,
    /// Number of trims whose records are written together; with 1, each trim is durable when it returns. At least 1.
    pub trims_per_write: u32,
    /// Number of pages for the records, written in turn. When a page is overwritten, its records are already obsolete
    /// because of the drive's checkpoint of its map. At least 1.
    pub pages: u32,
}

/// A layer with a sparse address space; see the module's documentation.
pub struct SparseLayer<P> {
    below: PassThrough<P>,
    log: TrimLogConfig,
    /// Index of the current page of the trim log, which holds `records` records.
    page: u32,
    records: u32,
    /// Number of trims since records were last written.
    unwritten_trims: u32,
    record_pages: u64,
    max_group_pages: u32,
}

impl<P: Payload> SparseLayer<P> {
    /// Creates a sparse address space on `lower`, which must support atomic writes; the trim log takes its last
    /// pages.
    pub fn new(lower: BoxedLayer<P>, log: TrimLogConfig) -> Result<Self, ConfigError> {
        lower.abilities().require(Ability::AtomicGroups, "the layer below", "structure")?;
        let longest_group = lower.atomic_pages();
        for (key, value) in [("trims_per_write", log.trims_per_write), ("trim_log_pages", log.pages)] {
            if value == 0 {
                return Err(ConfigError::new(format!("structure.{key}"), "is 0; it must be at least 1"));
            }
        }
        let pages = lower.logical_pages();
        if log.records_per_page == 0 || log.pages >= pages {
            let problem = format!("is {}; it must be below the {pages} pages of the layer below", log.pages);
            return Err(ConfigError::new("structure.trim_log_pages", problem));
        }
        let below = PassThrough::new(lower, pages - log.pages);
        Ok(SparseLayer {
            below,
            log,
            page: 0,
            records: 0,
            unwritten_trims: 0,
            record_pages: 0,
            max_group_pages: longest_group,
        })
    }

    /// Adds a record to the current page; writes the page when it is full.
    fn add_record(&mut self) -> Result<(), LayerError> {
        self.records += 1;
        if self.records == self.log.records_per_page {
            self.write_records()?;
            self.page = (self.page + 1) % self.log.pages;
            self.records = 0;
        }
        Ok(())
    }

    /// Makes the records of the current page durable.
    fn write_records(&mut self) -> Result<(), LayerError> {
        let page = Lpn(self.below.logical_pages() + self.page);
        self.below.write_hidden(&[page], &[P::default()], 0)?;
        self.record_pages += 1;
        self.unwritten_trims = 0;
        Ok(())
    }
}

impl<P: Payload> Layer<P> for SparseLayer<P> {
    fn logical_pages(&self) -> u32 {
        self.below.logical_pages()
    }

    /// Writes the pages of a call as one atomic group, if the layer below accepts a group of this length; a longer call
    /// is split into several groups.
    fn write(&mut self, pages: &[Lpn], data: &[P], hint: u16) -> Result<(), LayerError> {
        check_range(pages, self.below.logical_pages())?;
        let group = self.max_group_pages as usize;
        for (pages, data) in pages.chunks(group).zip(data.chunks(group)) {
            self.below.write_atomic(pages, data, hint)?;
        }
        Ok(())
    }

    fn read(&mut self, pages: &[Lpn], out: &mut Vec<P>) -> Result<(), LayerError> {
        self.below.read(pages, out)
    }

    fn trim(&mut self, pages: &[Lpn]) -> Result<(), LayerError> {
        self.below.trim(pages)?;
        for _ in runs(pages) {
            self.unwritten_trims += 1;
            self.add_record()?;
        }
        if self.unwritten_trims >= self.log.trims_per_write {
            self.write_records()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), LayerError> {
        if self.unwritten_trims > 0 {
            self.write_records()?;
        }
        self.below.flush()
    }

    fn abilities(&self) -> Abilities {
        self.below.abilities().with(Ability::WholeRequests, true)
    }

    fn query(&self, query: Query<'_>) -> Answer {
        self.below.query(query)
    }

    fn command(&mut self, command: Command<'_, P>) -> Result<Answer, LayerError> {
        self.below.command(command)
    }

    fn describe(&self, reports: &mut Reports) {
        let at = reports.layers.len();
        self.below.describe(reports);
        let report = &mut reports.layers[at];
        report.directory = "below";
        report.map_bytes = Some(KEY_BYTES * u64::from(report.mapped_pages));
        report.metadata = Some(MetadataReport {
            trim_record_pages: self.record_pages,
            area_pages: self.log.pages,
            ..MetadataReport::default()
        });
    }

    fn written_pages(&self) -> u64 {
        self.below.written_pages()
    }

    fn final_draw(&mut self) -> u64 {
        self.below.final_draw()
    }

    fn check(&self) -> Result<(), String> {
        self.below.check()
    }
}
