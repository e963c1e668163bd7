//! FTLs with repeated power cuts, also in the middle of operations, and checks that no acknowledged data is lost.
//!
//! Layers above do not notice the cuts: an interrupted request is repeated after recovery. If the layers above write no
//! contents, each write stores a unique stamp. After each cut, pages are read back. These reads, and the work that they
//! cause in the FTL, are included in the FTL's counts.

mod expected_contents;
mod plan;

use super::lasting_commands::LastingCommands;
use super::power_cycle_counts::PowerCycleCounts;
use super::{Outages, PowerCycle, Restart};
use crate::counters::{Counters, Operation};
use crate::layer::{
    Abilities, Ability, Answer, Command, ContentId, Layer, LayerError, LayerExt, Payload, Query,
    RecoveryReport, Reports, Violation, check_range,
};
use crate::nand::{Flash, PowerCut, PowerCutFlash, PowerSource};
use crate::seed::{Random, Seed, random_below};
use crate::timing::{Event, Journal};
use crate::units::Lpn;
use expected_contents::ExpectedContents;
use plan::{CutPlan, format_cuts};
pub use plan::{CutTimes, parse_cuts};
use std::marker::PhantomData;

/// Maximum size in pages of a drive that is read back and checked completely after each cut; of larger drives, this
/// many random pages are read back.
const READ_BACK_PAGES: u32 = 1 << 16;

/// Maximum number of operations from the beginning of a recovery to a cut of the recovery, and from the end of a
/// recovery to a repeated cut.
const EARLY_CUT_OPERATIONS: u64 = 64;

/// Maximum number of cuts listed in the name of a case.
const MAX_LISTED_CUTS: usize = 16;

/// Number of consecutive cuts after which a request fails. A request that makes progress between cuts takes a few
/// hundred operations; a request that starts over after each cut would never complete.
const MAX_CUTS_PER_REQUEST: u32 = 1000;

/// Settings of power cuts.
#[derive(Clone, Debug)]
pub struct CutSettings {
    /// Times of the cuts.
    pub cuts: CutTimes,
    /// Probability that a recovery is also cut; at least 0 and below 1.
    pub recovery_cut_probability: f64,
    /// Probability that power is cut again soon after a recovery, before any page is read back; at least 0 and below 1.
    pub cut_again_probability: f64,
    /// Root seed of the random numbers that decide if operations are torn.
    pub seed: Seed,
}

/// Payload of a layer on top of an FTL that stores a content identifier in each page.
pub trait IdentifiedPayload: Payload {
    /// True if the payload determines the content; otherwise a stamp is used.
    const IS_CONTENT: bool;

    /// Returns the content of a page with this payload.
    fn content(&self) -> ContentId;

    /// Returns the payload of a page with this content.
    fn from_content(content: ContentId) -> Self;
}

impl IdentifiedPayload for () {
    const IS_CONTENT: bool = false;

    fn content(&self) -> ContentId {
        ContentId::UNKNOWN
    }

    fn from_content(_content: ContentId) {}
}

impl IdentifiedPayload for ContentId {
    const IS_CONTENT: bool = true;

    fn content(&self) -> ContentId {
        *self
    }

    fn from_content(content: ContentId) -> ContentId {
        content
    }
}

/// An FTL with power cuts, which offers its pages with payload `P`.
pub struct PowerCutFtl<F: Restart, P = ()> {
    /// The FTL; `None` only during recovery.
    ftl: Option<F>,
    settings: F::Settings,
    power_source: PowerSource,
    /// Journal of flash operations; paused if it is not used.
    journal: Journal,
    plan: CutPlan,
    recovery_cut_probability: f64,
    cut_again_probability: f64,
    random: Random,
    expected: ExpectedContents,
    incoming: Counters,
    cycle_counts: PowerCycleCounts,
    lasting_commands: LastingCommands,
    outages: Outages,
    /// Number of cuts since a request was completed.
    consecutive_cuts: u32,
    /// The next cut.
    next_cut: Option<PowerCut>,
    /// All cuts so far, for the description of a violation.
    past_cuts: Vec<PowerCut>,
    payload: PhantomData<fn() -> P>,
}

