//! Conformance tests: every layer, medium and wrapper implements the whole contract, and a wrapper answers like the
//! wrapped object.
//!
//! The tables here are compared with the sources, so that no later addition can be missed.

mod layers;
mod media;
mod policies;
mod sources;
mod wrappers;

use wearwell_base::seed::{Random, Seed, random_below};
use wearwell_base::units::Lpn;
use wearwell_engine::checked::CheckedLayer;
use wearwell_engine::layer::{Ability, Answer, Command, Layer, LayerError, LayerExt, Payload, Query};
use wearwell_engine::log::BoxedLayer;

/// Content of a test page: the number of the write, or nothing.
trait Stamp: Payload {
    fn stamp(number: u64) -> Self;
}

impl Stamp for () {
    fn stamp(_number: u64) {}
}

impl Stamp for wearwell_engine::layer::ContentId {
    fn stamp(number: u64) -> Self {
        wearwell_engine::layer::ContentId(number)
    }
}

/// Returns the query that belongs to an ability, if any. The match has no wildcard, so that a new ability must be added
/// here.
fn query_of(ability: Ability, pages: &[Lpn]) -> Option<Query<'_>> {
    match ability {
        Ability::AtomicGroups => Some(Query::AtomicPages),
        Ability::MoveCounts => Some(Query::MovedPages(pages)),
        Ability::LeftValid => Some(Query::LeftValid(pages)),
        Ability::Prefetch => Some(Query::Prefetch { pages, second_pass: true }),
        Ability::Zones => Some(Query::Zone(pages)),
        Ability::WholeRequests
        | Ability::Attribution
        | Ability::Deferral
        | Ability::IdleCleaning
        | Ability::Runs => None,
    }
}

/// Returns different pages of a layer, at most `limit`.
fn random_pages(random: &mut Random, pages: u32, limit: u32) -> Vec<Lpn> {
    let count = random_below(random, u64::from(limit)) as usize;
    let mut list: Vec<Lpn> = (0..count).map(|_| Lpn(random_below(random, u64::from(pages)) as u32)).collect();
    list.sort_unstable();
    list.dedup();
    list
}

/// Returns consecutive pages of a layer, at least one.
fn random_run(random: &mut Random, pages: u32, limit: u32) -> Vec<Lpn> {
    let first = random_below(random, u64::from(pages)) as u32;
    let count = 1 + random_below(random, u64::from(limit.min(pages - first))) as u32;
    (first..first + count).map(Lpn).collect()
}

/// Random operations on a layer whose contract is checked, with its expected contents.
struct LayerDriver<P> {
    layer: CheckedLayer<P>,
    name: &'static str,
    expected: Vec<P>,
    random: Random,
    writes: u64,
    /// Number of different contents written.
    contents: u64,
    /// Pages per zone, if pages must be written in zone order and trimmed by zones.
    zone_pages: Option<u32>,
}

impl<P: Stamp> LayerDriver<P> {
    fn new(name: &'static str, layer: BoxedLayer<P>, contents: u64, seed: u64) -> Self {
        let pages = layer.logical_pages() as usize;
        let random = Seed(seed).derive(name).random();
        let layer = CheckedLayer::new(layer);
        LayerDriver {
            layer,
            name,
            expected: vec![P::default(); pages],
            random,
            writes: 0,
            contents,
            zone_pages: None,
        }
    }

    fn pages(&self) -> u32 {
        self.expected.len() as u32
    }

    fn contents_of(&mut self, pages: &[Lpn]) -> Vec<P> {
        let numbers = self.writes + 1..=self.writes + pages.len() as u64;
        self.writes += pages.len() as u64;
        numbers.map(|number| P::stamp(1 + number % self.contents)).collect()
    }

    fn update_expected(&mut self, pages: &[Lpn], data: &[P]) {
        pages.iter().zip(data).for_each(|(page, &data)| self.expected[page.index()] = data);
    }

    /// Returns pages that may be written now.
    fn next_to_write(&mut self) -> Vec<Lpn> {
        let Some(zone_pages) = self.zone_pages else {
            return random_run(&mut self.random, self.expected.len() as u32, 6);
        };
        // Zones are written in turn, and each is reset before it is rewritten.
        let at = self.writes as u32 % self.pages();
        let left = zone_pages - at % zone_pages;
        if left == zone_pages {
            let zone: Vec<Lpn> = (at..at + zone_pages).map(Lpn).collect();
            self.layer.trim(&zone).unwrap();
            zone.iter().for_each(|page| self.expected[page.index()] = P::default());
        }
        (at..at + 1 + random_below(&mut self.random, u64::from(left.min(6))) as u32).map(Lpn).collect()
    }

    fn write(&mut self) {
        let pages = self.next_to_write();
        let data = self.contents_of(&pages);
        let hint = random_below(&mut self.random, 3) as u16;
        let by_run = self.layer.abilities().has(Ability::Runs) && random_below(&mut self.random, 2) == 0;
        if by_run {
            self.layer.command(Command::WriteRun { first: pages[0], data: &data, hint }).unwrap();
        } else {
            self.layer.write(&pages, &data, hint).unwrap();
        }
        self.update_expected(&pages, &data);
    }

