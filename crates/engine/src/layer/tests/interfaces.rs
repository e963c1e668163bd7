//! Named methods forward to a layer unchanged, also through a pointer; flash answers like a layer without abilities.

use super::super::*;
use crate::config::ConfigError;
use crate::counters::Cause;
use crate::units::BlockId;
use std::sync::{Arc, Mutex};

/// Command without content.
pub type EmptyCommand = Command<'static, ()>;

/// Log of received calls, in order.
#[derive(Clone, Default)]
pub struct CallLog(Arc<Mutex<Vec<String>>>);

impl CallLog {
    pub fn record(&self, call: impl std::fmt::Debug) {
        self.0.lock().unwrap().push(format!("{call:?}"));
    }

    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

/// A layer of 8 pages with every ability, which logs its calls and gives unusual answers.
pub struct LoggingLayer(pub CallLog);

impl Layer<ContentId> for LoggingLayer {
    fn logical_pages(&self) -> u32 {
        8
    }
    fn write(&mut self, pages: &[Lpn], data: &[ContentId], hint: u16) -> Result<(), LayerError> {
        self.0.record(("write", pages, data, hint));
        Ok(())
    }
    fn read(&mut self, pages: &[Lpn], out: &mut Vec<ContentId>) -> Result<(), LayerError> {
        out.extend(pages.iter().map(|page| ContentId(100 + u64::from(page.0))));
        Ok(())
    }
    fn trim(&mut self, pages: &[Lpn]) -> Result<(), LayerError> {
        self.0.record(("trim", pages));
        Ok(())
    }
    fn flush(&mut self) -> Result<(), LayerError> {
        self.0.record("flush");
        Ok(())
    }
    fn abilities(&self) -> Abilities {
        Abilities::of(&Ability::ALL.map(|ability| (ability, true)))
    }
    fn query(&self, query: Query<'_>) -> Answer {
        self.0.record(query);
        match query {
            Query::AtomicPages => Answer::Pages(5),
            Query::MovedPages(_) => Answer::Pages(3),
            Query::LeftValid(_) => Answer::LeftValid { valid_pages: 3, block_pages: 4 },
            Query::Prefetch { .. } | Query::Zone(_) => Answer::Nothing,
        }
    }
    fn command(&mut self, command: Command<'_, ContentId>) -> Result<Answer, LayerError> {
        self.0.record(command);
        Ok(Answer::Done(true))
    }
    fn describe(&self, reports: &mut Reports) {
        reports.layers.push(LayerReport::default());
    }
    fn written_pages(&self) -> u64 {
        55
    }
    fn final_draw(&mut self) -> u64 {
        77
    }
    fn check(&self) -> Result<(), String> {
        Err("a defect".to_owned())
    }
}

/// Calls every method of a layer that returns a value. Returns the values as text.
fn call_all_methods(layer: &mut impl Layer<ContentId>) -> String {
    let (mut read, mut reports) = (Vec::new(), Reports::default());
    layer.write(&[Lpn(1), Lpn(2)], &[ContentId(7), ContentId(8)], 3).unwrap();
    layer.read(&[Lpn(4)], &mut read).unwrap();
    layer.trim(&[Lpn(5)]).unwrap();
    layer.flush().unwrap();
    layer.describe(&mut reports);
    let answers = (layer.query(Query::AtomicPages), layer.command(Command::CleanWhileIdle).unwrap());
    let properties =
        (layer.logical_pages(), layer.abilities(), layer.check(), layer.written_pages(), layer.final_draw());
    format!("{read:?} {answers:?} {properties:?} {}", reports.layers.len())
}

#[test]
fn boxed_layer_forwards_all_calls() {
    let calls = CallLog::default();
    let direct = (call_all_methods(&mut LoggingLayer(calls.clone())), calls.take());
    assert_eq!(direct.1.len(), 5);
    let mut boxed: Box<dyn Layer<ContentId>> = Box::new(LoggingLayer(calls.clone()));
    assert_eq!((call_all_methods(&mut boxed), calls.take()), direct);
}

#[test]
fn named_methods_send_queries_and_commands() {
    let calls = CallLog::default();
    let mut layer = LoggingLayer(calls.clone());
    let (pages, data) = ([Lpn(2), Lpn(6)], [ContentId(9), ContentId(1)]);
    let expected = CallLog::default();
    layer.write_atomic(&pages, &data, 3).unwrap();
    expected.record(Command::WriteAtomic { pages: &pages, data: &data, hint: 3 });
    layer.count_moves();
    expected.record(EmptyCommand::CountMoves);
    layer.notify_cleaning_above(true);
    expected.record(EmptyCommand::CleaningAbove { begins: true });
    assert_eq!(layer.clean_while_idle(), Ok(true));
    expected.record(EmptyCommand::CleanWhileIdle);
    layer.set_partitions(&[4, 8]);
    expected.record(EmptyCommand::SetPartitions { ends: &[4, 8] });
    assert_eq!((layer.atomic_pages(), layer.moved_pages(&pages), layer.left_valid(&pages)), (5, 3, 0.75));
    expected.record(Query::AtomicPages);
    expected.record(Query::MovedPages(&pages));
    expected.record(Query::LeftValid(&pages));
    assert_eq!(calls.take(), expected.take());
    assert!(layer.needs_whole_requests());
}

#[test]
fn empty_answers_convert_to_zero() {
    let left_valid = |valid_pages, held_pages| Answer::LeftValid { valid_pages, block_pages: held_pages };
    for (answer, pages, fraction) in [
        (Answer::Nothing, 0, 0.0),
        (Answer::Pages(4), 4, 0.0),
        (Answer::Done(true), 0, 0.0),
        (left_valid(0, 0), 0, 0.0),
        (left_valid(1, 4), 0, 0.25),
        (left_valid(1, 1), 0, 1.0),
    ] {
        assert_eq!((answer.pages(), answer.valid_fraction()), (pages, fraction), "{answer:?}");
    }
}

/// Translating a query or command to other pages changes nothing but the pages.
#[test]
fn with_pages_changes_only_the_pages() {
    let (pages, other_pages) = ([Lpn(2), Lpn(6)], [Lpn(12), Lpn(16)]);
    let data = [ContentId(9), ContentId(1)];
    for (query, ability, expected) in [
        (Query::AtomicPages, Ability::AtomicGroups, Query::AtomicPages),
        (Query::MovedPages(&pages), Ability::MoveCounts, Query::MovedPages(&other_pages)),
        (Query::LeftValid(&pages), Ability::LeftValid, Query::LeftValid(&other_pages)),
        (
            Query::Prefetch { pages: &pages, second_pass: true },
            Ability::Prefetch,
            Query::Prefetch { pages: &other_pages, second_pass: true },
        ),
        (Query::Zone(&pages), Ability::Zones, Query::Zone(&other_pages)),
    ] {
        assert_eq!(query.ability(), ability);
        assert_eq!(query.pages().len(), if ability == Ability::AtomicGroups { 0 } else { 2 });
        assert_eq!(format!("{:?}", query.with_pages(&other_pages)), format!("{expected:?}"));
    }
    let write = |pages| Command::WriteAtomic { pages, data: &data, hint: 3 };
    assert_eq!((write(&pages).ability(), write(&pages).written_pages()), (Ability::AtomicGroups, &pages[..]));
    assert_eq!(format!("{:?}", write(&pages).with_pages(&other_pages)), format!("{:?}", write(&other_pages)));
    assert!(write(&pages).without_content::<()>().is_none());
    assert_eq!(write(&pages).unsupported(), Err(LayerError::NotAtomic { pages: 2, longest: 0 }));
    for run in [
        Command::WriteRun { first: Lpn(2), data: &data, hint: 3 },
        Command::TrimRun { first: Lpn(2), pages: 2 },
    ] {
        assert_eq!(
            (run.ability(), run.written_pages(), run.unsupported()),
            (Ability::Runs, &[][..], Err(LayerError::RunsUnsupported))
        );
        assert_eq!(run.without_content::<()>().is_some(), matches!(run, Command::TrimRun { .. }));
    }
    let other_commands: [(Command<'_, ContentId>, Ability); 4] = [
        (Command::SetPartitions { ends: &[4, 8] }, Ability::Attribution),
        (Command::CountMoves, Ability::MoveCounts),
        (Command::CleaningAbove { begins: true }, Ability::Deferral),
        (Command::CleanWhileIdle, Ability::IdleCleaning),
    ];
    fn finish(pages: &[Lpn]) -> Command<'_, ContentId> {
        Command::FinishZone { pages }
    }
    assert_eq!(
        (finish(&pages).ability(), finish(&pages).unsupported()),
        (Ability::Zones, Ok(Answer::Nothing))
    );
    assert_eq!(
        format!("{:?}", finish(&pages).with_pages(&other_pages)),
        format!("{:?}", finish(&other_pages))
    );
    assert!(matches!(finish(&pages).without_content::<()>(), Some(Command::FinishZone { .. })));
    for (command, ability) in other_commands {
        assert_eq!(
            (command.ability(), command.written_pages(), command.unsupported()),
            (ability, &[][..], Ok(Answer::Nothing))
        );
        let same = format!("{command:?}");
        assert_eq!(format!("{:?}", command.with_pages(&other_pages)), same);
        assert_eq!(format!("{:?}", command.without_content::<()>().unwrap()), same);
    }
}

/// A medium that only provides its listener and its layer below; all other calls are unexpected.
pub struct StubMedium(pub Option<CallLog>);

impl InvalidationListener for CallLog {
    fn on_invalidate(&mut self, invalidations: &[Invalidation]) {
        invalidations.iter().for_each(|invalidation| {
            self.record((invalidation.owner, invalidation.block, invalidation.page))
        });
    }
}

impl LayerBelow for CallLog {
    fn abilities(&self) -> Abilities {
        Abilities::NONE.with(Ability::Deferral, true)
    }
    fn notify_cleaning(&mut self, begins: bool) {
        self.record(begins);
    }
    fn clean_ahead(&mut self) -> Result<bool, LayerError> {
        Ok(true)
    }
    fn left_valid(&self, block: BlockId) -> f64 {
        f64::from(block.0) / 8.0
    }
    fn written_in(&self, block: BlockId) -> u32 {
        block.0
    }
    fn log_metadata(&self) -> Option<&dyn LogMetadata> {
        Some(self)
    }
    fn log_metadata_mut(&mut self) -> Option<&mut dyn LogMetadata> {
        Some(self)
    }
    fn end_checkpoint(&mut self) -> Result<(), MediumError> {
        Err(MediumError::PowerLost)
    }
}

impl LogMetadata for CallLog {
    fn set_streams(&mut self, streams: u8) -> Result<(), ConfigError> {
        Err(ConfigError::new("streams", streams.to_string()))
    }
    fn has_own_stream(&self) -> bool {
        true
    }
    fn metadata_pages(&self) -> u32 {
        6
    }
    fn pages_until_checkpoint(&self) -> u64 {
        40
    }
    fn is_checkpoint_due_to_cleaning(&self) -> bool {
        true
    }
    fn begin_checkpoint(&mut self, pages: &mut Vec<Lpn>) {
        pages.push(Lpn(3));
    }
    fn begin_flush(&mut self, pages: &mut Vec<Lpn>) -> bool {
        pages.push(Lpn(5));
        true
    }
}

impl Medium for StubMedium {
    type Payload = ();
    const READS_BY_PAGE: bool = false;
    const STORES_GROUPS: bool = false;

