//! Conformance tests: every layer, medium and wrapper implements the whole contract, and a wrapper answers like the
//! wrapped object.
//!
//! The tables here are compared with the sources, so that no later addition can be missed.

mod layers;
mod media;
mod policies;
mod sources;
mod wrappers;

use wearwell_base::seed::{Random, Seed, below};
use wearwell_base::units::Lpn;
use wearwell_engine::checked::Checked;
use wearwell_engine::layer::{Ability, Answer, Command, Layer, LayerError, LayerExt, Payload, Query};
use wearwell_engine::log::BoxedLayer;

/// Content of a test page: the number of the write, or nothing.
trait Stamp: Payload {
    fn stamp(number: u64) -> Self;
}

impl Stamp for () {
    fn stamp(_number: u64) {}
}

impl Stamp for wearwell_engine::layer::Content {
    fn stamp(number: u64) -> Self {
        wearwell_engine::layer::Content(number)
    }
}

/// Returns the query that belongs to an ability, if any. Without a wildcard, so that a new ability must be added
/// here.
fn question(ability: Ability, pages: &[Lpn]) -> Option<Query<'_>> {
    match ability {
        Ability::AtomicGroups => Some(Query::AtomicPages),
        Ability::MoveCounts => Some(Query::MovedPages(pages)),
        Ability::LeftValid => Some(Query::LeftValid(pages)),
        Ability::LookAhead => Some(Query::Foresee { pages, near: true }),
        Ability::Zones => Some(Query::Zone(pages)),
        Ability::Requests
        | Ability::Attribution
        | Ability::Deferral
        | Ability::IdleCleaning
        | Ability::Runs => None,
    }
}

/// Returns different pages of a layer, at most `most`.
fn some_pages(random: &mut Random, pages: u32, most: u32) -> Vec<Lpn> {
    let count = below(random, u64::from(most)) as usize;
    let mut list: Vec<Lpn> = (0..count).map(|_| Lpn(below(random, u64::from(pages)) as u32)).collect();
    list.sort_unstable();
    list.dedup();
    list
}

/// Returns consecutive pages of a layer, at least one.
fn a_run(random: &mut Random, pages: u32, most: u32) -> Vec<Lpn> {
    let first = below(random, u64::from(pages)) as u32;
    let count = 1 + below(random, u64::from(most.min(pages - first))) as u32;
    (first..first + count).map(Lpn).collect()
}

/// Random operations on a layer whose contract is checked, with its expected contents.
struct Drive<P> {
    layer: Checked<P>,
    name: &'static str,
    holds: Vec<P>,
    random: Random,
    writes: u64,
    /// Number of different contents written.
    contents: u64,
    /// Pages per zone, if pages must be written in zone order and trimmed by zones.
    zone_pages: Option<u32>,
}

impl<P: Stamp> Drive<P> {
    fn new(name: &'static str, layer: BoxedLayer<P>, contents: u64, seed: u64) -> Self {
        let pages = layer.logical_pages() as usize;
        let random = Seed(seed).of(name).random();
        let layer = Checked::new(layer);
        Drive { layer, name, holds: vec![P::default(); pages], random, writes: 0, contents, zone_pages: None }
    }

    fn pages(&self) -> u32 {
        self.holds.len() as u32
    }

    fn contents_of(&mut self, pages: &[Lpn]) -> Vec<P> {
        let numbers = self.writes + 1..=self.writes + pages.len() as u64;
        self.writes += pages.len() as u64;
        numbers.map(|number| P::stamp(1 + number % self.contents)).collect()
    }

    fn note(&mut self, pages: &[Lpn], data: &[P]) {
        pages.iter().zip(data).for_each(|(page, &data)| self.holds[page.index()] = data);
    }

    /// Returns pages that may be written now.
    fn next_to_write(&mut self) -> Vec<Lpn> {
        let Some(zone_pages) = self.zone_pages else {
            return a_run(&mut self.random, self.holds.len() as u32, 6);
        };
        // Zones are written in turn, and each is reset before it is rewritten.
        let at = self.writes as u32 % self.pages();
        let left = zone_pages - at % zone_pages;
        if left == zone_pages {
            let zone: Vec<Lpn> = (at..at + zone_pages).map(Lpn).collect();
            self.layer.trim(&zone).unwrap();
            zone.iter().for_each(|page| self.holds[page.index()] = P::default());
        }
        (at..at + 1 + below(&mut self.random, u64::from(left.min(6))) as u32).map(Lpn).collect()
    }

    fn write(&mut self) {
        let pages = self.next_to_write();
        let data = self.contents_of(&pages);
        let hint = below(&mut self.random, 3) as u16;
        let by_run = self.layer.abilities().has(Ability::Runs) && below(&mut self.random, 2) == 0;
        if by_run {
            self.layer.command(Command::WriteRun { first: pages[0], data: &data, hint }).unwrap();
        } else {
            self.layer.write(&pages, &data, hint).unwrap();
        }
        self.note(&pages, &data);
    }