/// Result of a request.
#[derive(PartialEq, Eq)]
enum RequestOutcome {
    Done,
    /// The request must be repeated.
    Interrupted,
}

impl<F, G, P> PowerCutFtl<F, P>
where
    F: Restart<Flash = PowerCutFlash<G>>,
    PowerCutFlash<G>: Flash<Payload = ContentId>,
    P: IdentifiedPayload,
{
    /// Wraps a new `ftl`, built from `settings` on `power_source`, on flash that records its operations in `journal`.
    pub fn new(
        ftl: F,
        settings: F::Settings,
        power_source: PowerSource,
        cut_settings: CutSettings,
        journal: Journal,
    ) -> Self {
        let pages = ftl.logical_pages();
        let mut interrupted = PowerCutFtl {
            expected: ExpectedContents::new(pages, P::IS_CONTENT),
            ftl: Some(ftl),
            settings,
            power_source,
            journal,
            plan: CutPlan::new(cut_settings.cuts),
            recovery_cut_probability: cut_settings.recovery_cut_probability,
            cut_again_probability: cut_settings.cut_again_probability,
            random: cut_settings.seed.derive("power cuts").random(),
            incoming: Counters::default(),
            cycle_counts: PowerCycleCounts::default(),
            lasting_commands: LastingCommands::default(),
            outages: Outages::default(),
            consecutive_cuts: 0,
            next_cut: None,
            past_cuts: Vec::new(),
            payload: PhantomData,
        };
        interrupted.schedule_cut();
        interrupted
    }

    fn ftl(&self) -> &F {
        self.ftl.as_ref().expect("no call after a failed recovery")
    }

    fn ftl_mut(&mut self) -> &mut F {
        self.ftl.as_mut().expect("no call after a failed recovery")
    }

    fn violation(&self, problem: String) -> LayerError {
        let cuts = format_cuts(&self.past_cuts[self.past_cuts.len().saturating_sub(MAX_LISTED_CUTS)..]);
        let unlisted = self.past_cuts.len().saturating_sub(MAX_LISTED_CUTS);
        let suffix = if unlisted > 0 { format!(", after {unlisted} cuts before") } else { String::new() };
        LayerError::GuaranteeViolated(Box::new(Violation { case: format!("cut:{cuts}{suffix}"), problem }))
    }

    /// Prepares a write request. Returns the contents to write.
    fn begin_write(&mut self, pages: &[Lpn], data: &[P]) -> Vec<ContentId> {
        let stamp = |(&page, data): (&Lpn, &P)| {
            if !P::IS_CONTENT {
                return self.expected.begin_stamped(page);
            }
            self.expected.begin_write(page, data.content());
            data.content()
        };
        pages.iter().zip(data).map(stamp).collect()
    }

    /// Processes the result of a request; recovers the FTL if power was lost.
    fn finish_request(&mut self, answer: Result<(), LayerError>) -> Result<RequestOutcome, LayerError> {
        if answer.is_ok() {
            self.record_durable();
        }
        match answer {
            Err(_) if self.power_source.is_off() => {
                self.recover()?;
                self.consecutive_cuts += 1;
                let cuts = self.consecutive_cuts;
                if cuts < MAX_CUTS_PER_REQUEST {
                    Ok(RequestOutcome::Interrupted)
                } else {
                    Err(LayerError::Starved { cuts })
                }
            }
            Ok(()) if self.power_source.is_failing() => {
                self.ftl_mut().save()?;
                self.record_durable();
                self.recover().map(|()| RequestOutcome::Done)
            }
            answer => answer.map(|()| RequestOutcome::Done),
        }
        .inspect(|outcome| {
            if *outcome == RequestOutcome::Done {
                self.consecutive_cuts = 0;
            }
        })
    }

    fn record_durable(&mut self) {
        if !self.ftl().has_volatile_writes() {
            self.expected.mark_writes_durable();
        }
    }

    /// Recovers the FTL after a power cut and verifies its contents.
    fn recover(&mut self) -> Result<(), LayerError> {
        let cut = self.next_cut.expect("power is only lost where that was planned");
        self.past_cuts.push(cut);
        self.outages.cuts += 1;
        // With a battery, the operation is completed and not torn.
        self.outages.torn_cuts += u64::from(cut.torn && !self.power_source.is_failing());
        self.restart()?;
        self.journal.push_event(Event::Recovered);
        let now = self.power_source.operations();
        if let Some(early_cut) = self.plan.draw_early(now, self.cut_again_probability, &mut self.random) {
            self.next_cut = Some(early_cut);
            self.power_source.schedule_cut(self.next_cut);
            return Ok(());
        }
        // Verification takes no time of the simulated drive.
        let journal = self.journal.clone();
        let verified = journal.without_recording(|| self.verify());
        self.schedule_cut();
        verified
    }

    /// Recovers the FTL, repeatedly if power fails during recovery.
    fn restart(&mut self) -> Result<RecoveryReport, LayerError> {
        let ftl = self.ftl.take().expect("no call after a failed recovery");
        self.cycle_counts.end_cycle(&ftl);
        self.expected.record_power_cut();
        let mut surviving = ftl.into_flash();
        loop {
            self.journal.push_event(Event::PowerLost);
            self.power_source.restore();
            let now = self.power_source.operations();
            self.next_cut = self.plan.next_in_recovery(now, self.recovery_cut_probability, &mut self.random);
            self.power_source.schedule_cut(self.next_cut);
            match F::restart(&self.settings, surviving) {
                Ok((mut ftl, report)) => {
                    self.power_source.restore();
                    self.lasting_commands.repeat(&mut ftl);
                    self.ftl = Some(ftl);
                    self.outages.recoveries.push(report.clone());
                    return Ok(report);
                }
                Err((_, still_surviving)) if self.power_source.is_off() => {
                    self.past_cuts.extend(self.next_cut);
                    self.outages.cuts_in_recovery += 1;
                    surviving = still_surviving;
                }
                Err((error, _)) => return Err(self.violation(format!("the FTL does not come back: {error}"))),
            }
        }
    }

    /// Sets the next cut, counting from now.
    fn schedule_cut(&mut self) {
        let now = self.power_source.operations();
        self.next_cut = self.plan.next(now, &mut self.random);
        self.power_source.schedule_cut(self.next_cut);
    }

    /// Reads pages back and checks each page against the contents that a cut may have left. From now on, the content
    /// that was found is expected.
    fn verify(&mut self) -> Result<(), LayerError> {
        let whole = self.expected.pages() <= READ_BACK_PAGES;
        let pages = if whole {
            (0..self.expected.pages()).map(Lpn).collect()
        } else {
            self.expected.sample(READ_BACK_PAGES, &mut self.random)
        };
        let mut found = Vec::new();
        for &page in &pages {
            found.clear();
            let read = self.ftl_mut().read(&[page], &mut found);
            read.map_err(|error| self.violation(format!("{page:?} cannot be read: {error}")))?;
            self.expected.check_read(page, found[0]).map_err(|problem| self.violation(problem))?;
        }
        self.outages.pages_verified += pages.len() as u64;
        match self.ftl().check() {
            Err(problem) if whole => Err(self.violation(problem)),
            _ => Ok(()),
        }
    }
}

