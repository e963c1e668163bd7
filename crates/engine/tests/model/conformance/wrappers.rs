//! A wrapper behaves like the wrapped layer, and gives the same answers.

use super::layers::{
    OBJECTS, PAGES, TRIM_LOG, boxed_ftl, cycled, dedup, interrupted, page_config, second_half,
};
use super::{Stamp, command_result, query_of, random_pages, random_run};
use wearwell_base::seed::{Random, Seed, random_below};
use wearwell_base::units::Lpn;
use wearwell_engine::checked::CheckedLayer;
use wearwell_engine::ftl::PowerCycle;
use wearwell_engine::layer::{
    Abilities, Ability, Answer, Command, ContentId, Layer, LayerExt, Query, Reports,
};
use wearwell_engine::log::{ArrivalObserver, BoxedLayer, ObjectLayer, PassThrough, SparseLayer};

/// A layer, and an equal one in a wrapper.
struct WrapperPair<W> {
    name: &'static str,
    bare: BoxedLayer<ContentId>,
    wrapped: Box<dyn Layer<W>>,
    /// Position of the wrapper's first page.
    first: u32,
    /// Abilities that the wrapper does not declare.
    missing_abilities: &'static [Ability],
    /// True if each write of the wrapper is an atomic group of the bare layer.
    writes_groups: bool,
    random: Random,
    writes: u64,
}

impl<W: Stamp> WrapperPair<W> {
    fn new(name: &'static str, seed: u64, wrapped: Box<dyn Layer<W>>) -> Self {
        let bare = boxed_ftl(seed);
        let random = Seed(seed).derive(name).random();
        WrapperPair {
            name,
            bare,
            wrapped,
            first: 0,
            missing_abilities: &[],
            writes_groups: false,
            random,
            writes: 0,
        }
    }

    fn without_abilities(mut self, missing_abilities: &'static [Ability]) -> Self {
        self.missing_abilities = missing_abilities;
        self
    }

    fn has(&self, ability: Ability) -> bool {
        !self.missing_abilities.contains(&ability)
    }

    fn bare_pages(&self, pages: &[Lpn]) -> Vec<Lpn> {
        pages.iter().map(|page| Lpn(self.first + page.0)).collect()
    }

    fn write(&mut self, is_group: bool) {
        let limit = if is_group { 8 } else { 5 };
        let pages = random_run(&mut self.random, self.wrapped.logical_pages(), limit);
        let numbers = || (self.writes + 1..).take(pages.len());
        let bare: Vec<ContentId> = numbers().map(ContentId::stamp).collect();
        let wrapped: Vec<W> = numbers().map(W::stamp).collect();
        self.writes += pages.len() as u64;
        let below = self.bare_pages(&pages);
        if is_group {
            self.bare.write_atomic(&below, &bare, 0).unwrap();
            self.wrapped.write_atomic(&pages, &wrapped, 0).unwrap();
        } else if self.writes_groups {
            self.bare.write_atomic(&below, &bare, 0).unwrap();
            self.wrapped.write(&pages, &wrapped, 0).unwrap();
        } else {
            self.bare.write(&below, &bare, 0).unwrap();
            self.write_wrapped(&pages, &wrapped);
        }
    }

    /// Writes a list of pages, or the equivalent run.
    fn write_wrapped(&mut self, pages: &[Lpn], data: &[W]) {
        match random_below(&mut self.random, 2) {
            0 if self.has(Ability::Runs) => {
                let run = Command::WriteRun { first: pages[0], data, hint: 0 };
                assert_eq!(self.wrapped.command(run), Ok(Answer::Nothing));
            }
            _ => self.wrapped.write(pages, data, 0).unwrap(),
        }
    }

    fn trim(&mut self) {
        let pages = random_run(&mut self.random, self.wrapped.logical_pages(), 10);
        self.bare.trim(&self.bare_pages(&pages)).unwrap();
        match random_below(&mut self.random, 2) {
            0 if self.has(Ability::Runs) => {
                let run = Command::TrimRun { first: pages[0], pages: pages.len() as u32 };
                assert_eq!(self.wrapped.command(run), Ok(Answer::Nothing));
            }
            _ => self.wrapped.trim(&pages).unwrap(),
        }
    }

