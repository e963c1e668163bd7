//! A faulty drive that acknowledges the last page before the page is on flash.

use crate::power::harness::Chips;
use wearwell_base::config::ConfigError;
use wearwell_base::units::Lpn;
use wearwell_engine::ftl::Restart;
use wearwell_engine::layer::{
    Abilities, Answer, Command, Content, Layer, LayerError, Query, RecoveryReport, Reports,
};
use wearwell_engine::log::Migration;
use wearwell_engine::nand::{KeptError, KeptFlash};

/// An FTL behind a buffer of one page, which is lost in a power cut.
pub struct Forgetful<F> {
    ftl: F,
    last: Option<(Lpn, Content)>,
}

impl<F: Restart<Flash = Chips>> Forgetful<F> {
    pub fn new(ftl: F) -> Self {
        Forgetful { ftl, last: None }
    }

    fn write_last(&mut self) -> Result<(), LayerError> {
        match self.last.take() {
            Some((page, data)) => self.ftl.write(&[page], &[data], 0),
            None => Ok(()),
        }
    }
}

impl<F: Restart<Flash = Chips>> Layer<Content> for Forgetful<F> {
    fn logical_pages(&self) -> u32 {
        self.ftl.logical_pages()
    }

    fn write(&mut self, pages: &[Lpn], data: &[Content], hint: u16) -> Result<(), LayerError> {
        self.write_last()?;
        let last = pages.len() - 1;
        self.ftl.write(&pages[..last], &data[..last], hint)?;
        self.last = Some((pages[last], data[last]));
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

impl<F: Restart<Flash = Chips>> Restart for Forgetful<F> {
    type Flash = Chips;
    type Remains = F::Remains;
    type Settings = F::Settings;

    const DURABLE_TRIMS: bool = F::DURABLE_TRIMS;
    const READS_ALL_SPARE_AREAS: bool = F::READS_ALL_SPARE_AREAS;

    fn into_flash(self) -> F::Remains {
        self.ftl.into_flash()
    }

    fn restart(
        settings: &F::Settings,
        remains: F::Remains,
    ) -> Result<(Self, RecoveryReport), (LayerError, F::Remains)> {
        F::restart(settings, remains).map(|(ftl, report)| (Forgetful::new(ftl), report))
    }

    fn restart_unsaved(
        settings: &F::Settings,
        remains: F::Remains,
    ) -> Result<(Self, RecoveryReport), (LayerError, F::Remains)> {
        Self::restart(settings, remains)
    }

    fn reread(
        settings: &F::Settings,
        flash: Chips,
        kept: &mut dyn KeptFlash,
    ) -> Result<F::Remains, KeptError> {
        F::reread(settings, flash, kept)
    }

    fn save(&mut self) -> Result<(), LayerError> {
        self.ftl.save()
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
