//! Wrapper that checks the contract of a layer.

use crate::counters::{Counters, Operation};
use crate::layer::{Abilities, Answer, Command, Layer, LayerError, LayerReport, Payload, Query, Reports};
use crate::units::Lpn;

/// Returns consecutive pages as a list.
fn page_list(first: Lpn, pages: usize) -> Vec<Lpn> {
    (first.0..).map(Lpn).take(pages).collect()
}

/// A layer whose answers are all checked. Panics if the layer, or its user, breaks the contract; violations that only
/// a count reveals are errors of [`Layer::check`].
pub struct CheckedLayer<P> {
    inner: Box<dyn Layer<P>>,
    pages: u32,
    abilities: Abilities,
    /// A bit for each page that was ever written.
    written: Vec<u64>,
    /// Counters of the layer before it was wrapped, and requests since then.
    before: Option<Counters>,
    incoming: Counters,
    /// True if an operation failed half-way, so that only the layer knows its progress.
    is_uncertain: bool,
    /// Number of logs above that are cleaning.
    cleaning_above: u32,
    /// True if the first moved pages have been attributed to partitions.
    has_partitions: bool,
}

impl<P: Payload> CheckedLayer<P> {
    /// Wraps `inner`, which may have been used before.
    pub fn new(inner: Box<dyn Layer<P>>) -> Self {
        let (pages, abilities) = (inner.logical_pages(), inner.abilities());
        let mut checked = CheckedLayer {
            inner,
            pages,
            abilities,
            written: vec![0; pages.div_ceil(64) as usize],
            before: None,
            incoming: Counters::default(),
            is_uncertain: false,
            cleaning_above: 0,
            has_partitions: false,
        };
        checked.before = checked.own_report().map(|report| report.counters);
        let is_new = checked.before.is_some_and(|before| before == Counters::default());
        if !is_new {
            checked.written.fill(u64::MAX);
        }
        checked
    }

    /// Returns the layer's own report; `None` for a layer that is described elsewhere, such as a partition.
    fn own_report(&self) -> Option<LayerReport> {
        let mut reports = Reports::default();
        self.inner.describe(&mut reports);
        reports.layers.into_iter().next()
    }

    fn is_in_range(&self, pages: &[Lpn]) -> bool {
        pages.iter().all(|page| page.0 < self.pages)
    }

    /// Checks the result of an operation on `pages`, and counts it.
    fn check_result<T>(&mut self, operation: Operation, pages: &[Lpn], done: &Result<T, LayerError>) {
        let is_in_range = self.is_in_range(pages);
        let is_refusal = matches!(done, Err(LayerError::OutOfRange { .. }));
        assert_eq!(
            is_refusal, !is_in_range,
            "{operation:?}: pages outside of {} are refused, no others",
            self.pages
        );
        match done {
            Ok(_) => {
                let amount = if operation == Operation::Flush { 1 } else { pages.len() as u64 };
                self.incoming.add_incoming(operation, amount);
                if operation == Operation::Write {
                    pages.iter().for_each(|page| self.written[page.index() / 64] |= 1 << (page.0 % 64));
                }
            }
            // The operation was rejected completely.
            Err(
                LayerError::OutOfRange { .. }
                | LayerError::NotAtomic { .. }
                | LayerError::PartialReset { .. },
            ) => {}
            Err(_) => {
                pages.iter().for_each(|page| self.written[page.index() / 64] |= 1 << (page.0 % 64));
                self.is_uncertain = true;
            }
        }
    }

    /// Checks the result of an atomic group of pages, and counts it.
    fn check_group_result(&mut self, pages: &[Lpn], done: &Result<Answer, LayerError>) {
        let longest = self.inner.query(Query::AtomicPages).pages();
        let is_too_long = pages.len() as u64 > longest;
        let is_refused = matches!(done, Err(LayerError::NotAtomic { .. }));
        assert!(
            is_refused == is_too_long || !self.is_in_range(pages),
            "{done:?}: groups of up to {longest} pages"
        );
        if !is_refused {
            self.check_result(Operation::Write, pages, done);
        }
    }

    fn was_written(&self, page: Lpn) -> bool {
        self.written[page.index() / 64] >> (page.0 % 64) & 1 == 1
    }

    fn check_answer(&self, query: Query<'_>, answer: Answer) {
        let has_ability = self.abilities.has(query.ability());
        assert!(has_ability || answer == Answer::Nothing, "{query:?}: {answer:?} without the ability");
        match (query, answer) {
            (_, Answer::Nothing) => {
                let is_mandatory = matches!(query, Query::AtomicPages | Query::LeftValid(_));
                assert!(
                    !has_ability || !is_mandatory,
                    "{query:?}: no answer from a layer that has the ability"
                );
            }
            (Query::AtomicPages, Answer::Pages(pages)) => {
                assert!(pages > 0 && pages <= u64::from(self.pages), "groups of {pages} pages");
            }
            (Query::MovedPages(pages), Answer::Pages(moved)) => {
                assert!(moved <= pages.len() as u64, "{moved} of {} pages moved", pages.len());
            }
            (Query::LeftValid(pages), Answer::LeftValid { valid_pages, block_pages: held_pages }) => {
                assert!(valid_pages <= held_pages, "{valid_pages} of {held_pages} pages are valid");
                assert!(!pages.is_empty() || held_pages == 0, "blocks that hold none of no pages");
            }
            (Query::Zone(pages), Answer::Zone(zone)) => {
                assert!(!pages.is_empty() && zone.written <= zone.pages, "{zone:?} of {} pages", pages.len());
                assert!(zone.open_limit.is_none() || zone.write_pointer() == 0, "{zone:?} is open already");
            }
            _ => panic!("{query:?} is not answered by {answer:?}"),
        }
    }

