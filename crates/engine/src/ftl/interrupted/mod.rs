//! FTLs whose power is cut repeatedly, also in the middle of operations, and checks that no acknowledged data is
//! lost.
//!
//! Layers above do not notice: an interrupted request is repeated after recovery. If pages have no content, each
//! write stores a unique stamp; otherwise pages store their content. After each cut, pages are read back. These
//! reads, and the work that they cause in the FTL, are included in its counts.

mod plan;
mod shadow;

use super::lives::Lives;
use super::told::Told;
use super::{Outages, PowerCycle, Restart};
use crate::counters::{Counters, Operation};
use crate::layer::{
    Abilities, Ability, Answer, Command, Content, Layer, LayerError, LayerExt, Payload, Query,
    RecoveryReport, Reports, Violation, check_range,
};
use crate::nand::{Cut, Flash, Fragile, Supply};
use crate::seed::{Random, Seed, below};
use crate::timing::{Event, Journal};
use crate::units::Lpn;
pub use plan::{Cuts, parse_cuts};
use plan::{Plan, name};
use shadow::Shadow;
use std::marker::PhantomData;

/// Size up to which a drive is read back and checked completely after each cut; of larger drives, this many random
/// pages are read back.
const READ_BACK_PAGES: u32 = 1 << 16;

/// Number of operations into a recovery within which a cut of the recovery happens. Also the number of operations
/// after a recovery within which a repeated cut happens.
const RECOVERY_OPERATIONS: u64 = 64;

/// Maximum number of cuts listed in the name of a case.
const NAMED_CUTS: usize = 16;

/// Number of consecutive cuts after which a request is given up. A request that makes progress between cuts takes a
/// few hundred operations; one that starts over after each cut would never complete.
const CUTS_OF_A_REQUEST: u32 = 1000;

/// Settings of power cuts.
#[derive(Clone, Debug)]
pub struct CutSettings {
    /// Times of the cuts.
    pub cuts: Cuts,
    /// Probability that a recovery is also cut; at least 0 and below 1.
    pub recovery_cut_probability: f64,
    /// Probability that power is cut again soon after a recovery, without reading anything back in between; at least
    /// 0 and below 1.
    pub cut_again_probability: f64,
    /// Root seed of the random numbers that decide if operations are torn.
    pub seed: Seed,
}

/// Payload of a layer on top of an FTL whose pages are identified by their content.
pub trait Known: Payload {
    /// True if the payload determines the content; otherwise a stamp is used.
    const IS_CONTENT: bool;

    /// Returns the content of a page with this payload.
    fn content(&self) -> Content;

    /// Returns the payload of a page with this content.
    fn of(content: Content) -> Self;
}

impl Known for () {
    const IS_CONTENT: bool = false;

    fn content(&self) -> Content {
        Content::UNKNOWN
    }

    fn of(_content: Content) {}
}

impl Known for Content {
    const IS_CONTENT: bool = true;

    fn content(&self) -> Content {
        *self
    }

    fn of(content: Content) -> Content {
        content
    }
}

/// An FTL on a power source that is cut, below a layer with payload `P`.
pub struct Interrupted<F: Restart, P = ()> {
    /// `None` only during recovery.
    ftl: Option<F>,
    settings: F::Settings,
    supply: Supply,
    /// Journal of flash operations; paused if it is not used.
    journal: Journal,
    plan: Plan,
    recovery_cut_probability: f64,
    cut_again_probability: f64,
    random: Random,
    shadow: Shadow,
    incoming: Counters,
    lives: Lives,
    told: Told,
    outages: Outages,
    /// Number of cuts since a request was completed.
    in_a_row: u32,
    /// The next cut.
    armed: Option<Cut>,
    /// All cuts so far, for the name of the case.
    history: Vec<Cut>,
    holds: PhantomData<fn() -> P>,
}

/// Result of a request.
#[derive(PartialEq, Eq)]
enum Ended {
    Done,
    /// The request must be repeated.
    Interrupted,
}

