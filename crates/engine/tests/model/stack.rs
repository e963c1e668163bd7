//! A log on an FTL: outgoing requests of the upper layer enter the lower one, and data survive cleaning in both.

use crate::naive::cases::{Op, ops};
use crate::naive::observe::reports;
use crate::naive::rig::{Engine, Setup, Stamp, Streams};
use proptest::prelude::*;
use wearwell_base::units::Lpn;
use wearwell_engine::counters::{Cause, Operation};
use wearwell_engine::layer::{Bytes, Layer, LayerError, LayerReport, MediumError};
use wearwell_engine::log::{ArrivalObserver, BoxedLayer, Directory, Reclaim, Segments, TrimRule, TrimUnit};
use wearwell_engine::nand::Wear;

pub(super) type Stack<P> = Engine<Segments<P>>;

/// Creates a stack in which the upper store's blocks are segments of the lower store's pages.
fn stack<P: Stamp>(upper: &Setup, lower: &Setup, trim: Option<TrimRule>) -> Stack<P> {
    let lower: BoxedLayer<P> = Box::new(ArrivalObserver::new(Box::new(lower.engine::<P>())));
    upper.engine_on(Segments::new(lower, upper.pages_per_block, trim)).expect("an upper store that fits")
}

fn check_conservation<P: Stamp>(stack: &Stack<P>, segment_pages: u32, trim: Option<TrimRule>) {
    stack.check().unwrap();
    let reports = reports(stack);
    let [above, below] = &reports.layers[..] else { panic!("two layers") };
    assert!(above.mapped_pages <= below.mapped_pages, "nothing that is wanted was trimmed");
    let arrivals = below.arrivals.expect("the lower layer is watched");
    let trims = above.trims;
    let (upper, lower) = (&above.counters, &below.counters);
    assert_eq!(arrivals.written_pages, lower.incoming(Operation::Write));
    assert_eq!(arrivals.trimmed_pages, lower.incoming(Operation::Trim));
    assert_eq!(arrivals.trimmed_ranges, trims.sent_ranges);
    let metadata_pages = above.metadata.map_or(0, |metadata| metadata.written());
    assert_eq!(upper.outgoing(Cause::LogMetadata, Operation::Write), metadata_pages, "metadata by kind");
    let nand = reports.nand.as_ref().expect("flash at the bottom");
    for operation in [Operation::Write, Operation::Read] {
        assert_eq!(upper.outgoing_total(operation), lower.incoming(operation), "{operation:?}");
    }
    assert_eq!(upper.incoming(Operation::Flush), lower.incoming(Operation::Flush));
    let freed = upper.outgoing_total(Operation::Erase) * u64::from(segment_pages);
    assert_eq!(lower.incoming(Operation::Trim), trims.sent_pages);
    match trim {
        None => assert_eq!(trims.sent_pages, 0),
        Some(rule) if rule == TrimRule::default() => assert_eq!(trims.sent_pages, freed),
        // A page may be trimmed when it becomes invalid and again with its segment.
        Some(rule) if rule.unit == TrimUnit::Page => {
            assert!(trims.sent_pages <= 2 * freed + lower_capacity(below))
        }
        Some(_) => assert!(trims.sent_pages + trims.overtaken_pages + trims.unaligned_pages <= freed),
    }
    assert_eq!(lower.outgoing_total(Operation::Write), nand.programs);
    assert_eq!(lower.outgoing_total(Operation::Read), nand.reads);
    assert_eq!(lower.outgoing_total(Operation::Erase), nand.erases);
    if let (Some(above), Some(below)) = (upper.write_amplification(), lower.write_amplification()) {
        let whole = nand.programs as f64 / upper.incoming(Operation::Write) as f64;
        assert!((above * below - whole).abs() <= 1e-12 * whole, "{above} x {below} is not {whole}");
    }
}

fn lower_capacity(layer: &LayerReport) -> u64 {
    u64::from(layer.logical_pages)
}