    fn write_group(&mut self) {
        if self.zone_pages.is_some() {
            return;
        }
        let longest = self.layer.atomic_pages();
        let pages = a_run(&mut self.random, self.holds.len() as u32, longest.max(1));
        let data = self.contents_of(&pages);
        let done = self.layer.write_atomic(&pages, &data, 0);
        match longest {
            0 => assert!(matches!(done, Err(LayerError::NotAtomic { .. })), "{}: {done:?}", self.name),
            _ => {
                done.unwrap();
                self.note(&pages, &data);
            }
        }
    }

    fn read(&mut self) {
        let (mut found, pages) = (Vec::new(), some_pages(&mut self.random, self.holds.len() as u32, 20));
        self.layer.read(&pages, &mut found).unwrap();
        let held: Vec<P> = pages.iter().map(|page| self.holds[page.index()]).collect();
        assert_eq!(found, held, "{}: {pages:?}", self.name);
    }

    fn trim(&mut self) {
        if self.zone_pages.is_some() {
            return;
        }
        let pages = a_run(&mut self.random, self.holds.len() as u32, 12);
        if self.layer.abilities().has(Ability::Runs) && below(&mut self.random, 2) == 0 {
            self.layer.command(Command::TrimRun { first: pages[0], pages: pages.len() as u32 }).unwrap();
        } else {
            self.layer.trim(&pages).unwrap();
        }
        pages.iter().for_each(|page| self.holds[page.index()] = P::default());
    }

    /// Sends all queries; [`Checked`] verifies the answers.
    fn ask(&mut self) {
        let pages = some_pages(&mut self.random, self.holds.len() as u32, 30);
        for query in Ability::ALL.into_iter().filter_map(|ability| question(ability, &pages)) {
            self.layer.query(query);
        }
        let nothing = self.layer.query(Query::LeftValid(&[]));
        assert!(
            matches!(nothing, Answer::Nothing | Answer::Left { valid_pages: 0, held_pages: 0 }),
            "{}",
            self.name
        );
    }

    /// Checks that requests out of range are refused without effect.
    fn refuse(&mut self) {
        let outside = [Lpn(0), Lpn(self.pages())];
        let is_refusal = |done: Result<(), LayerError>| matches!(done, Err(LayerError::OutOfRange { .. }));
        let data = [P::stamp(1); 2];
        assert!(is_refusal(self.layer.write(&outside, &data, 0)), "{}", self.name);
        assert!(is_refusal(self.layer.read(&outside, &mut Vec::new())), "{}", self.name);
        assert!(is_refusal(self.layer.trim(&outside)), "{}", self.name);
        // Also as runs; a layer without runs refuses these in any case.
        let has_runs = self.layer.abilities().has(Ability::Runs);
        let first = Lpn(if has_runs { self.pages() - 1 } else { 0 });
        for command in
            [Command::WriteRun { first, data: &data, hint: 0 }, Command::TrimRun { first, pages: 2 }]
        {
            let done = self.layer.command(command).map(drop);
            assert!(
                if has_runs { is_refusal(done) } else { done == Err(LayerError::NotListed) },
                "{}",
                self.name
            );
        }
        if self.layer.atomic_pages() >= 2 {
            assert!(is_refusal(self.layer.write_atomic(&outside, &data, 0)), "{}", self.name);
        }
    }

    fn step(&mut self) {
        match below(&mut self.random, 14) {
            0..6 => self.write(),
            6 => self.write_group(),
            7 => self.read(),
            8 => self.trim(),
            9 => self.layer.flush().unwrap(),
            10 => {
                self.layer.cleaning_above(true);
                self.write();
                self.layer.cleaning_above(false);
            }
            11 => drop(self.layer.clean_ahead().unwrap()),
            12 => self.ask(),
            _ => self.refuse(),
        }
    }

    /// Checks that all pages of a block give the same answer: a page of a block with `v` valid pages stands for `1 /
    /// v` of it.
    fn check_left_valid(&self) {
        let all: Vec<Lpn> = (0..self.pages()).map(Lpn).collect();
        let Answer::Left { held_pages, .. } = self.layer.query(Query::LeftValid(&all)) else { return };
        let mut blocks = 0.0;
        for page in &all {
            match self.layer.query(Query::LeftValid(std::slice::from_ref(page))) {
                Answer::Left { valid_pages, held_pages } if held_pages > 0 => {
                    blocks += held_pages as f64 / (valid_pages + 1) as f64;
                }
                _ => {}
            }
        }
        assert!((blocks - held_pages as f64).abs() < 1e-6, "{}: {blocks} of {held_pages}", self.name);
    }

    fn run(mut self, steps: u32, is_exact: bool) {
        let half = self.pages() / 2;
        self.layer.divide(&[half, self.holds.len() as u32]);
        self.layer.count_moves();
        for _ in 0..steps {
            self.step();
            if is_exact && below(&mut self.random, 100) == 0 {
                self.check_left_valid();
            }
        }
        self.layer.check().unwrap_or_else(|problem| panic!("{}: {problem}", self.name));
        self.read();
    }
}

/// Returns the layer's answer to a command as text, including errors.
fn told<P: Payload>(layer: &mut dyn Layer<P>, command: Command<'_, P>) -> String {
    format!("{:?}", layer.command(command))
}
