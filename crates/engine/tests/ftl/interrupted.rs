//! Power cuts in the middle of operations detect faulty drives, and name the case so that it can be repeated.

use crate::forgetful::Forgetful;
use crate::power::harness::Chips;
use wearwell_base::seed::{Seed, below};
use wearwell_base::units::Lpn;
use wearwell_engine::ftl::hybrid::{Hybrid, HybridConfig, HybridKind, HybridSettings};
use wearwell_engine::ftl::{CutSettings, Cuts, Interrupted, PowerCycle, Restart, parse_cuts};
use wearwell_engine::layer::{Content, Layer, LayerError, no_data};
use wearwell_engine::nand::{Fragile, Geometry, Nand, Supply, Wear};
use wearwell_engine::timing::Journal;

const BLOCKS: u32 = 30;
const LOGICAL_PAGES: u32 = 80;

/// Runs random writes and trims, with these cuts, on the drive that `made` derives from an FTL. Returns the number of
/// cuts, or the error.
fn history<F>(made: fn(Hybrid<Chips>) -> F, cuts: Cuts) -> Result<u64, LayerError>
where
    F: Layer<Content> + Restart<Flash = Chips, Settings = HybridSettings>,
{
    let supply = Supply::new(false);
    let nand = Nand::new(Geometry::flat(BLOCKS, 4, 4096), Wear::default(), Seed(1)).with_spare_area();
    let config = HybridConfig { kind: HybridKind::Fast, log_blocks: 4, logical_pages: LOGICAL_PAGES };
    let ftl = Hybrid::new(config, Fragile::new(nand, supply.clone())).unwrap();
    let cut = CutSettings { cuts, recovery_cut_probability: 0.3, cut_again_probability: 0.0, seed: Seed(2) };
    let mut drive = Interrupted::<_, ()>::new(made(ftl), config.into(), supply, cut, Journal::paused());
    let mut random = Seed(3).random();
    drive.begin(500);
    for step in 0..500 {
        let page = Lpn(below(&mut random, u64::from(LOGICAL_PAGES)) as u32);
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

fn honest(ftl: Hybrid<Chips>) -> Hybrid<Chips> {
    ftl
}

#[test]
fn correct_drive_loses_nothing() {
    assert!(history(honest, Cuts::Every(23)).unwrap() > 20);
    assert!(history(honest, Cuts::Random(40)).unwrap() > 10);
    let ahead = history(honest, Cuts::At(parse_cuts("10,11t,12,400t").unwrap())).unwrap();
    assert!((1..=4).contains(&ahead), "{ahead}");
}

#[test]
fn drive_that_loses_pages_is_detected_and_the_case_repeats() {
    let found = history(Forgetful::new, Cuts::Every(23)).unwrap_err();
    let LayerError::Violated(violation) = &found else { panic!("{found}") };
    assert!(violation.problem.contains("reads"), "{found}");
    let cuts = parse_cuts(&violation.case).expect("a case that can be repeated");
    let again = history(Forgetful::new, Cuts::At(cuts)).unwrap_err();
    let LayerError::Violated(repeated) = &again else { panic!("{again}") };
    assert!(repeated.problem.contains("reads"), "{again}");
}