/// Drives the stack; after each operation, compares every page with its newest version.
pub(super) fn drive<P: Stamp>(
    stack: &mut Stack<P>,
    ops: &[Op],
    segment_pages: u32,
    trim: Option<TrimRule>,
) -> Result<(), LayerError> {
    let all: Vec<Lpn> = (0..stack.logical_pages()).map(Lpn).collect();
    let mut shadow = vec![P::default(); all.len()];
    let mut version = 0;
    for op in ops {
        let pages = op.pages(stack.logical_pages());
        match op {
            Op::Trim(_) | Op::TrimAll => {
                stack.trim(&pages)?;
                pages.iter().for_each(|page| shadow[page.index()] = P::default());
            }
            Op::Read(_) => stack.read(&pages, &mut Vec::new())?,
            Op::Flush => stack.flush()?,
            _ => {
                let data: Vec<P> = (version + 1..).take(pages.len()).map(P::stamp).collect();
                stack.write(&pages, &data, op.hint())?;
                version += pages.len() as u64;
                pages.iter().zip(data).for_each(|(page, data)| shadow[page.index()] = data);
            }
        }
        let mut read = Vec::new();
        stack.read(&all, &mut read)?;
        assert_eq!(read, shadow, "contents through both layers");
        check_conservation(stack, segment_pages, trim);
    }
    Ok(())
}

prop_compose! {
    /// Draws an upper store with some segments, and a lower one with just enough pages and some spare blocks.
    fn setups()(
        (segments, segment_pages) in (7..=14u32, 1..=25u32),
        (pages_per_block, spare_blocks) in (1..=12u32, 0..4u32),
        load in 0.3..=1.0f64,
        victims in prop::array::uniform2(prop::sample::select(&["greedy", "d_choices", "fifo", "random", "completing"][..])),
        (double, waits) in any::<(bool, bool)>(),
        seed in any::<u64>(),
    ) -> (Setup, Setup) {
        let upper_streams = Streams::Mixing(3, false, false);
        let upper = Setup {
            blocks: segments,
            pages_per_block: segment_pages,
            logical_pages: ((f64::from((segments - 5) * segment_pages) * load) as u32).max(1),
            streams: upper_streams,
            reclaim: Reclaim::FreePool { low: 1, high: 2 },
            victim: victims[0],
            seed,
            ..Setup::default()
        };
        // A few pages after the last whole segment stay unused.
        let logical_pages = segments * segment_pages + segment_pages / 2;
        let streams = if double { Streams::Double } else { Streams::Single };
        // A store that defers cleaning for the log above needs a reserve of erased blocks.
        let (reclaim, pool) = if waits { (Reclaim::FreePool { low: 3, high: 4 }, 4) } else { (Reclaim::InPlace, 0) };
        let lower = Setup {
            blocks: logical_pages.div_ceil(pages_per_block) + streams.count() + spare_blocks + pool,
            reclaim,
            deferred_low: waits.then_some(1),
            pages_per_block,
            logical_pages,
            streams,
            victim: victims[1],
            seed: seed ^ 1,
            ..Setup::default()
        };
        (upper, lower)
    }
}

/// Draws no TRIM, plain TRIM, or rules that delay trims.
pub(super) fn trims() -> impl Strategy<Value = Option<TrimRule>> {
    let rule = (any::<bool>(), 0..60u64, 1..5u32, 1..9u32);
    let table = rule.prop_map(|(page, delay_pages, batch, align_pages)| {
        let unit = if page { TrimUnit::Page } else { TrimUnit::Segment };
        Some(TrimRule { unit, delay_pages, batch, align_pages })
    });
    prop_oneof![Just(None), Just(Some(TrimRule::default())), table]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(240))]

    #[test]
    fn no_page_is_lost_or_added_between_layers((upper, lower) in setups(), ops in ops(9), trim in trims()) {
        let pages = upper.pages_per_block;
        drive(&mut stack::<Bytes<8>>(&upper, &lower, trim), &ops, pages, trim).unwrap();
        drive(&mut stack::<()>(&upper, &lower, trim), &ops, pages, trim).unwrap();
    }
}

