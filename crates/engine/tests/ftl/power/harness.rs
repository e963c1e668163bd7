//! Power cuts: a random run is cut at an operation of the flash, the FTL is restarted, and every page is compared
//! with the acknowledged writes.
//!
//! A failure names its case as `KIND:seed:k`, followed by `t` if operation `k` was torn. Setting the environment
//! variable `WEARWELL_CUT` to this name replays exactly this case. `WEARWELL_CUTS` multiplies the number of cases.

use rand::RngCore;
use std::fmt;
use wearwell_base::seed::{Random, Seed, below};
use wearwell_base::units::Lpn;
use wearwell_engine::ftl::Restart;
use wearwell_engine::layer::{Content, LayerError};
use wearwell_engine::nand::{Cut, Fragile, Nand, Supply};

/// Flash of the FTLs under test.
pub type Chips = Fragile<Nand<Content>>;

/// A kind of FTL and its builder, in a size and with faults determined by the seed.
pub struct Subject<F: Restart> {
    pub kind: &'static str,
    pub build: fn(Supply, u64) -> (F, F::Settings),
    /// True if the FTL has a battery, which lets it save its RAM.
    pub battery: bool,
}

/// One case: the seed of the run, and its first cut.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub seed: u64,
    pub after: u64,
    pub torn: bool,
}

/// Counts of events over some cases.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    pub cuts: u64,
    pub torn_cuts: u64,
    pub recovery_cuts: u64,
    pub trims_undone: u64,
    pub ends_of_life: u64,
}

impl Tally {
    fn add(&mut self, other: Tally) {
        self.cuts += other.cuts;
        self.torn_cuts += other.torn_cuts;
        self.recovery_cuts += other.recovery_cuts;
        self.trims_undone += other.trims_undone;
        self.ends_of_life += other.ends_of_life;
    }
}

/// Expected state of a logical page.
#[derive(Clone, Copy, Debug, Default)]
struct Page {
    /// Its content, or 0.
    holds: u64,
    /// True if it was trimmed, and the trim may be lost.
    trimmed: bool,
    /// Content being written when power was lost.
    in_flight: Option<u64>,
    /// The last content ever written.
    last: u64,
}

impl Page {
    /// True if `found` is possible after a power cut.
    fn allows(&self, found: u64) -> bool {
        let earlier = found >> 32 == self.last >> 32 && found <= self.last;
        found == self.holds || Some(found) == self.in_flight || self.trimmed && (found == 0 || earlier)
    }
}

/// A drive with its power source, and its expected contents.
struct Rig<'a, F: Restart> {
    subject: &'a Subject<F>,
    settings: F::Settings,
    ftl: F,
    supply: Supply,
    random: Random,
    pages: Vec<Page>,
    versions: u64,
    tally: Tally,
}

/// Result of a host operation.
enum Ended {
    Done,
    PowerLost,
    EndOfLife,
}

impl<'a, F: Restart<Flash = Chips>> Rig<'a, F> {
    fn new(subject: &'a Subject<F>, seed: u64) -> Self {
        let supply = Supply::new(subject.battery);
        let (ftl, settings) = (subject.build)(supply.clone(), seed);
        let pages = vec![Page::default(); ftl.logical_pages() as usize];
        let random = Seed(seed).of("history").random();
        Rig { subject, settings, ftl, supply, random, pages, versions: 0, tally: Tally::default() }
    }

    fn below(&mut self, bound: u64) -> u64 {
        below(&mut self.random, bound)
    }

    /// Ends the operation according to `answer`; any other error is a defect.
    fn end(&mut self, answer: Result<(), LayerError>) -> Result<Ended, String> {
        match answer {
            // The last operation may also have failed for another reason.
            Err(_) if self.supply.is_off() => Ok(Ended::PowerLost),
            Err(error) if error.is_end_of_life() => Ok(Ended::EndOfLife),
            Err(error) => Err(format!("refused: {error}")),
            Ok(()) if !self.supply.is_failing() => Ok(Ended::Done),
            Ok(()) => {
                self.ftl.save().map_err(|error| format!("not saved: {error}"))?;
                Ok(Ended::PowerLost)
            }
        }
    }

    /// Draws some pages: one, a stretch, or occasionally very many in order.
    fn draw_pages(&mut self) -> Vec<Lpn> {
        let count = self.pages.len() as u64;
        let first = match self.below(4) {
            // Some pages are hotter than the rest.
            0 => self.below(count.min(3)),
            _ => self.below(count),
        };
        let length = match self.below(8) {
            0 => self.below(count) + 1,
            1..=3 => self.below(6) + 1,
            _ => 1,
        };
        (first..count.min(first + length)).map(|page| Lpn(page as u32)).collect()
    }