    /// Compares the layer's counters with the requests.
    fn check_counts(&self) -> Result<(), String> {
        let Some(report) = self.own_report() else { return Ok(()) };
        let before = self.before.unwrap_or_default();
        for operation in Operation::ALL {
            let counted = report.counters.incoming(operation) - before.incoming(operation);
            let received = self.incoming.incoming(operation);
            if counted != received && !self.is_uncertain && operation != Operation::Erase {
                return Err(format!(
                    "{}: {received} × {} came in, {counted} were counted",
                    report.directory,
                    operation.name()
                ));
            }
        }
        if report.logical_pages != self.pages || report.mapped_pages > report.logical_pages {
            return Err(format!(
                "{}: {} of {} pages hold data, it shows {}",
                report.directory, report.mapped_pages, report.logical_pages, self.pages
            ));
        }
        if self.has_partitions && report.moved_pages.is_empty() && self.has_own_moves(&report) {
            return Err(format!("{}: moved pages are not told apart, as it was asked", report.directory));
        }
        Ok(())
    }

    /// True if the layer moves pages itself, and not only a layer below it.
    fn has_own_moves(&self, own: &LayerReport) -> bool {
        own.cleanings.is_some_and(|cleanings| cleanings > 0)
    }
}

impl<P: Payload> Layer<P> for CheckedLayer<P> {
    fn logical_pages(&self) -> u32 {
        assert_eq!(self.inner.logical_pages(), self.pages, "a layer has as many pages as it had");
        self.pages
    }

    fn write(&mut self, pages: &[Lpn], data: &[P], hint: u16) -> Result<(), LayerError> {
        assert_eq!(pages.len(), data.len(), "content for every page");
        let done = self.inner.write(pages, data, hint);
        self.check_result(Operation::Write, pages, &done);
        done
    }

    fn read(&mut self, pages: &[Lpn], out: &mut Vec<P>) -> Result<(), LayerError> {
        let before = out.len();
        let done = self.inner.read(pages, out);
        self.check_result(Operation::Read, pages, &done);
        if done.is_ok() {
            assert_eq!(out.len() - before, pages.len(), "content for every page read");
            for (page, found) in pages.iter().zip(&out[before..]) {
                assert!(
                    self.was_written(*page) || *found == P::default(),
                    "{page:?} was never written: {found:?}"
                );
            }
        }
        done
    }

    fn trim(&mut self, pages: &[Lpn]) -> Result<(), LayerError> {
        let done = self.inner.trim(pages);
        self.check_result(Operation::Trim, pages, &done);
        done
    }

    fn flush(&mut self) -> Result<(), LayerError> {
        let done = self.inner.flush();
        self.check_result(Operation::Flush, &[], &done);
        done
    }

    fn abilities(&self) -> Abilities {
        assert_eq!(self.inner.abilities(), self.abilities, "a layer can what it could");
        self.abilities
    }

    fn query(&self, query: Query<'_>) -> Answer {
        debug_assert!(self.is_in_range(query.pages()), "{query:?}: pages outside of {}", self.pages);
        let answer = self.inner.query(query);
        if !matches!(query, Query::Prefetch { .. }) {
            self.check_answer(query, answer);
        }
        answer
    }

    fn command(&mut self, command: Command<'_, P>) -> Result<Answer, LayerError> {
        let has_ability = self.abilities.has(command.ability());
        match command {
            Command::WriteAtomic { pages, data, .. } => {
                assert_eq!(pages.len(), data.len(), "content for every page");
            }
            Command::SetPartitions { ends } => {
                assert!(ends.is_sorted(), "the ends of partitions rise");
                self.has_partitions = has_ability && self.incoming == Counters::default();
            }
            Command::CleaningAbove { begins: true } => self.cleaning_above += 1,
            Command::CleaningAbove { begins: false } => {
                let remaining = self.cleaning_above.checked_sub(1);
                self.cleaning_above = remaining.expect("no log ends to clean that had not begun");
            }
            Command::WriteRun { .. }
            | Command::TrimRun { .. }
            | Command::CountMoves
            | Command::CleanWhileIdle
            | Command::FinishZone { .. } => {}
        }
        let done = self.inner.command(command);
        match command {
            Command::WriteAtomic { pages, .. } => self.check_group_result(pages, &done),
            Command::WriteRun { first, data, .. } if has_ability => {
                self.check_result(Operation::Write, &page_list(first, data.len()), &done);
            }
            Command::TrimRun { first, pages } if has_ability => {
                self.check_result(Operation::Trim, &page_list(first, pages as usize), &done);
            }
            _ => self.is_uncertain |= has_ability && done.is_err(),
        }
        assert!(
            has_ability
                || matches!(
                    done,
                    Ok(Answer::Nothing | Answer::Done(false))
                        | Err(LayerError::NotAtomic { .. } | LayerError::RunsUnsupported)
                ),
            "{done:?}: without the ability"
        );
        done
    }

    fn describe(&self, reports: &mut Reports) {
        self.inner.describe(reports);
    }

    fn written_pages(&self) -> u64 {
        self.inner.written_pages()
    }

    fn final_draw(&mut self) -> u64 {
        self.inner.final_draw()
    }

    fn check(&self) -> Result<(), String> {
        self.inner.check()?;
        assert_eq!(self.inner.abilities(), self.abilities, "a layer can what it could");
        self.check_counts()
    }
}