    fn invalidation_listener(&mut self) -> Option<&mut dyn InvalidationListener> {
        self.0.as_mut().map(|below| below as _)
    }
    fn layer_below(&self) -> Option<&dyn LayerBelow> {
        self.0.as_ref().map(|below| below as _)
    }
    fn layer_below_mut(&mut self) -> Option<&mut dyn LayerBelow> {
        self.0.as_mut().map(|below| below as _)
    }
    fn blocks(&self) -> u32 {
        unreachable!()
    }
    fn pages_per_block(&self) -> u32 {
        unreachable!()
    }
    fn program(&mut self, _: BlockId, _: u32, _: Run<'_, ()>) -> Result<(), MediumError> {
        unreachable!()
    }
    fn erase(&mut self, _: BlockId, _: Cause) -> Result<(), MediumError> {
        unreachable!()
    }
    fn read(&mut self, _: BlockId, _: Pages<'_>, _: Cause, _: &mut Vec<()>) -> Result<(), MediumError> {
        unreachable!()
    }
    fn count_reads(&mut self, _: u64) {
        unreachable!()
    }
    fn prefetch_block(&self, _: BlockId) {
        unreachable!()
    }
    fn flush(&mut self) -> Result<(), MediumError> {
        unreachable!()
    }
    fn retire(&mut self, _: BlockId) {
        unreachable!()
    }
    fn take_disturbed(&mut self) -> Option<BlockId> {
        unreachable!()
    }
    fn reads_before_refresh(&self, _: BlockId) -> u32 {
        unreachable!()
    }
    fn read_wear(&mut self, _: BlockId) {
        unreachable!()
    }
    fn is_bad(&self, _: BlockId) -> bool {
        unreachable!()
    }
    fn erases(&self, _: BlockId) -> u32 {
        unreachable!()
    }
    fn describe(&self, _: &mut Reports) {
        unreachable!()
    }
    fn check(&self) -> Result<(), String> {
        unreachable!()
    }
}

#[test]
fn medium_ext_forwards_to_layer_below_and_defaults_on_flash() {
    let calls = CallLog::default();
    let (mut on_layer, mut flash) = (StubMedium(Some(calls.clone())), StubMedium(None));
    for medium in [&mut on_layer, &mut flash] {
        medium.on_invalidate(&[Invalidation { owner: Lpn(1), block: BlockId(2), page: 3 }]);
        medium.notify_cleaning(true);
    }
    assert_eq!(calls.take(), ["(Lpn(1), BlockId(2), 3)", "true"]);
    assert_eq!(on_layer.set_streams(4).unwrap_err().problem, "4");
    assert_eq!(flash.set_streams(4), Ok(()));
    let properties = |medium: &mut StubMedium| {
        (
            (medium.wants_invalidations(), medium.has_metadata_stream(), medium.metadata_pages()),
            medium.is_checkpoint_due_to_cleaning(),
            (medium.pages_until_checkpoint(), medium.left_valid(BlockId(4))),
            medium.abilities_below().iter().collect::<Vec<_>>(),
        )
    };
    assert_eq!(properties(&mut on_layer), ((true, true, 6), true, (40, 0.5), vec![Ability::Deferral]));
    assert_eq!(properties(&mut flash), ((false, false, 0), false, (u64::MAX, 0.0), vec![]));
    let mut pages = Vec::new();
    flash.begin_checkpoint(&mut pages);
    assert!(pages.is_empty());
    on_layer.begin_checkpoint(&mut pages);
    assert_eq!((on_layer.begin_flush(&mut pages), flash.begin_flush(&mut pages)), (true, false));
    assert_eq!(pages, [Lpn(3), Lpn(5)]);
    assert_eq!((on_layer.end_checkpoint(), flash.end_checkpoint()), (Err(MediumError::PowerLost), Ok(())));
    assert_eq!((on_layer.clean_while_idle(), flash.clean_while_idle()), (Ok(true), Ok(false)));
}
