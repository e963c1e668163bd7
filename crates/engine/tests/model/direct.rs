//! Layers without a log of their own: they forward all requests and lose no data.

use crate::naive::cases::{Op, ops};
use crate::naive::observe::reports;
use crate::naive::rig::{Setup, Stamp};
use proptest::prelude::*;
use wearwell_base::units::Lpn;
use wearwell_engine::counters::{Cause, Operation};
use wearwell_engine::layer::{Bytes, Layer};
use wearwell_engine::log::{
    BoxedLayer, ObjectLayer, ObjectLayout, PassThrough, Reclaim, SparseLayer, TrimLogConfig,
};

type Page = Bytes<8>;

fn lower(seed: u64) -> BoxedLayer<Page> {
    let reclaim = Reclaim::FreePool { low: 2, high: 2 };
    Box::new(Setup { seed, blocks: 24, logical_pages: 100, reclaim, ..Setup::default() }.engine::<Page>())
}

fn layers(seed: u64, object_pages: u32, classes: u8, trims_per_write: u32) -> [Box<dyn Layer<Page>>; 3] {
    let layout = ObjectLayout { object_pages, classes, decay_drive_writes: 0.5 };
    let log = TrimLogConfig { records_per_page: 4, trims_per_write, pages: 3 };
    [
        Box::new(PassThrough::new(lower(seed), 90)),
        Box::new(SparseLayer::new(lower(seed), log).unwrap()),
        Box::new(ObjectLayer::new(lower(seed), layout).unwrap()),
    ]
}

fn check(layer: &mut dyn Layer<Page>, shadow: &[Page]) {
    layer.check().unwrap();
    let all: Vec<Lpn> = (0..shadow.len() as u32).map(Lpn).collect();
    let mut read = Vec::new();
    layer.read(&all, &mut read).unwrap();
    assert_eq!(read, shadow);
    let reports = reports(layer);
    let [upper, lower] = &reports.layers[..] else { panic!("two layers") };
    for operation in [Operation::Write, Operation::Read] {
        assert_eq!(
            upper.counters.outgoing_total(operation),
            lower.counters.incoming(operation),
            "{operation:?}"
        );
    }
    assert_eq!(upper.trims.sent_pages, lower.counters.incoming(Operation::Trim));
    assert_eq!(
        upper.counters.outgoing(Cause::Host, Operation::Write),
        upper.counters.incoming(Operation::Write)
    );
    let records = upper.metadata.map_or(0, |metadata| metadata.trim_record_pages);
    assert_eq!(upper.counters.outgoing(Cause::LogMetadata, Operation::Write), records);
    let mapped = shadow.iter().filter(|page| **page != Page::default()).count();
    assert_eq!(upper.mapped_pages as usize, mapped);
}

proptest! {
    #[test]
    fn written_pages_are_read_back_and_counted(
        ops in ops(20), seed in any::<u64>(), object_pages in 1..40u32, classes in 1..6u8, trims in 1..4u32,
    ) {
        for mut layer in layers(seed, object_pages, classes, trims) {
            let mut shadow = vec![Page::default(); layer.logical_pages() as usize];
            let mut version = 0;
            for op in &ops {
                let pages = op.pages(layer.logical_pages());
                match op {
                    Op::Trim(_) | Op::TrimAll => {
                        layer.trim(&pages).unwrap();
                        pages.iter().for_each(|page| shadow[page.index()] = Page::default());
                    }
                    Op::Read(_) => layer.read(&pages, &mut Vec::new()).unwrap(),
                    Op::Flush => layer.flush().unwrap(),
                    _ => {
                        let data: Vec<Page> = (version + 1..).take(pages.len()).map(Page::stamp).collect();
                        version += pages.len() as u64;
                        layer.write(&pages, &data, op.hint()).unwrap();
                        pages.iter().zip(data).for_each(|(page, data)| shadow[page.index()] = data);
                    }
                }
                check(&mut *layer, &shadow);
            }
        }
    }
}

#[test]
fn page_out_of_range_is_refused_without_effect() {
    for mut layer in layers(1, 8, 4, 1) {
        let pages = layer.logical_pages();
        let outside = [Lpn(0), Lpn(pages)];
        assert!(layer.write(&outside, &[Page::stamp(1); 2], 0).is_err());
        assert!(layer.trim(&outside).is_err());
        assert!(layer.read(&outside, &mut Vec::new()).is_err());
        check(&mut *layer, &vec![Page::default(); pages as usize]);
    }
}