    fn write(&mut self) -> Result<Ended, String> {
        let pages = self.draw_pages();
        let mut data = Vec::with_capacity(pages.len());
        for page in &pages {
            self.versions += 1;
            let stamp = u64::from(page.0 + 1) << 32 | self.versions;
            let state = &mut self.pages[page.index()];
            (state.in_flight, state.last) = (Some(stamp), stamp);
            data.push(Content(stamp));
        }
        let answer = self.ftl.write(&pages, &data, 0);
        if answer.is_ok() {
            for page in pages {
                let state = &mut self.pages[page.index()];
                state.holds = state.in_flight.take().expect("just written");
                state.trimmed = false;
            }
        }
        self.end(answer)
    }

    fn trim(&mut self) -> Result<Ended, String> {
        let pages = self.draw_pages();
        for page in &pages {
            let state = &mut self.pages[page.index()];
            (state.holds, state.trimmed) = (0, true);
        }
        let answer = self.ftl.trim(&pages);
        self.end(answer)
    }

    fn flush(&mut self) -> Result<Ended, String> {
        let answer = self.ftl.flush();
        if answer.is_ok() && F::DURABLE_TRIMS {
            self.pages.iter_mut().for_each(|page| page.trimmed = false);
        }
        self.end(answer)
    }

    fn read(&mut self) -> Result<Ended, String> {
        let pages = self.draw_pages();
        let mut found = Vec::new();
        let answer = self.ftl.read(&pages, &mut found);
        if answer.is_ok() {
            for (page, found) in pages.iter().zip(found) {
                let holds = self.pages[page.index()].holds;
                if found.0 != holds {
                    return Err(format!("{page:?} reads {:#x}, not {holds:#x}", found.0));
                }
            }
        }
        self.end(answer)
    }

    fn step(&mut self) -> Result<Ended, String> {
        match self.below(16) {
            0 | 1 => self.trim(),
            2 => self.flush(),
            3..=5 => self.read(),
            6 if self.below(4) == 0 => self.ftl.check().map(|()| Ended::Done),
            _ => self.write(),
        }
    }

    /// Checks that every page has a content that is possible after a cut, and expects that content from now on.
    fn settle(&mut self) -> Result<(), String> {
        self.ftl.check()?;
        for (number, page) in (0..).map(Lpn).zip(&mut self.pages) {
            let mut found = Vec::new();
            self.ftl.read(&[number], &mut found).map_err(|error| format!("{number:?}: {error}"))?;
            let found = found[0].0;
            if !page.allows(found) {
                return Err(format!("{number:?} reads {found:#x}: {page:x?}"));
            }
            self.tally.trims_undone += u64::from(page.trimmed && found != 0 && Some(found) != page.in_flight);
            *page = Page { holds: found, trimmed: false, in_flight: None, last: page.last };
        }
        self.ftl.check()
    }

    /// Restores power and restarts the FTL; power may be cut again during recovery.
    fn restart(self) -> Result<Self, String> {
        let Rig { subject, settings, ftl, supply, mut random, pages, versions, mut tally } = self;
        let mut remains = ftl.into_flash();
        loop {
            supply.restore();
            if below(&mut random, 3) == 0 {
                let (later, torn) = (below(&mut random, 4), below(&mut random, 2) == 0);
                supply.cut(Some(Cut { after: supply.operations() + later, torn }));
            }
            match F::restart(&settings, remains) {
                Ok((ftl, _)) => {
                    supply.restore();
                    return Ok(Rig { subject, settings, ftl, supply, random, pages, versions, tally });
                }
                Err((_, left)) if supply.is_off() => {
                    tally.recovery_cuts += 1;
                    remains = left;
                }
                Err((error, _)) => return Err(format!("not recovered: {error}")),
            }
        }
    }

    /// Runs `steps` host operations, or until power is lost; returns false if the drive's life has ended.
    fn run(mut self, steps: u64, cut: Cut) -> Result<(Self, bool), String> {
        self.supply.cut(Some(cut));
        for _ in 0..steps {
            match self.step()? {
                Ended::Done => {}
                Ended::PowerLost => {
                    self.tally.cuts += 1;
                    self.tally.torn_cuts += u64::from(cut.torn);
                    let mut rig = self.restart()?;
                    rig.settle()?;
                    return Ok((rig, true));
                }
                Ended::EndOfLife => {
                    self.tally.ends_of_life += 1;
                    self.supply.cut(None);
                    self.settle()?;
                    return Ok((self, false));
                }
            }
        }
        self.supply.cut(None);
        self.ftl.check()?;
        Ok((self, true))
    }
}

