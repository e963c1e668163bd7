//! Named methods reach a layer unchanged, also through a pointer; flash answers like a layer without abilities.

use super::super::*;
use crate::config::ConfigError;
use crate::counters::Cause;
use crate::units::BlockId;
use std::sync::{Arc, Mutex};

/// Command without content.
pub type Said = Command<'static, ()>;

/// Log of received calls, in order.
#[derive(Clone, Default)]
pub struct Heard(Arc<Mutex<Vec<String>>>);

impl Heard {
    pub fn note(&self, what: impl std::fmt::Debug) {
        self.0.lock().unwrap().push(format!("{what:?}"));
    }

    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

/// A layer of 8 pages with every ability, which logs its calls and gives unusual answers.
pub struct Listener(pub Heard);

impl Layer<Content> for Listener {
    fn logical_pages(&self) -> u32 {
        8
    }
    fn write(&mut self, pages: &[Lpn], data: &[Content], hint: u16) -> Result<(), LayerError> {
        self.0.note(("write", pages, data, hint));
        Ok(())
    }
    fn read(&mut self, pages: &[Lpn], out: &mut Vec<Content>) -> Result<(), LayerError> {
        out.extend(pages.iter().map(|page| Content(100 + u64::from(page.0))));
        Ok(())
    }
    fn trim(&mut self, pages: &[Lpn]) -> Result<(), LayerError> {
        self.0.note(("trim", pages));
        Ok(())
    }
    fn flush(&mut self) -> Result<(), LayerError> {
        self.0.note("flush");
        Ok(())
    }
    fn abilities(&self) -> Abilities {
        Abilities::of(&Ability::ALL.map(|ability| (ability, true)))
    }
    fn query(&self, query: Query<'_>) -> Answer {
        self.0.note(query);
        match query {
            Query::AtomicPages => Answer::Pages(5),
            Query::MovedPages(_) => Answer::Pages(3),
            Query::LeftValid(_) => Answer::Left { valid_pages: 3, held_pages: 4 },
            Query::Foresee { .. } | Query::Zone(_) => Answer::Nothing,
        }
    }
    fn command(&mut self, command: Command<'_, Content>) -> Result<Answer, LayerError> {
        self.0.note(command);
        Ok(Answer::Done(true))
    }
    fn describe(&self, reports: &mut Reports) {
        reports.layers.push(LayerReport::default());
    }
    fn final_draw(&mut self) -> u64 {
        77
    }
    fn check(&self) -> Result<(), String> {
        Err("a defect".to_owned())
    }
}

/// Makes every call on a layer that needs an answer. Returns the answers as text.
fn say_everything(layer: &mut impl Layer<Content>) -> String {
    let (mut read, mut reports) = (Vec::new(), Reports::default());
    layer.write(&[Lpn(1), Lpn(2)], &[Content(7), Content(8)], 3).unwrap();
    layer.read(&[Lpn(4)], &mut read).unwrap();
    layer.trim(&[Lpn(5)]).unwrap();
    layer.flush().unwrap();
    layer.describe(&mut reports);
    let told = (layer.query(Query::AtomicPages), layer.command(Command::CleanAhead).unwrap());
    let is = (layer.logical_pages(), layer.abilities(), layer.check(), layer.final_draw());
    format!("{read:?} {told:?} {is:?} {}", reports.layers.len())
}

#[test]
fn boxed_layer_acts_as_the_layer() {
    let heard = Heard::default();
    let itself = (say_everything(&mut Listener(heard.clone())), heard.take());
    assert_eq!(itself.1.len(), 5);
    let mut pointer: Box<dyn Layer<Content>> = Box::new(Listener(heard.clone()));
    assert_eq!((say_everything(&mut pointer), heard.take()), itself);
}

#[test]
fn named_methods_send_queries_and_commands() {
    let heard = Heard::default();
    let mut layer = Listener(heard.clone());
    let (pages, data) = ([Lpn(2), Lpn(6)], [Content(9), Content(1)]);
    let expected = Heard::default();
    layer.write_atomic(&pages, &data, 3).unwrap();
    expected.note(Command::WriteAtomic { pages: &pages, data: &data, hint: 3 });
    layer.count_moves();
    expected.note(Said::CountMoves);
    layer.cleaning_above(true);
    expected.note(Said::CleaningAbove { begins: true });
    assert_eq!(layer.clean_ahead(), Ok(true));
    expected.note(Said::CleanAhead);
    layer.divide(&[4, 8]);
    expected.note(Said::Divide { ends: &[4, 8] });
    assert_eq!((layer.atomic_pages(), layer.moved_pages(&pages), layer.left_valid(&pages)), (5, 3, 0.75));
    expected.note(Query::AtomicPages);
    expected.note(Query::MovedPages(&pages));
    expected.note(Query::LeftValid(&pages));
    assert_eq!(heard.take(), expected.take());
    assert!(layer.wants_requests());
}

#[test]
fn empty_answers_convert_to_zero() {
    let left = |valid_pages, held_pages| Answer::Left { valid_pages, held_pages };
    for (answer, pages, share) in [
        (Answer::Nothing, 0, 0.0),
        (Answer::Pages(4), 4, 0.0),
        (Answer::Done(true), 0, 0.0),
        (left(0, 0), 0, 0.0),
        (left(1, 4), 0, 0.25),
        (left(1, 1), 0, 1.0),
    ] {
        assert_eq!((answer.pages(), answer.left_share()), (pages, share), "{answer:?}");
    }
}

/// Translating a query or command to other pages changes nothing but the pages.
#[test]
fn about_changes_only_the_pages() {
    let (pages, others) = ([Lpn(2), Lpn(6)], [Lpn(12), Lpn(16)]);
    let data = [Content(9), Content(1)];
    for (query, ability, about) in [
        (Query::AtomicPages, Ability::AtomicGroups, Query::AtomicPages),
        (Query::MovedPages(&pages), Ability::MoveCounts, Query::MovedPages(&others)),
        (Query::LeftValid(&pages), Ability::LeftValid, Query::LeftValid(&others)),
        (
            Query::Foresee { pages: &pages, near: true },
            Ability::LookAhead,
            Query::Foresee { pages: &others, near: true },
        ),
        (Query::Zone(&pages), Ability::Zones, Query::Zone(&others)),
    ] {
        assert_eq!(query.ability(), ability);
        assert_eq!(query.pages().len(), if ability == Ability::AtomicGroups { 0 } else { 2 });
        assert_eq!(format!("{:?}", query.about(&others)), format!("{about:?}"));
    }
    let write = |pages| Command::WriteAtomic { pages, data: &data, hint: 3 };
    assert_eq!((write(&pages).ability(), write(&pages).written()), (Ability::AtomicGroups, &pages[..]));
    assert_eq!(format!("{:?}", write(&pages).about(&others)), format!("{:?}", write(&others)));
    assert!(write(&pages).without_content::<()>().is_none());
    assert_eq!(write(&pages).unable(), Err(LayerError::NotAtomic { pages: 2, longest: 0 }));
    for run in [
        Command::WriteRun { first: Lpn(2), data: &data, hint: 3 },
        Command::TrimRun { first: Lpn(2), pages: 2 },
    ] {
        assert_eq!(
            (run.ability(), run.written(), run.unable()),
            (Ability::Runs, &[][..], Err(LayerError::NotListed))
        );
        assert_eq!(run.without_content::<()>().is_some(), matches!(run, Command::TrimRun { .. }));
    }
    let others_told: [(Command<'_, Content>, Ability); 4] = [
        (Command::Divide { ends: &[4, 8] }, Ability::Attribution),
        (Command::CountMoves, Ability::MoveCounts),
        (Command::CleaningAbove { begins: true }, Ability::Deferral),
        (Command::CleanAhead, Ability::IdleCleaning),
    ];
    fn finish(pages: &[Lpn]) -> Command<'_, Content> {
        Command::FinishZone { pages }
    }
    assert_eq!((finish(&pages).ability(), finish(&pages).unable()), (Ability::Zones, Ok(Answer::Nothing)));
    assert_eq!(format!("{:?}", finish(&pages).about(&others)), format!("{:?}", finish(&others)));
    assert!(matches!(finish(&pages).without_content::<()>(), Some(Command::FinishZone { .. })));
    for (command, ability) in others_told {
        assert_eq!(
            (command.ability(), command.written(), command.unable()),
            (ability, &[][..], Ok(Answer::Nothing))
        );
        let same = format!("{command:?}");
        assert_eq!(format!("{:?}", command.about(&others)), same);
        assert_eq!(format!("{:?}", command.without_content::<()>().unwrap()), same);
    }
}

/// A medium that only provides its listener and its layer below; all other calls are unexpected.
pub struct Made(pub Option<Heard>);

impl InvalidationListener for Heard {
    fn on_invalidate(&mut self, invalidations: &[Invalidation]) {
        invalidations
            .iter()
            .for_each(|invalidation| self.note((invalidation.owner, invalidation.block, invalidation.page)));
    }
}

impl LayerBelow for Heard {
    fn abilities(&self) -> Abilities {
        Abilities::NONE.with(Ability::Deferral, true)
    }
    fn notify_cleaning(&mut self, begins: bool) {
        self.note(begins);
    }
    fn clean_ahead(&mut self) -> Result<bool, LayerError> {
        Ok(true)
    }
    fn left_valid(&self, block: BlockId) -> f64 {
        f64::from(block.0) / 8.0
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

impl LogMetadata for Heard {
    fn set_streams(&mut self, streams: u8) -> Result<(), ConfigError> {
        Err(ConfigError::new("streams", streams.to_string()))
    }
    fn has_own_stream(&self) -> bool {
        true
    }
    fn metadata_pages(&self) -> u32 {
        6
    }
    fn until_checkpoint(&self) -> u64 {
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

impl Medium for Made {
    type Payload = ();
    const READS_BY_PAGE: bool = false;
    const KEEPS_GROUPS: bool = false;

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
    let heard = Heard::default();
    let (mut made, mut flash) = (Made(Some(heard.clone())), Made(None));
    for medium in [&mut made, &mut flash] {
        medium.on_invalidate(&[Invalidation { owner: Lpn(1), block: BlockId(2), page: 3 }]);
        medium.notify_cleaning(true);
    }
    assert_eq!(heard.take(), ["(Lpn(1), BlockId(2), 3)", "true"]);
    assert_eq!(made.set_streams(4).unwrap_err().problem, "4");
    assert_eq!(flash.set_streams(4), Ok(()));
    let asked = |medium: &mut Made| {
        (
            (medium.wants_invalidations(), medium.has_own_stream(), medium.metadata_pages()),
            medium.is_checkpoint_due_to_cleaning(),
            (medium.until_checkpoint(), medium.left_valid(BlockId(4))),
            medium.abilities_below().iter().collect::<Vec<_>>(),
        )
    };
    assert_eq!(asked(&mut made), ((true, true, 6), true, (40, 0.5), vec![Ability::Deferral]));
    assert_eq!(asked(&mut flash), ((false, false, 0), false, (u64::MAX, 0.0), vec![]));
    let mut pages = Vec::new();
    flash.begin_checkpoint(&mut pages);
    assert!(pages.is_empty());
    made.begin_checkpoint(&mut pages);
    assert_eq!((made.begin_flush(&mut pages), flash.begin_flush(&mut pages)), (true, false));
    assert_eq!(pages, [Lpn(3), Lpn(5)]);
    assert_eq!((made.end_checkpoint(), flash.end_checkpoint()), (Err(MediumError::PowerLost), Ok(())));
    assert_eq!((made.clean_ahead(), flash.clean_ahead()), (Ok(true), Ok(false)));
}
