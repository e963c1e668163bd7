//! An object interface instead of a block interface: the user names objects; the drive stores them and knows the
//! update rate of each.
//!
//! The layer above only resolves names; it has no log, no block map and no cleaning of its own. Because the drive
//! knows objects, it can separate frequently and rarely updated objects without estimating each page (Kang, Yang and
//! Miller, MSST 2011; Yang et al., INFLOW 2014, sec. 6).

use super::pass_through::PassThrough;
use super::segments::BoxedLayer;
use crate::config::ConfigError;
use crate::layer::{Abilities, Answer, Command, Layer, LayerError, Payload, Query, Reports, check_range};
use crate::units::Lpn;

/// RAM per object, in bytes: for its name, its first extent, its attributes and its write counter.
const OBJECT_BYTES: u64 = 32;

/// Settings of the object layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ObjectLayout {
    /// Pages per object; the last object may have fewer. At least 1.
    pub object_pages: u32,
    /// Number of temperature classes, from cold to hot; each class is a stream hint for the layer below. At least 1.
    pub classes: u8,
    /// Interval, in multiples of the logical pages written, after which all write counts are halved; above 0.
    pub decay_drive_writes: f64,
}

/// A layer with an object interface; see the module's documentation.
pub struct ObjectLayer<P> {
    below: PassThrough<P>,
    layout: ObjectLayout,
    /// Pages written to each object, halved at regular intervals.
    write_counts: Vec<u32>,
    total_count: u64,
    decay_pages: u64,
    pages_until_decay: u64,
}

impl<P: Payload> ObjectLayer<P> {
    /// Creates objects stored one after the other on the pages of `lower`.
    pub fn new(lower: BoxedLayer<P>, layout: ObjectLayout) -> Result<Self, ConfigError> {
        let wrong = |key: &str, problem: String| Err(ConfigError::new(format!("structure.{key}"), problem));
        let pages = lower.logical_pages();
        if layout.object_pages == 0 || layout.object_pages > pages {
            let problem = format!("is {} pages; it must be from 1 to the {pages} below", layout.object_pages);
            return wrong("object_size", problem);
        }
        if layout.classes == 0 {
            return wrong("classes", "is 0; at least 1 is needed".into());
        }
        let decay_pages = (layout.decay_drive_writes * f64::from(pages)) as u64;
        if decay_pages == 0 {
            let problem = format!("is {}; it must be above 0", layout.decay_drive_writes);
            return wrong("decay_drive_writes", problem);
        }
        Ok(ObjectLayer {
            below: PassThrough::new(lower, pages),
            layout,
            write_counts: vec![0; pages.div_ceil(layout.object_pages) as usize],
            total_count: 0,
            decay_pages,
            pages_until_decay: decay_pages,
        })
    }

    fn object_of(&self, page: Lpn) -> usize {
        (page.0 / self.layout.object_pages) as usize
    }

    /// Returns the class of an object: 0 if its count is below the mean count, 1 from the mean on, and one more for
    /// each doubling, up to the highest class.
    fn class_of(&self, object: usize) -> u16 {
        let mean = self.total_count as f64 / self.write_counts.len() as f64;
        let doublings = f64::from(self.write_counts[object]) / mean.max(f64::MIN_POSITIVE);
        let class = if doublings < 1.0 { 0 } else { 1 + libm::log2(doublings) as u16 };
        class.min(u16::from(self.layout.classes) - 1)
    }

    fn count_write(&mut self, object: usize) {
        self.write_counts[object] += 1;
        self.total_count += 1;
        self.pages_until_decay -= 1;
        if self.pages_until_decay == 0 {
            self.write_counts.iter_mut().for_each(|written| *written /= 2);
            self.total_count = self.write_counts.iter().map(|&written| u64::from(written)).sum();
            self.pages_until_decay = self.decay_pages;
        }
    }
}

impl<P: Payload> Layer<P> for ObjectLayer<P> {
    fn logical_pages(&self) -> u32 {
        self.below.logical_pages()
    }

    /// Writes pages with the class of their object as hint; ignores the user's hint.
    fn write(&mut self, pages: &[Lpn], data: &[P], _hint: u16) -> Result<(), LayerError> {
        check_range(pages, self.below.logical_pages())?;
        // Pages are written one by one, because the class must not depend on how writes are split into calls.
        for (page, data) in pages.iter().zip(data) {
            let object = self.object_of(*page);
            self.below.write(
                std::slice::from_ref(page),
                std::slice::from_ref(data),
                self.class_of(object),
            )?;
            self.count_write(object);
        }
        Ok(())
    }

