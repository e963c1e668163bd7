//! Two stores on partitions of a third, compared with three naive stores that forward their requests.

use crate::naive::cases::{Op, ops};
use crate::naive::observe::observe;
use crate::naive::rig::{Engine, Setup, Stamp, Streams, VictimRecord};
use crate::naive::{Model, Request};
use proptest::prelude::*;
use wearwell_base::units::Lpn;
use wearwell_engine::counters::Operation;
use wearwell_engine::layer::{Bytes, Layer, LayerError, Reports};
use wearwell_engine::log::{Partition, Reclaim, Segments, SharedLayer, TrimRule};

/// A store on a partition, with its naive counterpart.
struct User<P: Stamp> {
    engine: Engine<Segments<P>>,
    model: Model,
    victims: VictimRecord,
    /// First page of the user's partition, and number of pages per segment.
    first: u32,
    segment_pages: u32,
    trim: bool,
}

struct SharedStores<P: Stamp> {
    users: Vec<User<P>>,
    shared: SharedLayer<P>,
    lower: Model,
    lower_victims: VictimRecord,
    /// End page of each partition.
    ends: Vec<u32>,
    version: u64,
}

/// Two upper stores with the number of unused pages after the last segment of each, and the lower store.
#[derive(Clone, Debug)]
struct PairConfig {
    uppers: [(Setup, u32, bool); 2],
    lower: Setup,
}

impl<P: Stamp> SharedStores<P> {
    fn new(shape: &PairConfig) -> Self {
        let nand = shape.lower.nand();
        let lower = shape.lower.model(&nand);
        let (store, lower_victims) = shape.lower.engine_recording_victims(nand).unwrap();
        let sizes =
            shape.uppers.each_ref().map(|(upper, rest, _)| upper.blocks * upper.pages_per_block + rest);
        let (shared, partitions) = SharedLayer::new(Box::new(store), &sizes);
        let user = |(partition, (setup, _, trim)): (Partition<P>, &(Setup, u32, bool))| {
            let first = partition.range().start;
            let segments =
                Segments::new(Box::new(partition), setup.pages_per_block, trim.then(TrimRule::default));
            let mut model = setup.model(&segments);
            model.requests = Some(Vec::new());
            let (engine, victims) = setup.engine_recording_victims(segments).unwrap();
            User { engine, model, victims, first, segment_pages: setup.pages_per_block, trim: *trim }
        };
        let users = partitions.into_iter().zip(&shape.uppers).map(user).collect();
        let ends = vec![sizes[0], sizes[0] + sizes[1]];
        SharedStores { users, shared, lower, lower_victims, ends, version: 0 }
    }

    /// Executes the operation on engine and model of user `at`, and forwards the requests of the upper model to the
    /// lower model.
    fn step(&mut self, at: usize, op: &Op) -> Result<(), LayerError> {
        let user = &mut self.users[at];
        let pages = op.pages(user.model.config.logical_pages);
        match op {
            Op::Trim(_) | Op::TrimAll => {
                user.engine.trim(&pages)?;
                user.model.trim(&pages)?;
            }
            Op::Read(_) => self.read(at, &pages)?,
            Op::Flush => {
                user.engine.flush()?;
                user.model.flush();
                self.lower.flush();
            }
            _ => {
                let versions: Vec<u64> = (self.version + 1..).take(pages.len()).collect();
                self.version += pages.len() as u64;
                let data: Vec<P> = versions.iter().map(|&version| P::stamp(version)).collect();
                user.engine.write(&pages, &data, op.hint())?;
                user.model.pending_victims.append(&mut user.victims.lock().unwrap());
                user.model.write(&pages, &versions, op.hint())?;
            }
        }
        self.forward_requests(at)
    }

    /// Executes the requests of the upper model on the lower model.
    fn forward_requests(&mut self, at: usize) -> Result<(), LayerError> {
        let user = &mut self.users[at];
        self.lower.pending_victims.append(&mut self.lower_victims.lock().unwrap());
        self.lower.writer = at;
        let page_in_partition =
            |block: usize, page: usize| Lpn(user.first + block as u32 * user.segment_pages + page as u32);
        for request in user.model.requests.replace(Vec::new()).unwrap() {
            match request {
                Request::Program { block, page, content, stream } => {
                    self.lower.write(&[page_in_partition(block, page)], &[content], u16::from(stream.0))?;
                }
                Request::Read { block, pages } => {
                    let pages: Vec<Lpn> =
                        pages.into_iter().map(|page| page_in_partition(block, page)).collect();
                    self.lower.read(&pages)?;
                }
                Request::Erase { block } if user.trim => {
                    let pages: Vec<Lpn> =
                        (0..user.segment_pages as usize).map(|page| page_in_partition(block, page)).collect();
                    self.lower.trim(&pages)?;
                }
                Request::Erase { .. } => {}
            }
        }
        Ok(())
    }

