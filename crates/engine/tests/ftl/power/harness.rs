//! Power cuts: a random run is cut at an operation of the flash, the FTL is restarted, and every page is compared
//! with the acknowledged writes.
//!
//! A failure names its case as `KIND:seed:k`, followed by `t` if operation `k` was torn. Setting the environment
//! variable `WEARWELL_CUT` to this name replays exactly this case. `WEARWELL_CUTS` multiplies the number of cases.

use rand::RngCore;
use std::fmt;
use wearwell_base::seed::{Random, Seed, random_below};
use wearwell_base::units::Lpn;
use wearwell_engine::ftl::Restart;
use wearwell_engine::layer::{ContentId, LayerError};
use wearwell_engine::nand::{Nand, PowerCut, PowerCutFlash, PowerSource};

/// Flash of the FTLs under test.
pub type Chips = PowerCutFlash<Nand<ContentId>>;

/// A kind of FTL and its builder, in a size and with faults determined by the seed.
pub struct FtlUnderTest<F: Restart> {
    pub kind: &'static str,
    pub build: fn(PowerSource, u64) -> (F, F::Settings),
    /// True if the FTL has a battery, which lets it save its RAM.
    pub has_battery: bool,
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
pub struct CutCounts {
    pub cuts: u64,
    pub torn_cuts: u64,
    pub recovery_cuts: u64,
    pub trims_undone: u64,
    pub ends_of_life: u64,
}

impl CutCounts {
    fn add(&mut self, other: CutCounts) {
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
    /// Content of the page, or 0.
    content: u64,
    /// True if the page was trimmed and the trim may be lost.
    is_trimmed: bool,
    /// Content of the write under way, which a power cut may interrupt.
    in_flight: Option<u64>,
    /// Content that was written last, even if the write was interrupted.
    last_written: u64,
}

impl Page {
    /// True if `found` is possible after a power cut.
    fn allows(&self, found: u64) -> bool {
        let earlier = found >> 32 == self.last_written >> 32 && found <= self.last_written;
        found == self.content || Some(found) == self.in_flight || self.is_trimmed && (found == 0 || earlier)
    }
}

/// A drive with its power source, and its expected contents.
struct Rig<'a, F: Restart> {
    subject: &'a FtlUnderTest<F>,
    settings: F::Settings,
    ftl: F,
    power: PowerSource,
    random: Random,
    pages: Vec<Page>,
    versions: u64,
    counts: CutCounts,
}

/// Result of a host operation.
enum Outcome {
    Done,
    PowerLost,
    EndOfLife,
}

impl<'a, F: Restart<Flash = Chips>> Rig<'a, F> {
    fn new(subject: &'a FtlUnderTest<F>, seed: u64) -> Self {
        let power = PowerSource::new(subject.has_battery);
        let (ftl, settings) = (subject.build)(power.clone(), seed);
        let pages = vec![Page::default(); ftl.logical_pages() as usize];
        let random = Seed(seed).derive("history").random();
        Rig { subject, settings, ftl, power, random, pages, versions: 0, counts: CutCounts::default() }
    }

    fn below(&mut self, bound: u64) -> u64 {
        random_below(&mut self.random, bound)
    }

    /// Ends the operation according to `answer`; any other error is a defect.
    fn outcome_of(&mut self, answer: Result<(), LayerError>) -> Result<Outcome, String> {
        match answer {
            // The last operation may also have failed for a reason other than the power cut.
            Err(_) if self.power.is_off() => Ok(Outcome::PowerLost),
            Err(error) if error.is_end_of_life() => Ok(Outcome::EndOfLife),
            Err(error) => Err(format!("refused: {error}")),
            Ok(()) if !self.power.is_failing() => Ok(Outcome::Done),
            Ok(()) => {
                self.ftl.save().map_err(|error| format!("not saved: {error}"))?;
                Ok(Outcome::PowerLost)
            }
        }
    }