impl<F, G, P> Interrupted<F, P>
where
    F: Restart<Flash = Fragile<G>>,
    Fragile<G>: Flash<Payload = Content>,
    P: Known,
{
    /// Wraps a new `ftl`, built from `settings` on `supply`, on flash that records its operations in `journal`.
    pub fn new(ftl: F, settings: F::Settings, supply: Supply, cut: CutSettings, journal: Journal) -> Self {
        let pages = ftl.logical_pages();
        let mut interrupted = Interrupted {
            shadow: Shadow::new(pages, P::IS_CONTENT),
            ftl: Some(ftl),
            settings,
            supply,
            journal,
            plan: Plan::new(cut.cuts),
            recovery_cut_probability: cut.recovery_cut_probability,
            cut_again_probability: cut.cut_again_probability,
            random: cut.seed.of("power cuts").random(),
            incoming: Counters::default(),
            lives: Lives::default(),
            told: Told::default(),
            outages: Outages::default(),
            in_a_row: 0,
            armed: None,
            history: Vec::new(),
            holds: PhantomData,
        };
        interrupted.arm();
        interrupted
    }

    fn ftl(&self) -> &F {
        self.ftl.as_ref().expect("no call after a failed recovery")
    }

    fn ftl_mut(&mut self) -> &mut F {
        self.ftl.as_mut().expect("no call after a failed recovery")
    }

    fn violation(&self, problem: String) -> LayerError {
        let cuts = name(&self.history[self.history.len().saturating_sub(NAMED_CUTS)..]);
        let earlier = self.history.len().saturating_sub(NAMED_CUTS);
        let before = if earlier > 0 { format!(", after {earlier} cuts before") } else { String::new() };
        LayerError::Violated(Box::new(Violation { case: format!("cut:{cuts}{before}"), problem }))
    }

    /// Prepares a write request. Returns the contents to write.
    fn begin_write(&mut self, pages: &[Lpn], data: &[P]) -> Vec<Content> {
        let stamp = |(&page, data): (&Lpn, &P)| {
            if !P::IS_CONTENT {
                return self.shadow.begin_stamped(page);
            }
            self.shadow.begin_write(page, data.content());
            data.content()
        };
        pages.iter().zip(data).map(stamp).collect()
    }

    /// Processes the result of a request; recovers the FTL if power was lost.
    fn end(&mut self, answer: Result<(), LayerError>) -> Result<Ended, LayerError> {
        if answer.is_ok() {
            self.note_durable();
        }
        match answer {
            Err(_) if self.supply.is_off() => {
                self.recover()?;
                self.in_a_row += 1;
                let cuts = self.in_a_row;
                if cuts < CUTS_OF_A_REQUEST {
                    Ok(Ended::Interrupted)
                } else {
                    Err(LayerError::Starved { cuts })
                }
            }
            Ok(()) if self.supply.is_failing() => {
                self.ftl_mut().save()?;
                self.note_durable();
                self.recover().map(|()| Ended::Done)
            }
            answer => answer.map(|()| Ended::Done),
        }
        .inspect(|ended| {
            if *ended == Ended::Done {
                self.in_a_row = 0;
            }
        })
    }

    fn note_durable(&mut self) {
        if !self.ftl().owes() {
            self.shadow.all_durable();
        }
    }

    /// Recovers the FTL after a power cut and verifies its contents.
    fn recover(&mut self) -> Result<(), LayerError> {
        let cut = self.armed.expect("power is only lost where that was planned");
        self.history.push(cut);
        self.outages.cuts += 1;
        // With a battery, the operation is completed and not torn.
        self.outages.torn_cuts += u64::from(cut.torn && !self.supply.is_failing());
        self.restart()?;
        self.journal.note(Event::Recovered);
        let now = self.supply.operations();
        if let Some(again) = self.plan.soon(now, self.cut_again_probability, &mut self.random) {
            self.armed = Some(again);
            self.supply.cut(self.armed);
            return Ok(());
        }
        // Verification takes no time of the simulated drive.
        let journal = self.journal.clone();
        let verified = journal.pausing(|| self.verify());
        self.arm();
        verified
    }

    /// Recovers the FTL, repeatedly if power fails during recovery.
    fn restart(&mut self) -> Result<RecoveryReport, LayerError> {
        let ftl = self.ftl.take().expect("no call after a failed recovery");
        self.lives.end(&ftl);
        self.shadow.lost_power();
        let mut remains = ftl.into_flash();
        loop {
            self.journal.note(Event::PowerLost);
            self.supply.restore();
            let now = self.supply.operations();
            self.armed = self.plan.next_in_recovery(now, self.recovery_cut_probability, &mut self.random);
            self.supply.cut(self.armed);
            match F::restart(&self.settings, remains) {
                Ok((mut ftl, report)) => {
                    self.supply.restore();
                    self.told.repeat(&mut ftl);
                    self.ftl = Some(ftl);
                    self.outages.recoveries.push(report.clone());
                    return Ok(report);
                }
                Err((_, left)) if self.supply.is_off() => {
                    self.history.extend(self.armed);
                    self.outages.cuts_in_recovery += 1;
                    remains = left;
                }
                Err((error, _)) => return Err(self.violation(format!("the FTL does not come back: {error}"))),
            }
        }
    }

    /// Sets the next cut, counting from now.
    fn arm(&mut self) {
        let now = self.supply.operations();
        self.armed = self.plan.next(now, &mut self.random);
        self.supply.cut(self.armed);
    }

    /// Reads pages back and checks each against the contents that a cut may have left. The content found is expected
    /// from now on.
    fn verify(&mut self) -> Result<(), LayerError> {
        let whole = self.shadow.pages() <= READ_BACK_PAGES;
        let pages = if whole {
            (0..self.shadow.pages()).map(Lpn).collect()
        } else {
            self.shadow.sample(READ_BACK_PAGES, &mut self.random)
        };
        let mut found = Vec::new();
        for &page in &pages {
            found.clear();
            let read = self.ftl_mut().read(&[page], &mut found);
            read.map_err(|error| self.violation(format!("{page:?} cannot be read: {error}")))?;
            self.shadow.read(page, found[0]).map_err(|problem| self.violation(problem))?;
        }
        self.outages.pages_verified += pages.len() as u64;
        match self.ftl().check() {
            Err(problem) if whole => Err(self.violation(problem)),
            _ => Ok(()),
        }
    }
}