    fn write_group(&mut self) {
        if self.zone_pages.is_some() {
            return;
        }
        let longest = self.layer.atomic_pages();
        let pages = random_run(&mut self.random, self.expected.len() as u32, longest.max(1));
        let data = self.contents_of(&pages);
        let done = self.layer.write_atomic(&pages, &data, 0);
        match longest {
            0 => assert!(matches!(done, Err(LayerError::NotAtomic { .. })), "{}: {done:?}", self.name),
            _ => {
                done.unwrap();
                self.update_expected(&pages, &data);
            }
        }
    }

    fn read(&mut self) {
        let (mut found, pages) = (Vec::new(), random_pages(&mut self.random, self.expected.len() as u32, 20));
        self.layer.read(&pages, &mut found).unwrap();
        let expected: Vec<P> = pages.iter().map(|page| self.expected[page.index()]).collect();
        assert_eq!(found, expected, "{}: {pages:?}", self.name);
    }

    fn trim(&mut self) {
        if self.zone_pages.is_some() {
            return;
        }
        let pages = random_run(&mut self.random, self.expected.len() as u32, 12);
        if self.layer.abilities().has(Ability::Runs) && random_below(&mut self.random, 2) == 0 {
            self.layer.command(Command::TrimRun { first: pages[0], pages: pages.len() as u32 }).unwrap();
        } else {
            self.layer.trim(&pages).unwrap();
        }
        pages.iter().for_each(|page| self.expected[page.index()] = P::default());
    }

    /// Sends all queries; `CheckedLayer` verifies the answers.
    fn send_queries(&mut self) {
        let pages = random_pages(&mut self.random, self.expected.len() as u32, 30);
        for query in Ability::ALL.into_iter().filter_map(|ability| query_of(ability, &pages)) {
            self.layer.query(query);
        }
        let answer = self.layer.query(Query::LeftValid(&[]));
        assert!(
            matches!(answer, Answer::Nothing | Answer::LeftValid { valid_pages: 0, block_pages: 0 }),
            "{}",
            self.name
        );
    }

    /// Checks that requests out of range are refused without effect.
    fn check_refusals(&mut self) {
        let outside = [Lpn(0), Lpn(self.pages())];
        let is_refusal = |done: Result<(), LayerError>| matches!(done, Err(LayerError::OutOfRange { .. }));
        let data = [P::stamp(1); 2];
        assert!(is_refusal(self.layer.write(&outside, &data, 0)), "{}", self.name);
        assert!(is_refusal(self.layer.read(&outside, &mut Vec::new())), "{}", self.name);
        assert!(is_refusal(self.layer.trim(&outside)), "{}", self.name);
        // Sends these requests also as runs; a layer without runs refuses them in any case.
        let has_runs = self.layer.abilities().has(Ability::Runs);
        let first = Lpn(if has_runs { self.pages() - 1 } else { 0 });
        for command in
            [Command::WriteRun { first, data: &data, hint: 0 }, Command::TrimRun { first, pages: 2 }]
        {
            let done = self.layer.command(command).map(drop);
            assert!(
                if has_runs { is_refusal(done) } else { done == Err(LayerError::RunsUnsupported) },
                "{}",
                self.name
            );
        }
        if self.layer.atomic_pages() >= 2 {
            assert!(is_refusal(self.layer.write_atomic(&outside, &data, 0)), "{}", self.name);
        }
    }

    fn step(&mut self) {
        match random_below(&mut self.random, 14) {
            0..6 => self.write(),
            6 => self.write_group(),
            7 => self.read(),
            8 => self.trim(),
            9 => self.layer.flush().unwrap(),
            10 => {
                self.layer.notify_cleaning_above(true);
                self.write();
                self.layer.notify_cleaning_above(false);
            }
            11 => drop(self.layer.clean_while_idle().unwrap()),
            12 => self.send_queries(),
            _ => self.check_refusals(),
        }
    }

    /// Checks that all pages of a block give the same answer: a page of a block with `v` valid pages stands for `1 /
    /// v` of it.
    fn check_left_valid(&self) {
        let all: Vec<Lpn> = (0..self.pages()).map(Lpn).collect();
        let Answer::LeftValid { block_pages: held_pages, .. } = self.layer.query(Query::LeftValid(&all))
        else {
            return;
        };
        let mut blocks = 0.0;
        for page in &all {
            match self.layer.query(Query::LeftValid(std::slice::from_ref(page))) {
                Answer::LeftValid { valid_pages, block_pages: held_pages } if held_pages > 0 => {
                    blocks += held_pages as f64 / (valid_pages + 1) as f64;
                }
                _ => {}
            }
        }
        assert!((blocks - held_pages as f64).abs() < 1e-6, "{}: {blocks} of {held_pages}", self.name);
    }

    fn run(mut self, steps: u32, is_exact: bool) {
        let half = self.pages() / 2;
        self.layer.set_partitions(&[half, self.expected.len() as u32]);
        self.layer.count_moves();
        for _ in 0..steps {
            self.step();
            if is_exact && random_below(&mut self.random, 100) == 0 {
                self.check_left_valid();
            }
        }
        self.layer.check().unwrap_or_else(|problem| panic!("{}: {problem}", self.name));
        self.read();
    }
}

/// Returns the layer's answer to a command as text, including errors.
fn command_result<P: Payload>(layer: &mut dyn Layer<P>, command: Command<'_, P>) -> String {
    format!("{:?}", layer.command(command))
}
