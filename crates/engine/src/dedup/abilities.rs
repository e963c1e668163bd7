//! Abilities of the store below that deduplication preserves; the store's pages are slots.

use super::config::Detect;
use super::layer::Dedup;
use crate::layer::{
    Abilities, Ability, Answer, Command, ContentId, Layer, LayerError, LayerExt, Query, check_range,
};
use crate::units::Lpn;
use std::collections::BTreeMap;

impl<L: Layer<ContentId>> Dedup<L> {
    /// Returns the abilities of the store below except three. Attribution is missing because pages of several users may
    /// share a slot. Prefetching is missing because finding a page's slot is the very access that prefetching would
    /// save. Runs are missing because the slots of consecutive pages need not be consecutive.
    pub(super) fn own_abilities(&self) -> Abilities {
        let below = self.lower.abilities();
        let samples = self.sharing.lock().detect == Detect::Sample;
        below
            .without(Ability::Attribution)
            .without(Ability::Prefetch)
            .without(Ability::Runs)
            .without(Ability::AtomicGroups)
            .with(Ability::AtomicGroups, self.spare_slots > 0 && below.has(Ability::AtomicGroups))
            .with(Ability::WholeRequests, samples)
    }

    pub(super) fn answer(&self, query: Query<'_>) -> Answer {
        if !self.own_abilities().has(query.ability()) {
            return Answer::Nothing;
        }
        match query {
            Query::AtomicPages => Answer::Pages(self.longest_group().into()),
            Query::LeftValid(pages) => self.left_valid(pages),
            _ => {
                let tables = self.sharing.lock();
                let slots = query.pages().iter().filter_map(|&page| tables.slot_of(page));
                let slots: Vec<Lpn> = slots.map(Lpn).collect();
                drop(tables);
                self.lower.query(query.with_pages(&slots))
            }
        }
    }

    pub(super) fn execute(&mut self, command: Command<'_, ContentId>) -> Result<Answer, LayerError> {
        check_range(command.written_pages(), self.logical_pages)?;
        if !self.own_abilities().has(command.ability()) {
            return command.unsupported();
        }
        match command {
            Command::WriteAtomic { pages, data, hint } => {
                self.write_group(pages, data, hint).map(|()| Answer::Nothing)
            }
            Command::CleanWhileIdle => {
                let answer = self.lower.command(command)?;
                if answer == Answer::Done(true) {
                    self.perform_index_accesses()?;
                    self.read_pages_to_verify()?;
                    self.write_log(false)?;
                }
                Ok(answer)
            }
            other => self.lower.command(other),
        }
    }

    fn longest_group(&self) -> u32 {
        self.spare_slots.min(self.lower.atomic_pages())
    }

    fn write_group(&mut self, pages: &[Lpn], data: &[ContentId], hint: u16) -> Result<(), LayerError> {
        assert_eq!(pages.len(), data.len(), "content for every page");
        let longest = self.longest_group();
        if pages.len() > longest as usize {
            return Err(LayerError::NotAtomic { pages: pages.len() as u32, longest });
        }
        let (first, mode, other_mode) = self.lookup_modes(data);
        let planned = pages.iter().zip(data).enumerate().try_for_each(|(at, (&page, &content))| {
            self.plan(page, content, if at == first { mode } else { other_mode }, false)
        });
        self.store(planned, hint, true)
    }

    /// A slot becomes invalid only with the last page that shares it; slots that other pages share, too, count as valid
    /// in their blocks.
    fn left_valid(&self, pages: &[Lpn]) -> Answer {
        let tables = self.sharing.lock();
        let mut trimmed_references: BTreeMap<u32, u32> = BTreeMap::new();
        for slot in pages.iter().filter_map(|&page| tables.slot_of(page)) {
            *trimmed_references.entry(slot).or_default() += 1;
        }
        let survivors =
            trimmed_references.iter().filter(|&(&slot, &count)| tables.references(slot) > count).count()
                as u64;
        drop(tables);
        let slots: Vec<Lpn> = trimmed_references.into_keys().map(Lpn).collect();
        match self.lower.query(Query::LeftValid(&slots)) {
            Answer::LeftValid { valid_pages, block_pages: held_pages } => {
                Answer::LeftValid { valid_pages: valid_pages + survivors, block_pages: held_pages }
            }
            unknown => unknown,
        }
    }
}