    /// Sends a command to the wrapper and to the bare layer, and compares the answers. A command that the wrapper does
    /// not support is not sent to the bare layer.
    fn compare_command(&mut self, command: Command<'_, ContentId>) {
        let content_free = command.without_content().expect("only commands without content");
        let wrapped = command_result(&mut *self.wrapped, content_free);
        let bare = if self.has(command.ability()) {
            command_result(&mut *self.bare, command)
        } else {
            format!("{:?}", command.unsupported())
        };
        assert_eq!(bare, wrapped, "{}: {command:?}", self.name);
    }

    fn compare(&mut self) {
        let pages = random_pages(&mut self.random, self.wrapped.logical_pages(), 25);
        let below = self.bare_pages(&pages);
        for ability in Ability::ALL {
            let Some(query) = query_of(ability, &below) else { continue };
            let bare = if self.has(ability) { self.bare.query(query) } else { Answer::Nothing };
            assert_eq!(self.wrapped.query(query.with_pages(&pages)), bare, "{}: {query:?}", self.name);
        }
    }

    fn compare_reads(&mut self) {
        let pages = random_pages(&mut self.random, self.wrapped.logical_pages(), 25);
        let (mut bare, mut wrapped) = (Vec::new(), Vec::new());
        self.bare.read(&self.bare_pages(&pages), &mut bare).unwrap();
        self.wrapped.read(&pages, &mut wrapped).unwrap();
        let expected: Vec<W> = bare
            .iter()
            .map(|&ContentId(number)| if number == 0 { W::default() } else { W::stamp(number) })
            .collect();
        assert_eq!(expected, wrapped, "{}: {pages:?}", self.name);
    }

    fn check_abilities(&self) {
        let mut expected = self.bare.abilities();
        self.missing_abilities.iter().for_each(|&lacking| expected = expected.without(lacking));
        // A layer that writes groups executes its user's requests one by one.
        assert_eq!(
            self.wrapped.abilities(),
            expected.with(Ability::WholeRequests, self.writes_groups),
            "{}",
            self.name
        );
    }

    fn run(mut self) {
        self.check_abilities();
        self.compare_command(Command::CountMoves);
        if self.first == 0 {
            self.compare_command(Command::SetPartitions { ends: &[100, self.wrapped.logical_pages()] });
        }
        for _ in 0..1200 {
            match random_below(&mut self.random, 10) {
                0..5 => self.write(false),
                5 if self.has(Ability::AtomicGroups) => self.write(true),
                6 => self.trim(),
                7 => {
                    self.compare_command(Command::CleaningAbove { begins: true });
                    self.write(false);
                    self.compare();
                    self.compare_command(Command::CleaningAbove { begins: false });
                }
                8 => self.compare_command(Command::CleanWhileIdle),
                _ => self.compare_reads(),
            }
            self.compare();
        }
        self.check_abilities();
        self.wrapped.check().unwrap_or_else(|problem| panic!("{}: {problem}", self.name));
    }
}

/// Ensures that the wrapped layer has these abilities; otherwise, the tests below could not detect a wrapper that lacks
/// one.
#[test]
fn bare_layer_has_all_abilities_except_those_of_wrappers_and_zoned_drives() {
    let all = Abilities::of(&Ability::ALL.map(|ability| (ability, true)));
    assert_eq!(boxed_ftl(1).abilities(), all.without(Ability::WholeRequests).without(Ability::Zones));
}

#[test]
fn wrappers_pass_on_all_abilities_that_they_do_not_exclude() {
    for seed in 0..3 {
        let pass_through = Box::new(PassThrough::new(boxed_ftl(seed), PAGES));
        WrapperPair::new("pass-through", seed, pass_through).without_abilities(&[Ability::Runs]).run();
        WrapperPair::new("observed", seed, Box::new(ArrivalObserver::new(boxed_ftl(seed)))).run();
        WrapperPair::new("checked", seed, Box::new(CheckedLayer::new(boxed_ftl(seed)))).run();
        WrapperPair::new("switched", seed, Box::new(cycled(seed))).run();
        let objects = Box::new(ObjectLayer::new(boxed_ftl(seed), OBJECTS).unwrap());
        WrapperPair::new("objects", seed, objects).without_abilities(&[Ability::Runs]).run();
        let missing_abilities =
            &[Ability::AtomicGroups, Ability::Attribution, Ability::Prefetch, Ability::Runs];
        WrapperPair::new("deduplication", seed, dedup(seed, 0)).without_abilities(missing_abilities).run();
        WrapperPair::new("interrupted", seed, interrupted(seed, ""))
            .without_abilities(&[Ability::AtomicGroups, Ability::Runs])
            .run();
    }
}