fn fixed_setups() -> (Setup, Setup) {
    let upper = Setup {
        blocks: 12,
        pages_per_block: 20,
        logical_pages: 140,
        streams: Streams::Double,
        reclaim: Reclaim::FreePool { low: 1, high: 3 },
        ..Setup::default()
    };
    let lower = Setup { blocks: 45, pages_per_block: 6, logical_pages: 240, ..Setup::default() };
    (upper, lower)
}

#[test]
fn trim_saves_work_in_the_lower_layer() {
    let (upper, lower) = fixed_setups();
    let ops = [Op::Sequence(0, 1000), Op::Burst(3, 30_000, true)];
    let page = TrimRule { unit: TrimUnit::Page, ..TrimRule::default() };
    let programs = [Some(page), Some(TrimRule::default()), None].map(|trim| {
        let mut stack = stack::<()>(&upper, &lower, trim);
        drive(&mut stack, &ops, 20, trim).unwrap();
        assert!(reports(&stack).layers[1].counters.write_amplification().unwrap() >= 1.0);
        reports(&stack).nand.unwrap().programs
    });
    assert!(programs.is_sorted() && programs[1] < programs[2], "pages, segments, no TRIM: {programs:?}");
}

#[test]
fn end_of_life_is_reported_through_the_upper_layer() {
    let (upper, lower) = fixed_setups();
    let wear = Wear { endurance_cycles: Some(5), ..Wear::default() };
    let mut stack = stack::<Bytes<8>>(&upper, &Setup { wear, ..lower }, Some(TrimRule::default()));
    let error =
        drive(&mut stack, &vec![Op::Burst(3, 1000, false); 1000], 20, Some(TrimRule::default())).unwrap_err();
    let LayerError::Medium(MediumError::Lower(below)) = &error else { panic!("{error:?}") };
    assert!(matches!(**below, LayerError::EndOfLife { .. }), "{below:?}");
    assert!(error.to_string().contains("end of life"), "{error}");
    let layers = reports(&stack).layers;
    let sent = layers[0].counters.outgoing_total(Operation::Write);
    assert_eq!(sent, layers[1].counters.incoming(Operation::Write), "the last write was accepted in part");
    stack.check().unwrap();
}

/// Figure 3 of "Don't stack your log on my log" (Yang et al., INFLOW 2014). Deleting an upper segment that spans two
/// lower segments leaves half of each lower segment valid. Deleting an aligned segment leaves no valid pages.
#[test]
fn deleting_one_upper_segment_leaves_two_lower_ones_half_valid() {
    for (offset, blocks_hit, left) in [(0u32, 1, 0), (4, 2, 4)] {
        let setup = Setup { blocks: 12, pages_per_block: 8, logical_pages: 64, ..Setup::default() };
        let mut lower = setup.engine::<()>();
        let pages: Vec<Lpn> = (0..64).map(Lpn).collect();
        lower.write(&pages, wearwell_engine::layer::no_data(64), 0).unwrap();
        // The upper log's third segment, of eight pages, begins `offset` pages into a lower block.
        let segment: Vec<Lpn> = (16 + offset..24 + offset).map(Lpn).collect();
        let blocks: Vec<_> = segment.iter().map(|page| lower.directory().block_of(*page).unwrap()).collect();
        lower.trim(&segment).unwrap();
        let scatter = reports(&lower).layers[0].scatter;
        assert_eq!((scatter.ranges, scatter.blocks), (1, blocks_hit));
        assert_eq!(lower.blocks().valid_pages(blocks[0]), left);
        assert_eq!(lower.blocks().valid_pages(blocks[7]), left);
    }
}