    fn read(&mut self, pages: &[Lpn], out: &mut Vec<P>) -> Result<(), LayerError> {
        self.below.read(pages, out)
    }

    fn trim(&mut self, pages: &[Lpn]) -> Result<(), LayerError> {
        self.below.trim(pages)
    }

    fn flush(&mut self) -> Result<(), LayerError> {
        self.below.flush()
    }

    fn abilities(&self) -> Abilities {
        self.below.abilities()
    }

    fn query(&self, query: Query<'_>) -> Answer {
        self.below.query(query)
    }

    /// Writes an atomic group with the class of its first page's object as hint, because a group is stored in one
    /// stream.
    fn command(&mut self, command: Command<'_, P>) -> Result<Answer, LayerError> {
        let Command::WriteAtomic { pages, data, .. } = command else { return self.below.command(command) };
        check_range(pages, self.below.logical_pages())?;
        let hint = pages.first().map_or(0, |&page| self.class_of(self.object_of(page)));
        let answer = self.below.command(Command::WriteAtomic { pages, data, hint })?;
        pages.iter().for_each(|&page| self.count_write(self.object_of(page)));
        Ok(answer)
    }

    fn describe(&self, reports: &mut Reports) {
        let at = reports.layers.len();
        self.below.describe(reports);
        let report = &mut reports.layers[at];
        report.directory = "objects";
        report.memory_bytes += 4 * self.write_counts.len() as u64;
        report.map_bytes = Some(OBJECT_BYTES * self.write_counts.len() as u64);
    }

    fn written_pages(&self) -> u64 {
        self.below.written_pages()
    }

    fn final_draw(&mut self) -> u64 {
        self.below.final_draw()
    }

    fn check(&self) -> Result<(), String> {
        let total: u64 = self.write_counts.iter().map(|&written| u64::from(written)).sum();
        if total != self.total_count {
            return Err(format!("objects took {total} pages, {} are counted", self.total_count));
        }
        self.below.check()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layer::ContentId;
    use crate::log::Reclaim;
    use crate::log::tests::drive::{Drive, SINGLE, config};

    /// Creates a layer of three objects: two of 4 pages, and the last of 2.
    fn objects(classes: u8, decay_drive_writes: f64) -> ObjectLayer<ContentId> {
        let store = Drive::new(20, config(10, Reclaim::FreePool { low: 1, high: 1 }), SINGLE()).store;
        let layout = ObjectLayout { object_pages: 4, classes, decay_drive_writes };
        ObjectLayer::new(Box::new(store), layout).unwrap()
    }

    #[test]
    fn consecutive_pages_belong_to_the_same_object() {
        let layer = objects(3, 1.0);
        let found: Vec<usize> = (0..10).map(|page| layer.object_of(Lpn(page))).collect();
        assert_eq!(found, [0, 0, 0, 0, 1, 1, 1, 1, 2, 2]);
    }

    #[test]
    fn each_doubling_above_mean_raises_class() {
        let mut layer = objects(3, 100.0);
        assert_eq!(layer.class_of(0), 0, "nothing was written yet");
        // Three objects received 24 page writes, so the mean is 8.
        layer.write_counts = vec![7, 8, 9];
        layer.total_count = 24;
        assert_eq!([0, 1, 2].map(|object| layer.class_of(object)), [0, 1, 1]);
        layer.write_counts = vec![1, 3, 20];
        assert_eq!([0, 1, 2].map(|object| layer.class_of(object)), [0, 0, 2]);
        layer.write_counts = vec![0, 0, 24];
        layer.layout.classes = 2;
        assert_eq!(layer.class_of(2), 1, "there are no more classes");
    }

    #[test]
    fn counts_are_halved_after_the_decay_interval() {
        let mut layer = objects(3, 0.5);
        for object in [0, 0, 0, 1] {
            layer.count_write(object);
        }
        assert_eq!(
            (layer.write_counts.clone(), layer.total_count, layer.pages_until_decay),
            (vec![3, 1, 0], 4, 1)
        );
        layer.count_write(2);
        assert_eq!(
            (layer.write_counts.clone(), layer.total_count, layer.pages_until_decay),
            (vec![1, 0, 0], 1, 5)
        );
        layer.check().unwrap();
    }
}
