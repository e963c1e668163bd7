//! A log on an FTL: what leaves the upper layer enters the lower one, and data survives both cleanings.

use crate::naive::cases::{Op, ops};
use crate::naive::observe::reports;
use crate::naive::rig::{Engine, Setup, Stamp, Streams};
use proptest::prelude::*;
use wearwell_core::counters::Operation;
use wearwell_core::layer::{Bytes, Layer, LayerError, MediumError};
use wearwell_core::log::{BoxedLayer, Reclaim, Segments};
use wearwell_core::nand::Wear;
use wearwell_core::units::Lpn;

type Stack<P> = Engine<Segments<P>>;

/// The upper store's blocks are the segments cut from the lower one's pages.
fn stack<P: Stamp>(upper: &Setup, lower: &Setup, trim: bool) -> Stack<P> {
    let lower: BoxedLayer<P> = Box::new(lower.engine::<P>());
    upper.engine_on(Segments::new(lower, upper.pages_per_block, trim.then(TrimRule::default))).expect("an upper store that fits")
}

fn conserved<P: Stamp>(stack: &Stack<P>, segment_pages: u32, trim: bool) {
    stack.check().unwrap();
    let reports = reports(stack);
    let [upper, lower] = &reports.layers[..] else { panic!("two layers") };
    let (upper, lower) = (&upper.counters, &lower.counters);
    let nand = reports.nand.as_ref().expect("flash at the bottom");
    for operation in [Operation::Write, Operation::Read] {
        assert_eq!(upper.outgoing_total(operation), lower.incoming(operation), "{operation:?}");
    }
    assert_eq!(upper.incoming(Operation::Flush), lower.incoming(Operation::Flush));
    let freed = upper.outgoing_total(Operation::Erase) * u64::from(segment_pages);
    assert_eq!(lower.incoming(Operation::Trim), if trim { freed } else { 0 });
    assert_eq!(lower.outgoing_total(Operation::Write), nand.programs);
    assert_eq!(lower.outgoing_total(Operation::Read), nand.reads);
    assert_eq!(lower.outgoing_total(Operation::Erase), nand.erases);
    if let (Some(above), Some(below)) = (upper.write_amplification(), lower.write_amplification()) {
        let whole = nand.programs as f64 / upper.incoming(Operation::Write) as f64;
        assert!((above * below - whole).abs() <= 1e-12 * whole, "{above} x {below} is not {whole}");
    }
}

/// Drives the stack, checking after each operation against the newest version of every page.
fn drive<P: Stamp>(
    stack: &mut Stack<P>,
    ops: &[Op],
    segment_pages: u32,
    trim: bool,
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
        conserved(stack, segment_pages, trim);
    }
    Ok(())
}

prop_compose! {
    /// An upper store of some segments and a lower one with just the pages it takes and some spare blocks.
    fn setups()(
        (segments, segment_pages) in (7..=14u32, 1..=25u32),
        (pages_per_block, spare_blocks) in (1..=12u32, 0..4u32),
        load in 0.3..=1.0f64,
        victims in prop::array::uniform2(prop::sample::select(&["greedy", "d_choices", "fifo", "random"][..])),
        double in any::<bool>(),
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
        // A few pages beyond the last whole segment stay unused.
        let logical_pages = segments * segment_pages + segment_pages / 2;
        let streams = if double { Streams::Double } else { Streams::Single };
        let lower = Setup {
            blocks: logical_pages.div_ceil(pages_per_block) + streams.count() + spare_blocks,
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(240))]

    #[test]
    fn nothing_is_lost_or_gained_between_layers((upper, lower) in setups(), ops in ops(9), trim: bool) {
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
fn trim_spares_the_lower_layer_work() {
    let (upper, lower) = fixed_setups();
    let ops = [Op::Sequence(0, 1000), Op::Burst(3, 30_000, true)];
    let programs = [true, false].map(|trim| {
        let mut stack = stack::<()>(&upper, &lower, trim);
        drive(&mut stack, &ops, 20, trim).unwrap();
        assert!(reports(&stack).layers[1].counters.write_amplification().unwrap() >= 1.0);
        reports(&stack).nand.unwrap().programs
    });
    assert!(programs[0] < programs[1], "with TRIM {} programs, without {}", programs[0], programs[1]);
}

#[test]
fn the_end_of_the_flash_is_reported_through_the_upper_layer() {
    let (upper, lower) = fixed_setups();
    let wear = Wear { endurance_cycles: Some(5), ..Wear::default() };
    let mut stack = stack::<Bytes<8>>(&upper, &Setup { wear, ..lower }, true);
    let error = drive(&mut stack, &vec![Op::Burst(3, 1000, false); 1000], 20, true).unwrap_err();
    let LayerError::Medium(MediumError::Lower(below)) = &error else { panic!("{error:?}") };
    assert!(matches!(**below, LayerError::EndOfLife { .. }), "{below:?}");
    assert!(error.to_string().contains("end of life"), "{error}");
}
