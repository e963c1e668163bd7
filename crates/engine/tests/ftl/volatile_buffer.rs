//! A faulty drive that acknowledges the last page before the page is on flash.

use crate::power::harness::Chips;
use wearwell_base::config::ConfigError;
use wearwell_base::units::Lpn;
use wearwell_engine::ftl::Restart;
use wearwell_engine::layer::{
    Abilities, Answer, Command, ContentId, Layer, LayerError, Query, RecoveryReport, Reports,
};
use wearwell_engine::log::MigrationPolicy;
use wearwell_engine::nand::{StoredFlash, StoredFlashError};

/// An FTL behind a buffer of one page, which is lost in a power cut.
pub struct VolatileBufferFtl<F> {
    ftl: F,
    buffered: Option<(Lpn, ContentId)>,
}

impl<F: Restart<Flash = Chips>> VolatileBufferFtl<F> {
    pub fn new(ftl: F) -> Self {
        VolatileBufferFtl { ftl, buffered: None }
    }

    fn write_buffered(&mut self) -> Result<(), LayerError> {
        match self.buffered.take() {
            Some((page, data)) => self.ftl.write(&[page], &[data], 0),
            None => Ok(()),
        }
    }
}

impl<F: Restart<Flash = Chips>> Layer<ContentId> for VolatileBufferFtl<F> {
    fn logical_pages(&self) -> u32 {
        self.ftl.logical_pages()
    }

    fn write(&mut self, pages: &[Lpn], data: &[ContentId], hint: u16) -> Result<(), LayerError> {
        self.write_buffered()?;
        let last = pages.len() - 1;
        self.ftl.write(&pages[..last], &data[..last], hint)?;
        self.buffered = Some((pages[last], data[last]));
        Ok(())
    }

    fn read(&mut self, pages: &[Lpn], out: &mut Vec<ContentId>) -> Result<(), LayerError> {
        self.write_buffered()?;
        self.ftl.read(pages, out)
    }

    fn trim(&mut self, pages: &[Lpn]) -> Result<(), LayerError> {
        self.write_buffered()?;
        self.ftl.trim(pages)
    }

    fn flush(&mut self) -> Result<(), LayerError> {
        self.write_buffered()?;
        self.ftl.flush()
    }

    fn abilities(&self) -> Abilities {
        self.ftl.abilities()
    }

    fn query(&self, query: Query<'_>) -> Answer {
        self.ftl.query(query)
    }

    fn command(&mut self, command: Command<'_, ContentId>) -> Result<Answer, LayerError> {
        self.write_buffered()?;
        self.ftl.command(command)
    }

    fn describe(&self, reports: &mut Reports) {
        self.ftl.describe(reports);
    }

    fn written_pages(&self) -> u64 {
        self.ftl.written_pages()
    }

    fn final_draw(&mut self) -> u64 {
        self.ftl.final_draw()
    }

    fn check(&self) -> Result<(), String> {
        self.ftl.check()
    }
}

impl<F: Restart<Flash = Chips>> Restart for VolatileBufferFtl<F> {
    type Flash = Chips;
    type SurvivingFlash = F::SurvivingFlash;
    type Settings = F::Settings;

    const DURABLE_TRIMS: bool = F::DURABLE_TRIMS;
    const READS_ALL_SPARE_AREAS: bool = F::READS_ALL_SPARE_AREAS;

    fn into_flash(self) -> F::SurvivingFlash {
        self.ftl.into_flash()
    }

    fn restart(
        settings: &F::Settings,
        surviving: F::SurvivingFlash,
    ) -> Result<(Self, RecoveryReport), (LayerError, F::SurvivingFlash)> {
        F::restart(settings, surviving).map(|(ftl, report)| (VolatileBufferFtl::new(ftl), report))
    }

    fn restart_unsaved(
        settings: &F::Settings,
        surviving: F::SurvivingFlash,
    ) -> Result<(Self, RecoveryReport), (LayerError, F::SurvivingFlash)> {
        Self::restart(settings, surviving)
    }

    fn decode_flash(
        settings: &F::Settings,
        flash: Chips,
        stored: &mut dyn StoredFlash,
    ) -> Result<F::SurvivingFlash, StoredFlashError> {
        F::decode_flash(settings, flash, stored)
    }

    fn save(&mut self) -> Result<(), LayerError> {
        self.ftl.save()
    }

    fn has_battery(&self) -> bool {
        self.ftl.has_battery()
    }

    fn has_volatile_writes(&self) -> bool {
        self.ftl.has_volatile_writes()
    }

    fn flash_mut(&mut self) -> &mut Chips {
        self.ftl.flash_mut()
    }

    fn set_migration_policy(
        &mut self,
        migration: Box<dyn MigrationPolicy<ContentId>>,
    ) -> Result<(), ConfigError> {
        self.ftl.set_migration_policy(migration)
    }
}