    /// Reads the pages from engine and model of user `at`, and compares them.
    fn read(&mut self, at: usize, pages: &[Lpn]) -> Result<(), LayerError> {
        let user = &mut self.users[at];
        let mut data = Vec::new();
        user.engine.read(pages, &mut data)?;
        let contents = user.model.read(pages)?;
        let expected: Vec<P> = contents.into_iter().map(|content| P::stamp(content.unwrap())).collect();
        assert_eq!(data, expected, "content of user {at}'s pages");
        self.forward_requests(at)
    }

    /// Returns the moved pages, `[cause][owner]`, from the list of all moves.
    fn moved_pages(&self) -> Vec<Vec<u64>> {
        let count = |cause: usize, owner: usize| {
            let range = [0, self.ends[0]][owner]..self.ends[owner];
            let moved =
                self.lower.moved.iter().filter(|(writer, page)| *writer == cause && range.contains(page));
            moved.count() as u64
        };
        (0..2).map(|cause| (0..2).map(|owner| count(cause, owner)).collect()).collect()
    }

    fn compare(&mut self) {
        for at in 0..self.users.len() {
            let all: Vec<Lpn> = (0..self.users[at].model.config.logical_pages).map(Lpn).collect();
            self.read(at, &all).unwrap();
            let user = &self.users[at];
            user.engine.check().unwrap();
            assert!(user.model.pending_victims.is_empty(), "an upper store cleaned more than its model");
            observe(&user.engine).assert_equals(&user.model.observe());
        }
        self.shared.check().unwrap();
        assert!(self.lower.pending_victims.is_empty(), "the lower store cleaned more than its model");
        let mut reports = Reports::default();
        self.shared.describe(&mut reports);
        let [report] = &reports.layers[..] else { panic!("one shared layer") };
        let expected = self.lower.observe();
        assert_eq!(report.counters, expected.counters);
        assert_eq!(report.victim_valid_pages, expected.victim_valid_pages);
        assert_eq!(
            (report.mapped_pages, report.spilled_pages),
            (expected.mapped_pages, expected.spilled_pages)
        );
        let nand = reports.nand.as_ref().unwrap();
        assert_eq!((nand.programs, nand.reads, nand.erases), self.lower.flash_totals());
        let moved: Vec<Vec<u64>> =
            report.moved_pages[..2].iter().map(|owners| owners[..2].to_vec()).collect();
        assert_eq!(moved, self.moved_pages(), "[cause][owner]");
        self.check_conservation(&reports);
    }

    /// Checks that the requests of the upper stores, the partitions' incoming requests and those of the lower store
    /// agree.
    fn check_conservation(&self, reports: &Reports) {
        let report = &reports.layers[0];
        for operation in [Operation::Write, Operation::Read, Operation::Trim, Operation::Flush] {
            let through = report.partitions.iter().map(|part| part.incoming.incoming(operation));
            assert_eq!(through.sum::<u64>(), report.counters.incoming(operation), "{operation:?}");
        }
        for (user, part) in self.users.iter().zip(&report.partitions) {
            let sent = observe(&user.engine).counters;
            for operation in [Operation::Write, Operation::Read] {
                assert_eq!(
                    sent.outgoing_total(operation),
                    part.incoming.incoming(operation),
                    "{operation:?}"
                );
            }
            let freed = sent.outgoing_total(Operation::Erase) * u64::from(user.segment_pages);
            let trimmed = if user.trim { freed } else { 0 };
            assert_eq!(part.incoming.incoming(Operation::Trim), trimmed);
        }
    }
}

prop_compose! {
    fn upper()(
        (segments, segment_pages) in (7..=12u32, 1..=16u32),
        load in 0.3..=1.0f64,
        victim in prop::sample::select(&["greedy", "d_choices", "fifo", "random"][..]),
        double in any::<bool>(),
        rest in 0..9u32,
        trim in any::<bool>(),
        seed in any::<u64>(),
    ) -> (Setup, u32, bool) {
        let setup = Setup {
            blocks: segments,
            pages_per_block: segment_pages,
            logical_pages: ((f64::from((segments - 5) * segment_pages) * load) as u32).max(1),
            streams: if double { Streams::Double } else { Streams::Mixing(3, false, false) },
            reclaim: Reclaim::FreePool { low: 1, high: 2 },
            victim,
            seed,
            ..Setup::default()
        };
        (setup, rest % segment_pages, trim)
    }
}