    /// Draws some pages: a single page, consecutive pages, or occasionally very many pages in order.
    fn draw_pages(&mut self) -> Vec<Lpn> {
        let count = self.pages.len() as u64;
        let first = match self.below(4) {
            // A few pages are written more often than the other pages.
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

    fn write(&mut self) -> Result<Outcome, String> {
        let pages = self.draw_pages();
        let mut data = Vec::with_capacity(pages.len());
        for page in &pages {
            self.versions += 1;
            let stamp = u64::from(page.0 + 1) << 32 | self.versions;
            let state = &mut self.pages[page.index()];
            (state.in_flight, state.last_written) = (Some(stamp), stamp);
            data.push(ContentId(stamp));
        }
        let answer = self.ftl.write(&pages, &data, 0);
        if answer.is_ok() {
            for page in pages {
                let state = &mut self.pages[page.index()];
                state.content = state.in_flight.take().expect("just written");
                state.is_trimmed = false;
            }
        }
        self.outcome_of(answer)
    }

    fn trim(&mut self) -> Result<Outcome, String> {
        let pages = self.draw_pages();
        for page in &pages {
            let state = &mut self.pages[page.index()];
            (state.content, state.is_trimmed) = (0, true);
        }
        let answer = self.ftl.trim(&pages);
        self.outcome_of(answer)
    }

    fn flush(&mut self) -> Result<Outcome, String> {
        let answer = self.ftl.flush();
        if answer.is_ok() && F::DURABLE_TRIMS {
            self.pages.iter_mut().for_each(|page| page.is_trimmed = false);
        }
        self.outcome_of(answer)
    }

    fn read(&mut self) -> Result<Outcome, String> {
        let pages = self.draw_pages();
        let mut found = Vec::new();
        let answer = self.ftl.read(&pages, &mut found);
        if answer.is_ok() {
            for (page, found) in pages.iter().zip(found) {
                let expected = self.pages[page.index()].content;
                if found.0 != expected {
                    return Err(format!("{page:?} reads {:#x}, not {expected:#x}", found.0));
                }
            }
        }
        self.outcome_of(answer)
    }

    fn step(&mut self) -> Result<Outcome, String> {
        match self.below(16) {
            0 | 1 => self.trim(),
            2 => self.flush(),
            3..=5 => self.read(),
            6 if self.below(4) == 0 => self.ftl.check().map(|()| Outcome::Done),
            _ => self.write(),
        }
    }

    /// Checks that every page has a content that is possible after a cut, and expects that content from now on.
    fn verify_after_cut(&mut self) -> Result<(), String> {
        self.ftl.check()?;
        for (number, page) in (0..).map(Lpn).zip(&mut self.pages) {
            let mut found = Vec::new();
            self.ftl.read(&[number], &mut found).map_err(|error| format!("{number:?}: {error}"))?;
            let found = found[0].0;
            if !page.allows(found) {
                return Err(format!("{number:?} reads {found:#x}: {page:x?}"));
            }
            self.counts.trims_undone +=
                u64::from(page.is_trimmed && found != 0 && Some(found) != page.in_flight);
            *page =
                Page { content: found, is_trimmed: false, in_flight: None, last_written: page.last_written };
        }
        self.ftl.check()
    }

    /// Restores power and restarts the FTL; power may be cut again during recovery.
    fn restart(self) -> Result<Self, String> {
        let Rig { subject, settings, ftl, power: supply, mut random, pages, versions, counts: mut tally } =
            self;
        let mut surviving = ftl.into_flash();
        loop {
            supply.restore();
            if random_below(&mut random, 3) == 0 {
                let (later, torn) = (random_below(&mut random, 4), random_below(&mut random, 2) == 0);
                supply.schedule_cut(Some(PowerCut { after: supply.operations() + later, torn }));
            }
            match F::restart(&settings, surviving) {
                Ok((ftl, _)) => {
                    supply.restore();
                    return Ok(Rig {
                        subject,
                        settings,
                        ftl,
                        power: supply,
                        random,
                        pages,
                        versions,
                        counts: tally,
                    });
                }
                Err((_, still_surviving)) if supply.is_off() => {
                    tally.recovery_cuts += 1;
                    surviving = still_surviving;
                }
                Err((error, _)) => return Err(format!("not recovered: {error}")),
            }
        }
    }

    /// Runs `steps` host operations, or until power is lost; returns false if the drive's life has ended.
    fn run(mut self, steps: u64, cut: PowerCut) -> Result<(Self, bool), String> {
        self.power.schedule_cut(Some(cut));
        for _ in 0..steps {
            match self.step()? {
                Outcome::Done => {}
                Outcome::PowerLost => {
                    self.counts.cuts += 1;
                    self.counts.torn_cuts += u64::from(cut.torn);
                    let mut rig = self.restart()?;
                    rig.verify_after_cut()?;
                    return Ok((rig, true));
                }
                Outcome::EndOfLife => {
                    self.counts.ends_of_life += 1;
                    self.power.schedule_cut(None);
                    self.verify_after_cut()?;
                    return Ok((self, false));
                }
            }
        }
        self.power.schedule_cut(None);
        self.ftl.check()?;
        Ok((self, true))
    }
}

/// Rounds of a run: each ends with a cut, or after some steps.
const ROUNDS: u64 = 4;

/// Runs `steps` host operations with the cut of the case, then further operations and cuts. Returns the counts, or
/// the error.
pub fn cut_and_check<F: Restart<Flash = Chips>>(
    subject: &FtlUnderTest<F>,
    case: Case,
    steps: u64,
) -> Result<CutCounts, String> {
    let mut rig = Rig::new(subject, case.seed);
    let mut cut = PowerCut { after: case.after, torn: case.torn };
    for _ in 0..ROUNDS {
        let is_alive;
        (rig, is_alive) =
            rig.run(steps, cut).map_err(|problem| format!("{}: {problem}", case_name(subject, case)))?;
        if !is_alive || rig.counts.cuts == 0 {
            break;
        }
        let later = rig.below(4 * steps);
        cut = PowerCut { after: rig.power.operations() + later, torn: rig.random.next_u32() & 1 == 0 };
    }
    Ok(rig.counts)
}

fn case_name<F: Restart>(subject: &FtlUnderTest<F>, case: Case) -> String {
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
    subject: &FtlUnderTest<F>,
    small: u64,
    long: u64,
) -> Result<CutCounts, String> {
    let mut counts = CutCounts::default();
    if let Ok(id) = std::env::var("WEARWELL_CUT") {
        if let Some(case) = parse(subject.kind, &id) {
            counts.add(cut_and_check(subject, case, steps(case.seed))?);
            println!("{id}: {counts:?}");
        }
        return Ok(counts);
    }
    for seed in 0..small * multiplier() {
        for torn in [false, true] {
            for after in 0.. {
                let done = cut_and_check(subject, Case { seed, after, torn }, steps(seed))?;
                counts.add(done);
                if done.cuts == 0 {
                    break;
                }
            }
        }
    }
    let mut random = Seed(7).derive(subject.kind).random();
    for seed in (LONG_SEEDS..).take((long * multiplier()) as usize) {
        let case = Case { seed, after: random_below(&mut random, 1000), torn: random.next_u32() & 1 == 0 };
        counts.add(cut_and_check(subject, case, steps(seed))?);
    }
    Ok(counts)
}

/// Like [`try_all`], but panics with the failing case, or if there were fewer cuts than `at_least`.
pub fn check_all<F: Restart<Flash = Chips>>(
    subject: &FtlUnderTest<F>,
    small: u64,
    long: u64,
    at_least: u64,
) -> CutCounts {
    let counts = try_all(subject, small, long).unwrap_or_else(|problem| panic!("{problem}"));
    println!("{}: {counts:?}", subject.kind);
    if std::env::var("WEARWELL_CUT").is_err() {
        assert!(counts.cuts >= at_least, "{counts:?}");
        assert!(counts.torn_cuts > 0 && counts.torn_cuts < counts.cuts, "{counts:?}");
    }
    counts
}

#[test]
fn case_is_parsed_from_its_name() {
    for (after, torn) in [(0, false), (17, true)] {
        let case = Case { seed: 3, after, torn };
        let parsed = parse("bast", &format!("bast:{case}")).unwrap();
        assert_eq!((parsed.seed, parsed.after, parsed.torn), (3, after, torn));
    }
    assert!(parse("bast", "fast:3:17").is_none());
}