impl<F, G, P> PowerCycle for Interrupted<F, P>
where
    F: Restart<Flash = Fragile<G>>,
    F::Settings: Send,
    Fragile<G>: Flash<Payload = Content>,
    P: Known,
{
    fn cycle(&mut self) -> Result<RecoveryReport, LayerError> {
        self.supply.cut(None);
        self.ftl_mut().save()?;
        self.note_durable();
        self.plan = Plan::new(Cuts::At(Vec::new()));
        self.recovery_cut_probability = 0.0;
        let journal = self.journal.clone();
        journal.pausing(|| {
            let report = self.restart()?;
            self.verify().map(|()| report)
        })
    }

    fn begin(&mut self, host_pages: u64) {
        self.plan.begin(self.supply.operations(), host_pages, &mut self.random);
        self.arm();
    }

    fn outages(&self) -> Option<Outages> {
        Some(self.outages.clone())
    }
}

impl<F, G, P> Layer<P> for Interrupted<F, P>
where
    F: Restart<Flash = Fragile<G>>,
    F::Settings: Send,
    Fragile<G>: Flash<Payload = Content>,
    P: Known,
{
    fn logical_pages(&self) -> u32 {
        self.ftl().logical_pages()
    }

    fn write(&mut self, pages: &[Lpn], data: &[P], hint: u16) -> Result<(), LayerError> {
        check_range(pages, self.shadow.pages())?;
        // Pages are written one by one, so that only one is in flight; pages of a request stay together if the FTL
        // needs requests.
        let together = if self.ftl().wants_requests() { pages.len().max(1) } else { 1 };
        for (pages, data) in pages.chunks(together).zip(data.chunks(together)) {
            loop {
                let contents = self.begin_write(pages, data);
                let answer = self.ftl_mut().write(pages, &contents, hint);
                if answer.is_ok() {
                    pages.iter().for_each(|&page| self.shadow.written(page));
                }
                if self.end(answer)? == Ended::Done {
                    break;
                }
            }
            self.incoming.add_incoming(Operation::Write, pages.len() as u64);
        }
        Ok(())
    }

    fn read(&mut self, pages: &[Lpn], out: &mut Vec<P>) -> Result<(), LayerError> {
        check_range(pages, self.shadow.pages())?;
        self.incoming.add_incoming(Operation::Read, pages.len() as u64);
        let mut found = Vec::new();
        for &page in pages {
            loop {
                found.clear();
                let answer = self.ftl_mut().read(&[page], &mut found);
                if answer.is_ok() {
                    self.shadow.read(page, found[0]).map_err(|problem| self.violation(problem))?;
                }
                if self.end(answer)? == Ended::Done {
                    break;
                }
            }
            out.push(P::of(found[0]));
        }
        Ok(())
    }

    fn trim(&mut self, pages: &[Lpn]) -> Result<(), LayerError> {
        check_range(pages, self.shadow.pages())?;
        self.incoming.add_incoming(Operation::Trim, pages.len() as u64);
        loop {
            pages.iter().for_each(|&page| self.shadow.trimmed(page));
            let answer = self.ftl_mut().trim(pages);
            if self.end(answer)? == Ended::Done {
                return Ok(());
            }
        }
    }

    fn flush(&mut self) -> Result<(), LayerError> {
        self.incoming.add_incoming(Operation::Flush, 1);
        loop {
            let answer = self.ftl_mut().flush();
            if answer.is_ok() && F::DURABLE_TRIMS {
                self.shadow.flushed();
            }
            if self.end(answer)? == Ended::Done {
                return Ok(());
            }
        }
    }

    /// No groups and no runs: pages are written, interrupted and verified one by one, and recovery does not check
    /// groups.
    fn abilities(&self) -> Abilities {
        self.ftl().abilities().without(Ability::AtomicGroups).without(Ability::Runs)
    }

    fn query(&self, query: Query<'_>) -> Answer {
        match query.ability() {
            Ability::AtomicGroups => Answer::Nothing,
            _ => self.ftl().query(query),
        }
    }

    fn command(&mut self, command: Command<'_, P>) -> Result<Answer, LayerError> {
        self.told.note(&command);
        let content_free = command.without_content().filter(|command| command.ability() != Ability::Runs);
        let Some(content_free) = content_free else { return command.unable() };
        loop {
            let answer = self.ftl_mut().command(content_free);
            let done = answer.as_ref().map(drop).map_err(Clone::clone);
            if self.end(done)? == Ended::Done {
                return answer;
            }
        }
    }

    fn describe(&self, reports: &mut Reports) {
        let at = reports.layers.len();
        self.ftl().describe(reports);
        self.lives.complete(reports, at);
        reports.layers[at].counters.replace_incoming(&self.incoming);
    }

    fn final_draw(&mut self) -> u64 {
        self.ftl_mut().final_draw() ^ below(&mut self.random, 1 << 48)
    }

    fn check(&self) -> Result<(), String> {
        self.ftl().check()
    }
}