prop_compose! {
    fn shapes()(
        uppers in prop::array::uniform2(upper()),
        (pages_per_block, spare_blocks) in (1..=12u32, 0..4u32),
        unused in 0..20u32,
        streams in prop::sample::select(&[Streams::Single, Streams::Double, Streams::Mixing(3, false, false)][..]),
        pool in any::<bool>(),
        victim in prop::sample::select(&["greedy", "d_choices", "fifo", "random"][..]),
        seed in any::<u64>(),
    ) -> PairConfig {
        let pages = |(upper, rest, _): &(Setup, u32, bool)| upper.blocks * upper.pages_per_block + rest;
        let logical_pages = uppers.iter().map(pages).sum::<u32>() + unused;
        let in_place = !pool && !matches!(streams, Streams::Mixing(..));
        let reclaim = if in_place { Reclaim::InPlace } else { Reclaim::FreePool { low: 1, high: 2 } };
        let reserve = if in_place { 0 } else { 2 };
        let lower = Setup {
            blocks: logical_pages.div_ceil(pages_per_block) + streams.count() + reserve + spare_blocks,
            pages_per_block,
            logical_pages,
            streams,
            reclaim,
            victim,
            seed,
            ..Setup::default()
        };
        PairConfig { uppers, lower }
    }
}

fn drive<P: Stamp>(shape: &PairConfig, ops: &[(usize, Op)]) -> SharedStores<P> {
    let mut pair = SharedStores::<P>::new(shape);
    pair.compare();
    for (at, op) in ops {
        pair.step(*at, op).expect("stores within the documented limits");
        pair.compare();
    }
    pair
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn two_stores_share_a_third_and_match_the_model(shape in shapes(), first in ops(6), second in ops(6), order: u64) {
        let (mut first, mut second) = (first.into_iter().peekable(), second.into_iter().peekable());
        let mut merged = Vec::new();
        while first.peek().is_some() || second.peek().is_some() {
            let at = (order >> (merged.len() % 64) & 1) as usize;
            let op = if at == 0 { first.next() } else { second.next() };
            merged.extend(op.map(|op| (at, op)));
            if first.peek().is_none() || second.peek().is_none() {
                merged.extend(first.by_ref().map(|op| (0, op)));
                merged.extend(second.by_ref().map(|op| (1, op)));
            }
        }
        drive::<Bytes<8>>(&shape, &merged);
        drive::<()>(&shape, &merged);
    }
}

/// Verifies the property test: each user must make the lower store move pages of both users.
#[test]
fn each_user_causes_moves_of_pages_of_both() {
    let upper = |seed| Setup {
        blocks: 12,
        pages_per_block: 10,
        logical_pages: 70,
        streams: Streams::Double,
        reclaim: Reclaim::FreePool { low: 1, high: 2 },
        seed,
        ..Setup::default()
    };
    let lower = Setup { blocks: 45, pages_per_block: 6, logical_pages: 246, ..Setup::default() };
    let shape = PairConfig { uppers: [(upper(1), 3, false), (upper(2), 3, false)], lower };
    let burst = |at, seed| (at, Op::Burst(seed, 9000, seed % 2 == 0));
    let pair = drive::<Bytes<8>>(&shape, &[burst(0, 1), burst(1, 2), burst(0, 3), burst(1, 4), burst(0, 5)]);
    let moved = pair.moved_pages();
    assert!(moved.iter().flatten().all(|&pages| pages > 10), "{moved:?}");
}

#[test]
fn page_beyond_a_partition_is_refused_without_effect_on_its_neighbour() {
    let lower = Setup { blocks: 16, pages_per_block: 7, logical_pages: 80, ..Setup::default() };
    let (shared, mut users) = SharedLayer::<Bytes<8>>::new(Box::new(lower.engine()), &[30, 50]);
    let error = users[0].write(&[Lpn(29), Lpn(30)], &[Bytes::stamp(1), Bytes::stamp(2)], 0).unwrap_err();
    assert_eq!(error, LayerError::OutOfRange { page: 30, pages: 30 });
    users[1].write(&[Lpn(0)], &[Bytes::stamp(3)], 0).unwrap();
    users[0].trim(&[Lpn(29)]).unwrap();
    let mut read = Vec::new();
    users[1].read(&[Lpn(0), Lpn(1)], &mut read).unwrap();
    users[0].read(&[Lpn(29)], &mut read).unwrap();
    assert_eq!(read, [Bytes::stamp(3), Bytes::default(), Bytes::default()]);
    shared.check().unwrap();
}
