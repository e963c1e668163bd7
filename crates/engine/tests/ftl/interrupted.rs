//! Cuts in the middle of the work find drives that lie, and name the case so that it can be repeated.

use wearwell_base::config::ConfigError;
use wearwell_base::seed::{Seed, below};
use wearwell_base::units::Lpn;
use wearwell_engine::ftl::hybrid::{Hybrid, HybridConfig, HybridKind, HybridSettings};
use wearwell_engine::ftl::{CutSettings, Cuts, Interrupted, Restart, parse_cuts};
use wearwell_engine::layer::{
    Abilities, Answer, Command, Content, Layer, LayerError, Query, RecoveryReport, Reports, no_data,
};
use wearwell_engine::log::Migration;
use wearwell_engine::nand::{Fragile, Geometry, KeptError, KeptFlash, Nand, Supply, Wear};
use wearwell_engine::pool::Remains;
use wearwell_engine::timing::Journal;

type Chips = Fragile<Nand<Content>>;

const BLOCKS: u32 = 30;
const LOGICAL_PAGES: u32 = 80;

/// An FTL behind a buffer of one page that a power cut empties, if it lies; otherwise the FTL alone.
struct Buffered<const LIES: bool> {
    ftl: Hybrid<Chips>,
    last: Option<(Lpn, Content)>,
}

impl<const LIES: bool> Buffered<LIES> {
    fn write_last(&mut self) -> Result<(), LayerError> {
        match self.last.take() {
            Some((page, data)) => self.ftl.write(&[page], &[data], 0),
            None => Ok(()),
        }
    }
}

impl<const LIES: bool> Layer<Content> for Buffered<LIES> {
    fn logical_pages(&self) -> u32 {
        self.ftl.logical_pages()
    }

    fn write(&mut self, pages: &[Lpn], data: &[Content], hint: u16) -> Result<(), LayerError> {
        if !LIES {
            return self.ftl.write(pages, data, hint);
        }
        for (&page, &data) in pages.iter().zip(data) {
            self.write_last()?;
            self.last = Some((page, data));
        }
        Ok(())
    }

    fn read(&mut self, pages: &[Lpn], out: &mut Vec<Content>) -> Result<(), LayerError> {
        self.write_last()?;
        self.ftl.read(pages, out)
    }

    fn trim(&mut self, pages: &[Lpn]) -> Result<(), LayerError> {
        self.write_last()?;
        self.ftl.trim(pages)
    }

    fn flush(&mut self) -> Result<(), LayerError> {
        self.write_last()?;
        self.ftl.flush()
    }

    fn abilities(&self) -> Abilities {
        self.ftl.abilities()
    }

    fn query(&self, query: Query<'_>) -> Answer {
        self.ftl.query(query)
    }

    fn command(&mut self, command: Command<'_, Content>) -> Result<Answer, LayerError> {
        self.write_last()?;
        self.ftl.command(command)
    }

    fn describe(&self, reports: &mut Reports) {
        self.ftl.describe(reports);
    }

    fn final_draw(&mut self) -> u64 {
        self.ftl.final_draw()
    }

    fn check(&self) -> Result<(), String> {
        self.ftl.check()
    }
}

impl<const LIES: bool> Restart for Buffered<LIES> {
    type Flash = Chips;
    type Remains = Remains<Chips>;
    type Settings = HybridSettings;

    const DURABLE_TRIMS: bool = false;
    const READS_ALL_SPARE_AREAS: bool = false;

    fn into_flash(self) -> Remains<Chips> {
        self.ftl.into_flash()
    }

    fn restart(
        settings: &HybridSettings,
        remains: Remains<Chips>,
    ) -> Result<(Self, RecoveryReport), (LayerError, Remains<Chips>)> {
        Hybrid::restart(settings, remains).map(|(ftl, report)| (Buffered { ftl, last: None }, report))
    }

    fn restart_unsaved(
        settings: &HybridSettings,
        remains: Remains<Chips>,
    ) -> Result<(Self, RecoveryReport), (LayerError, Remains<Chips>)> {
        Self::restart(settings, remains)
    }

    fn reread(
        settings: &HybridSettings,
        flash: Chips,
        kept: &mut dyn KeptFlash,
    ) -> Result<Remains<Chips>, KeptError> {
        Hybrid::reread(settings, flash, kept)
    }

    fn save(&mut self) -> Result<(), LayerError> {
        Ok(())
    }

    fn has_battery(&self) -> bool {
        self.ftl.has_battery()
    }

    fn owes(&self) -> bool {
        self.ftl.owes()
    }

    fn flash_mut(&mut self) -> &mut Chips {
        self.ftl.flash_mut()
    }

    fn ask(&mut self, migration: Box<dyn Migration<Content>>) -> Result<(), ConfigError> {
        self.ftl.ask(migration)
    }
}

/// A history of random writes and trims under these cuts: the cuts that there were, or what went wrong.
fn history<const LIES: bool>(cuts: Cuts) -> Result<u64, LayerError> {
    use wearwell_engine::ftl::PowerCycle;
    let supply = Supply::new(false);
    let nand = Nand::new(Geometry::flat(BLOCKS, 4, 4096), Wear::default(), Seed(1)).with_spare_area();
    let config = HybridConfig { kind: HybridKind::Fast, log_blocks: 4, logical_pages: LOGICAL_PAGES };
    let ftl = Hybrid::new(config, Fragile::new(nand, supply.clone())).unwrap();
    let cut = CutSettings { cuts, recovery_cut_probability: 0.3, cut_again_probability: 0.0, seed: Seed(2) };
    let mut drive = Interrupted::<_, ()>::new(
        Buffered::<LIES> { ftl, last: None },
        config.into(),
        supply,
        cut,
        Journal::paused(),
    );
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

#[test]
fn an_honest_drive_loses_nothing() {
    assert!(history::<false>(Cuts::Every(23)).unwrap() > 20);
    assert!(history::<false>(Cuts::Random(40)).unwrap() > 10);
    let ahead = history::<false>(Cuts::At(parse_cuts("10,11t,12,400t").unwrap())).unwrap();
    assert!((1..=4).contains(&ahead), "{ahead}");
}

#[test]
fn a_drive_that_forgets_is_found_and_the_case_repeats() {
    let found = history::<true>(Cuts::Every(23)).unwrap_err();
    let LayerError::Violated(violation) = &found else { panic!("{found}") };
    assert!(violation.problem.contains("reads"), "{found}");
    let cuts = parse_cuts(&violation.case).expect("a case that can be repeated");
    let again = history::<true>(Cuts::At(cuts)).unwrap_err();
    let LayerError::Violated(repeated) = &again else { panic!("{again}") };
    assert!(repeated.problem.contains("reads"), "{again}");
}