/// Rounds of a run: each ends with a cut, or after some steps.
const ROUNDS: u64 = 4;

/// Runs `steps` host operations with the cut of the case, then further operations and cuts. Returns the counts, or
/// the error.
pub fn cut_and_check<F: Restart<Flash = Chips>>(
    subject: &Subject<F>,
    case: Case,
    steps: u64,
) -> Result<Tally, String> {
    let mut rig = Rig::new(subject, case.seed);
    let mut cut = Cut { after: case.after, torn: case.torn };
    for _ in 0..ROUNDS {
        let lives;
        (rig, lives) = rig.run(steps, cut).map_err(|problem| format!("{}: {problem}", id(subject, case)))?;
        if !lives || rig.tally.cuts == 0 {
            break;
        }
        let later = rig.below(4 * steps);
        cut = Cut { after: rig.supply.operations() + later, torn: rig.random.next_u32() & 1 == 0 };
    }
    Ok(rig.tally)
}

fn id<F: Restart>(subject: &Subject<F>, case: Case) -> String {
    format!("{}:{case}", subject.kind)
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}{}", self.seed, self.after, if self.torn { "t" } else { "" })
    }
}

/// Parses the case name `id`, if it is of this kind.
fn parse(kind: &str, id: &str) -> Option<Case> {
    let (seed, after) = id.strip_prefix(kind)?.strip_prefix(':')?.split_once(':')?;
    let torn = after.ends_with('t');
    let after = after.trim_end_matches('t').parse().ok()?;
    Some(Case { seed: seed.parse().ok()?, after, torn })
}

/// Returns the factor for the number of cases.
fn multiplier() -> u64 {
    std::env::var("WEARWELL_CUTS").ok().and_then(|times| times.parse().ok()).unwrap_or(1)
}

/// Seeds from this number on have long runs.
const LONG_SEEDS: u64 = 1_000_000;

fn steps(seed: u64) -> u64 {
    if seed < LONG_SEEDS { 24 } else { 200 }
}

/// Tries `small` runs cut at each operation, and `long` runs cut anywhere. Returns the counts of all cases, or the
/// first error.
pub fn try_all<F: Restart<Flash = Chips>>(
    subject: &Subject<F>,
    small: u64,
    long: u64,
) -> Result<Tally, String> {
    let mut tally = Tally::default();
    if let Ok(id) = std::env::var("WEARWELL_CUT") {
        if let Some(case) = parse(subject.kind, &id) {
            tally.add(cut_and_check(subject, case, steps(case.seed))?);
            println!("{id}: {tally:?}");
        }
        return Ok(tally);
    }
    for seed in 0..small * multiplier() {
        for torn in [false, true] {
            for after in 0.. {
                let done = cut_and_check(subject, Case { seed, after, torn }, steps(seed))?;
                tally.add(done);
                if done.cuts == 0 {
                    break;
                }
            }
        }
    }
    let mut random = Seed(7).of(subject.kind).random();
    for seed in (LONG_SEEDS..).take((long * multiplier()) as usize) {
        let case = Case { seed, after: below(&mut random, 1000), torn: random.next_u32() & 1 == 0 };
        tally.add(cut_and_check(subject, case, steps(seed))?);
    }
    Ok(tally)
}

/// Like [`try_all`], but panics with the failing case, or if there were fewer cuts than `at_least`.
pub fn check_all<F: Restart<Flash = Chips>>(
    subject: &Subject<F>,
    small: u64,
    long: u64,
    at_least: u64,
) -> Tally {
    let tally = try_all(subject, small, long).unwrap_or_else(|problem| panic!("{problem}"));
    println!("{}: {tally:?}", subject.kind);
    if std::env::var("WEARWELL_CUT").is_err() {
        assert!(tally.cuts >= at_least, "{tally:?}");
        assert!(tally.torn_cuts > 0 && tally.torn_cuts < tally.cuts, "{tally:?}");
    }
    tally
}

#[test]
fn case_is_parsed_from_its_name() {
    for (after, torn) in [(0, false), (17, true)] {
        let case = Case { seed: 3, after, torn };
        let read = parse("bast", &format!("bast:{case}")).unwrap();
        assert_eq!((read.seed, read.after, read.torn), (3, after, torn));
    }
    assert!(parse("bast", "fast:3:17").is_none());
}
