//! Power cuts in the middle of operations detect faulty drives, and name the case so that it can be repeated.

use crate::power::harness::Chips;
use crate::volatile_buffer::VolatileBufferFtl;
use wearwell_base::seed::{Seed, random_below};
use wearwell_base::units::Lpn;
use wearwell_engine::ftl::hybrid::{HybridConfig, HybridFtl, HybridKind, HybridSettings};
use wearwell_engine::ftl::{CutSettings, CutTimes, PowerCutFtl, PowerCycle, Restart, parse_cuts};
use wearwell_engine::layer::{ContentId, Layer, LayerError, no_data};
use wearwell_engine::nand::{Geometry, Nand, PowerCutFlash, PowerSource, Wear};
use wearwell_engine::timing::Journal;

const BLOCKS: u32 = 30;
const LOGICAL_PAGES: u32 = 80;

/// Runs random writes and trims, with these cuts, on the drive that `make_drive` derives from an FTL. Returns the
/// number of cuts, or the error.
fn run_with_cuts<F>(make_drive: fn(HybridFtl<Chips>) -> F, cuts: CutTimes) -> Result<u64, LayerError>
where
    F: Layer<ContentId> + Restart<Flash = Chips, Settings = HybridSettings>,
{
    let power = PowerSource::new(false);
    let nand = Nand::new(Geometry::flat(BLOCKS, 4, 4096), Wear::default(), Seed(1)).with_spare_area();
    let config = HybridConfig { kind: HybridKind::Fast, log_blocks: 4, logical_pages: LOGICAL_PAGES };
    let ftl = HybridFtl::new(config, PowerCutFlash::new(nand, power.clone())).unwrap();
    let cut = CutSettings { cuts, recovery_cut_probability: 0.3, cut_again_probability: 0.0, seed: Seed(2) };
    let mut drive = PowerCutFtl::<_, ()>::new(make_drive(ftl), config.into(), power, cut, Journal::paused());
    let mut random = Seed(3).random();
    drive.begin_measurement(500);
    for step in 0..500 {
        let page = Lpn(random_below(&mut random, u64::from(LOGICAL_PAGES)) as u32);
        match step % 10 {
            9 => drive.trim(&[page])?,
            8 => drive.read(&[page], &mut Vec::new())?,
            _ => drive.write(&[page], no_data(1), 0)?,
        }
    }
    drive.check().unwrap();
    let outages = drive.outages().unwrap();
    assert_eq!(outages.recoveries.len() as u64, outages.cuts);
    assert_eq!(outages.pages_verified, outages.cuts * u64::from(LOGICAL_PAGES));
    Ok(outages.cuts)
}

fn unmodified(ftl: HybridFtl<Chips>) -> HybridFtl<Chips> {
    ftl
}

#[test]
fn correct_drive_loses_nothing() {
    assert!(run_with_cuts(unmodified, CutTimes::Every(23)).unwrap() > 20);
    assert!(run_with_cuts(unmodified, CutTimes::Random(40)).unwrap() > 10);
    let cuts = run_with_cuts(unmodified, CutTimes::At(parse_cuts("10,11t,12,400t").unwrap())).unwrap();
    assert!((1..=4).contains(&cuts), "{cuts}");
}

#[test]
fn data_loss_is_detected_and_its_case_is_reproducible() {
    let error = run_with_cuts(VolatileBufferFtl::new, CutTimes::Every(23)).unwrap_err();
    let LayerError::GuaranteeViolated(violation) = &error else { panic!("{error}") };
    assert!(violation.problem.contains("reads"), "{error}");
    let cuts = parse_cuts(&violation.case).expect("a case that can be repeated");
    let second_error = run_with_cuts(VolatileBufferFtl::new, CutTimes::At(cuts)).unwrap_err();
    let LayerError::GuaranteeViolated(repeated) = &second_error else { panic!("{second_error}") };
    assert!(repeated.problem.contains("reads"), "{second_error}");
}