impl<F, G, P> PowerCycle for PowerCutFtl<F, P>
where
    F: Restart<Flash = PowerCutFlash<G>>,
    F::Settings: Send,
    PowerCutFlash<G>: Flash<Payload = ContentId>,
    P: IdentifiedPayload,
{
    fn cycle(&mut self) -> Result<RecoveryReport, LayerError> {
        self.power_source.schedule_cut(None);
        self.ftl_mut().save()?;
        self.record_durable();
        self.plan = CutPlan::new(CutTimes::At(Vec::new()));
        self.recovery_cut_probability = 0.0;
        let journal = self.journal.clone();
        journal.without_recording(|| {
            let report = self.restart()?;
            self.verify().map(|()| report)
        })
    }

    fn begin_measurement(&mut self, host_pages: u64) {
        self.plan.begin_measurement(self.power_source.operations(), host_pages, &mut self.random);
        self.schedule_cut();
    }

    fn outages(&self) -> Option<Outages> {
        Some(self.outages.clone())
    }
}

impl<F, G, P> Layer<P> for PowerCutFtl<F, P>
where
    F: Restart<Flash = PowerCutFlash<G>>,
    F::Settings: Send,
    PowerCutFlash<G>: Flash<Payload = ContentId>,
    P: IdentifiedPayload,
{
    fn logical_pages(&self) -> u32 {
        self.ftl().logical_pages()
    }

    fn write(&mut self, pages: &[Lpn], data: &[P], hint: u16) -> Result<(), LayerError> {
        check_range(pages, self.expected.pages())?;
        // Pages are written one by one, so that only one page is in flight. If the FTL needs whole requests, the pages
        // of a request stay together.
        let pages_per_call = if self.ftl().needs_whole_requests() { pages.len().max(1) } else { 1 };
        for (pages, data) in pages.chunks(pages_per_call).zip(data.chunks(pages_per_call)) {
            loop {
                let contents = self.begin_write(pages, data);
                let answer = self.ftl_mut().write(pages, &contents, hint);
                if answer.is_ok() {
                    pages.iter().for_each(|&page| self.expected.record_write(page));
                }
                if self.finish_request(answer)? == RequestOutcome::Done {
                    break;
                }
            }
            self.incoming.add_incoming(Operation::Write, pages.len() as u64);
        }
        Ok(())
    }

    fn read(&mut self, pages: &[Lpn], out: &mut Vec<P>) -> Result<(), LayerError> {
        check_range(pages, self.expected.pages())?;
        self.incoming.add_incoming(Operation::Read, pages.len() as u64);
        let mut found = Vec::new();
        for &page in pages {
            loop {
                found.clear();
                let answer = self.ftl_mut().read(&[page], &mut found);
                if answer.is_ok() {
                    self.expected.check_read(page, found[0]).map_err(|problem| self.violation(problem))?;
                }
                if self.finish_request(answer)? == RequestOutcome::Done {
                    break;
                }
            }
            out.push(P::from_content(found[0]));
        }
        Ok(())
    }

    fn trim(&mut self, pages: &[Lpn]) -> Result<(), LayerError> {
        check_range(pages, self.expected.pages())?;
        self.incoming.add_incoming(Operation::Trim, pages.len() as u64);
        loop {
            pages.iter().for_each(|&page| self.expected.record_trim(page));
            let answer = self.ftl_mut().trim(pages);
            if self.finish_request(answer)? == RequestOutcome::Done {
                return Ok(());
            }
        }
    }

    fn flush(&mut self) -> Result<(), LayerError> {
        self.incoming.add_incoming(Operation::Flush, 1);
        loop {
            let answer = self.ftl_mut().flush();
            if answer.is_ok() && F::DURABLE_TRIMS {
                self.expected.mark_trims_durable();
            }
            if self.finish_request(answer)? == RequestOutcome::Done {
                return Ok(());
            }
        }
    }

    /// [`Ability::AtomicGroups`] and [`Ability::Runs`] are missing: pages are written, interrupted and verified one by
    /// one, and recovery does not check groups.
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
        self.lasting_commands.record(&command);
        let content_free = command.without_content().filter(|command| command.ability() != Ability::Runs);
        let Some(content_free) = content_free else { return command.unsupported() };
        loop {
            let answer = self.ftl_mut().command(content_free);
            let result = answer.as_ref().map(drop).map_err(Clone::clone);
            if self.finish_request(result)? == RequestOutcome::Done {
                return answer;
            }
        }
    }

    fn describe(&self, reports: &mut Reports) {
        let at = reports.layers.len();
        self.ftl().describe(reports);
        self.cycle_counts.complete(reports, at);
        reports.layers[at].counters.replace_incoming(&self.incoming);
    }

    fn written_pages(&self) -> u64 {
        self.incoming.incoming(Operation::Write)
    }

    fn final_draw(&mut self) -> u64 {
        self.ftl_mut().final_draw() ^ random_below(&mut self.random, 1 << 48)
    }

    fn check(&self) -> Result<(), String> {
        self.ftl().check()
    }
}