/// The drive has no trim records, because a sparse address space writes its own, and they would lie between the
/// compared pages.
#[test]
fn sparse_address_space_writes_groups() {
    for seed in 0..3 {
        let sparse = SparseLayer::new(boxed_ftl(seed), TRIM_LOG).unwrap();
        let mut pair = WrapperPair::new("sparse", seed, Box::new(sparse));
        pair.writes_groups = true;
        pair.missing_abilities = &[Ability::Runs];
        pair.check_abilities();
        for _ in 0..600 {
            pair.write(false);
            pair.compare();
        }
        pair.compare_reads();
    }
}

#[test]
fn partition_passes_on_with_its_own_page_numbers() {
    for seed in 0..3 {
        let (shared, half) = second_half(seed);
        let mut pair =
            WrapperPair::new("partition", seed, Box::new(half)).without_abilities(&[Ability::Attribution]);
        pair.first = PAGES / 2;
        pair.bare.set_partitions(&[PAGES / 2, PAGES]);
        pair.run();
        shared.check().unwrap();
    }
}

#[test]
fn shared_page_is_invalidated_with_its_last_sharer() {
    let mut layer = dedup(1, 0);
    let all: Vec<Lpn> = (0..PAGES).map(Lpn).collect();
    let contents: Vec<ContentId> = (0..u64::from(PAGES)).map(|number| ContentId(1 + number / 2)).collect();
    layer.write(&all, &contents, 0).unwrap();
    let left_valid = |pages: &[Lpn]| match layer.query(Query::LeftValid(pages)) {
        Answer::LeftValid { valid_pages, block_pages: held_pages } => (valid_pages, held_pages),
        other => panic!("{other:?}"),
    };
    let (one, held) = left_valid(&[Lpn(6)]);
    assert_eq!(left_valid(&[Lpn(6), Lpn(7)]), (one - 1, held));
    // Trimming half of the pages leaves all slots in use; trimming all leaves none.
    let even: Vec<Lpn> = all.iter().copied().filter(|page| page.0 % 2 == 0).collect();
    assert_eq!(left_valid(&even).0, u64::from(PAGES) / 2);
    assert_eq!(left_valid(&all).0, 0);
}

/// Settings of an FTL and its counters survive a restart.
#[test]
fn power_cut_preserves_settings_and_counters() {
    let mut drive = cycled(5);
    let config = page_config(5);
    drive.count_moves();
    drive.set_partitions(&[PAGES / 2, PAGES]);
    drive.notify_cleaning_above(true);
    let mut random = Seed(9).random();
    let mut write = |drive: &mut dyn Layer<ContentId>, count: u32| {
        for number in 0..count {
            let page = Lpn(random_below(&mut random, u64::from(PAGES)) as u32);
            drive.write(&[page], &[ContentId(1 + u64::from(number))], 0).unwrap();
        }
    };
    let report = |drive: &dyn Layer<ContentId>| {
        let mut reports = Reports::default();
        drive.describe(&mut reports);
        reports.layers.swap_remove(0)
    };
    write(&mut drive, 3000);
    let before = report(&drive);
    assert!(before.deferrals > Some(0) && before.moved_again_pages > 0, "{config:?}");
    drive.cycle().unwrap();
    let after = report(&drive);
    assert_eq!((before.deferrals, before.moved_pages), (after.deferrals, after.moved_pages.clone()));
    assert_eq!(before.victim_valid_pages, after.victim_valid_pages);
    assert_eq!(before.counters.since(&after.counters), Default::default());
    // The log above ends and restarts cleaning, so that the pool refills in between and cleaning can be deferred.
    drive.notify_cleaning_above(false);
    write(&mut drive, 1000);
    drive.notify_cleaning_above(true);
    write(&mut drive, 1000);
    let later = report(&drive);
    let moved =
        |report: &wearwell_engine::layer::LayerReport| -> u64 { report.moved_pages.iter().flatten().sum() };
    assert!(later.deferrals > after.deferrals, "{:?}, {:?}", later.deferrals, after.deferrals);
    assert!(moved(&later) > moved(&after), "{:?}", later.moved_pages);
    assert!(!matches!(drive.query(Query::MovedPages(&[Lpn(0)])), Answer::Nothing));
    drive.check().unwrap();
    drive.notify_cleaning_above(false);
}
