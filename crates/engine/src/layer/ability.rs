//! What only some layers can, by name.
//!
//! A layer says which abilities it has, and is asked and told through one enum each: [`Query`] for what changes nothing,
//! [`Command`] for what may. A wrapper hands both on in a line each, and so has every ability of what it wraps, those
//! that are added later as well; one that lacks an ability of the layer below says why. [`LayerExt`] has the calls by their names
//! and types.

use super::answer::{Answer, ZoneState};
use super::{Layer, LayerError, Payload};
use crate::config::ConfigError;
use crate::units::Lpn;

/// Something that only some layers can.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ability {
    /// Groups of pages that a power cut leaves whole or not at all: [`LayerExt::write_atomic`].
    AtomicGroups,
    /// Each call of [`Layer::write`] and [`Layer::trim`] is to be one request of the user, as for a layer that does each of them
    /// atomically; to any other it is all the same how they are cut into calls.
    Requests,
    /// Tells apart whose pages cleaning moves: [`LayerExt::divide`].
    Attribution,
    /// Knows of a page whether cleaning has moved it, once it was told to count: [`LayerExt::moved_pages`].
    MoveCounts,
    /// Puts off its cleaning, here or further below, while a log above cleans: [`LayerExt::cleaning_above`].
    Deferral,
    /// Cleans in idle time, here or further below: [`LayerExt::clean_ahead`].
    IdleCleaning,
    /// Knows what trims would leave valid in its blocks: [`LayerExt::left_valid`].
    LeftValid,
    /// Brings what it keeps of pages that will soon be written into the cache: [`LayerExt::foresee`].
    LookAhead,
    /// Takes consecutive pages without a list of them: [`Command::WriteRun`] and [`Command::TrimRun`].
    Runs,
    /// Is written in zones, each in order: [`LayerExt::zone`].
    Zones,
}

impl Ability {
    /// All abilities, in the order of their numbers.
    pub const ALL: [Ability; 10] = [
        Ability::AtomicGroups,
        Ability::Requests,
        Ability::Attribution,
        Ability::MoveCounts,
        Ability::Deferral,
        Ability::IdleCleaning,
        Ability::LeftValid,
        Ability::LookAhead,
        Ability::Runs,
        Ability::Zones,
    ];

    /// Name, what a layer with it does, and who has it.
    const TEXTS: [[&'static str; 3]; Ability::ALL.len()] = [
        [
            "atomic writes",
            "writes groups of pages that a power cut leaves whole or not at all",
            "an FTL that is a log with reclaim = \"free_pool\" has them, unless power is cut in the middle of its work",
        ],
        [
            "requests",
            "does each request of its user by itself, so that none may be cut up or joined",
            "sparse address spaces and sampled deduplication have them",
        ],
        [
            "attribution",
            "tells apart whose pages cleaning moves, and on whose account",
            "all layers that clean have it, but for a block directory and deduplication",
        ],
        [
            "move counts",
            "knows which pages cleaning has moved since they were written",
            "all layers that clean have them, but for a block directory",
        ],
        [
            "deferral",
            "puts off its cleaning while a log above cleans",
            "a log with `free_blocks_deferred` has it, and what stands on one",
        ],
        [
            "idle cleaning",
            "cleans in idle time",
            "a log with `free_blocks_idle` has it, and what stands on one",
        ],
        [
            "left valid",
            "knows how many pages would stay valid in its blocks if others were trimmed",
            "all layers have it",
        ],
        [
            "look-ahead",
            "brings its tables for coming writes into the cache",
            "a log with large tables has it",
        ],
        ["runs", "takes consecutive pages by the first of them and their number", "a log has them"],
        [
            "zones",
            "is written in zones, each of them in order and reset as a whole",
            "a zoned drive has them",
        ],
    ];

    /// The name used in messages.
    pub fn name(self) -> &'static str {
        Ability::TEXTS[self as usize][0]
    }

    /// What a layer with it does.
    pub fn help(self) -> &'static str {
        Ability::TEXTS[self as usize][1]
    }
}

/// A set of abilities. What a layer can is settled when it is built.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Abilities(u16);

impl Abilities {
    /// None.
    pub const NONE: Abilities = Abilities(0);

    /// Those of `abilities` whose condition holds.
    pub fn of(abilities: &[(Ability, bool)]) -> Self {
        abilities.iter().fold(Abilities::NONE, |set, &(ability, holds)| set.with(ability, holds))
    }

    /// These, and `ability` if that `holds`.
    #[must_use]
    pub const fn with(self, ability: Ability, holds: bool) -> Self {
        if holds { Abilities(self.0 | 1 << ability as u16) } else { self }
    }

    /// These but `ability`.
    #[must_use]
    pub const fn without(self, ability: Ability) -> Self {
        Abilities(self.0 & !(1 << ability as u16))
    }

    /// Those that are in both sets.
    #[must_use]
    pub const fn both(self, other: Self) -> Self {
        Abilities(self.0 & other.0)
    }

    /// Whether `ability` is among them.
    pub const fn has(self, ability: Ability) -> bool {
        self.0 >> ability as u16 & 1 == 1
    }

    /// Refuses a setting at `key` that needs `ability` of the layer `below`, which can these.
    pub fn require(self, ability: Ability, below: &str, key: &str) -> Result<(), ConfigError> {
        if self.has(ability) {
            return Ok(());
        }
        let [name, help, owners] = Ability::TEXTS[ability as usize];
        let problem = format!("needs {name}, which {below} does not have: a layer that {help}; {owners}");
        Err(ConfigError::new(key, problem))
    }

    /// All of them, in the order of [`Ability::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Ability> {
        Ability::ALL.into_iter().filter(move |&ability| self.has(ability))
    }
}

impl std::fmt::Debug for Abilities {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

/// A question to a layer, which changes nothing. A layer without the ability answers [`Answer::Nothing`].
///
/// Pages are in the range of the layer. None is listed twice, but for [`Query::MovedPages`], where each counts.
#[derive(Clone, Copy, Debug)]
pub enum Query<'a> {
    /// [`Ability::AtomicGroups`]: pages of the longest group?
    AtomicPages,
    /// [`Ability::MoveCounts`]: how many of these has the layer moved since they were written?
    MovedPages(&'a [Lpn]),
    /// [`Ability::LeftValid`]: what would stay valid if these were trimmed now?
    LeftValid(&'a [Lpn]),
    /// [`Ability::LookAhead`]: these will soon be written or trimmed. It is asked twice: first without `near`, and, when what that
    /// fetched has arrived, with it. No effect on any result.
    Foresee {
        /// The pages.
        pages: &'a [Lpn],
        /// Whether the first fetch has arrived.
        near: bool,
    },
    /// [`Ability::Zones`]: how is the zone of the first of these?
    Zone(&'a [Lpn]),
}

impl<'a> Query<'a> {
    /// The ability that it belongs to.
    pub fn ability(self) -> Ability {
        match self {
            Query::AtomicPages => Ability::AtomicGroups,
            Query::MovedPages(_) => Ability::MoveCounts,
            Query::LeftValid(_) => Ability::LeftValid,
            Query::Foresee { .. } => Ability::LookAhead,
            Query::Zone(_) => Ability::Zones,
        }
    }

    /// The pages that it is about.
    pub fn pages(self) -> &'a [Lpn] {
        match self {
            Query::AtomicPages => &[],
            Query::MovedPages(pages)
            | Query::LeftValid(pages)
            | Query::Foresee { pages, .. }
            | Query::Zone(pages) => pages,
        }
    }

    /// The same question about other pages: how a layer that numbers pages in another way hands it on.
    #[must_use]
    pub fn about(self, pages: &[Lpn]) -> Query<'_> {
        match self {
            Query::AtomicPages => Query::AtomicPages,
            Query::MovedPages(_) => Query::MovedPages(pages),
            Query::LeftValid(_) => Query::LeftValid(pages),
            Query::Foresee { near, .. } => Query::Foresee { pages, near },
            Query::Zone(_) => Query::Zone(pages),
        }
    }
}

/// What a layer is told to do. A layer without the ability does nothing and answers [`Answer::Nothing`]; see
/// [`Command::unable`].
#[derive(Clone, Copy, Debug)]
pub enum Command<'a, P> {
    /// [`Ability::AtomicGroups`]: as [`Layer::write`], all of it or nothing surviving a power cut.
    WriteAtomic {
        /// The pages, in the range of the layer, in order.
        pages: &'a [Lpn],
        /// Content for every page.
        data: &'a [P],
        /// The caller's stream hint.
        hint: u16,
    },
    /// [`Ability::Runs`]: as [`Layer::write`] of as many consecutive pages as there is content.
    WriteRun {
        /// The first page.
        first: Lpn,
        /// Content for every page.
        data: &'a [P],
        /// The caller's stream hint.
        hint: u16,
    },
    /// [`Ability::Runs`]: as [`Layer::trim`] of consecutive pages.
    TrimRun {
        /// The first page.
        first: Lpn,
        /// How many.
        pages: u32,
    },
    /// [`Ability::Attribution`]: from now on tell apart whose pages cleaning moves. Partition `k` ends before page `ends[k]`, and
    /// each write is of one partition's pages.
    Divide {
        /// One past the last page of each partition, rising.
        ends: &'a [u32],
    },
    /// [`Ability::MoveCounts`]: from now on count which pages were moved.
    CountMoves,
    /// [`Ability::Deferral`]: a log above begins to clean, or has ended. Until then what it is about to invalidate is still valid
    /// here, so that a layer that can wait does better to clean later. Several logs may clean at the same time.
    CleaningAbove {
        /// Whether it begins.
        begins: bool,
    },
    /// [`Ability::IdleCleaning`]: there is idle time. Cleans a little, one victim of this layer or of one below, if there is
    /// anything to gain; the answer says whether it did and may be told again.
    CleanAhead,
    /// [`Ability::Zones`]: the zone of the first of these takes no more writes until it is reset, and is open no longer.
    FinishZone {
        /// The pages, in the range of the layer.
        pages: &'a [Lpn],
    },
}

impl<'a, P> Command<'a, P> {
    /// The ability that it belongs to.
    pub fn ability(&self) -> Ability {
        match self {
            Command::WriteAtomic { .. } => Ability::AtomicGroups,
            Command::WriteRun { .. } | Command::TrimRun { .. } => Ability::Runs,
            Command::Divide { .. } => Ability::Attribution,
            Command::CountMoves => Ability::MoveCounts,
            Command::CleaningAbove { .. } => Ability::Deferral,
            Command::CleanAhead => Ability::IdleCleaning,
            Command::FinishZone { .. } => Ability::Zones,
        }
    }

    /// The pages that it writes, if they are listed.
    pub fn written(&self) -> &'a [Lpn] {
        match self {
            Command::WriteAtomic { pages, .. } => pages,
            _ => &[],
        }
    }

    /// The same for other pages: how a layer that numbers pages in another way hands it on. Partitions keep their ends.
    #[must_use]
    pub fn about<'b>(self, pages: &'b [Lpn]) -> Command<'b, P>
    where
        'a: 'b,
    {
        match self {
            Command::WriteAtomic { data, hint, .. } => Command::WriteAtomic { pages, data, hint },
            Command::FinishZone { .. } => Command::FinishZone { pages },
            other => other,
        }
    }

    /// The same for a layer whose pages hold something else; `None` if it has content with it.
    pub fn without_content<Q>(self) -> Option<Command<'a, Q>> {
        match self {
            Command::WriteAtomic { .. } | Command::WriteRun { .. } => None,
            Command::TrimRun { first, pages } => Some(Command::TrimRun { first, pages }),
            Command::Divide { ends } => Some(Command::Divide { ends }),
            Command::CountMoves => Some(Command::CountMoves),
            Command::CleaningAbove { begins } => Some(Command::CleaningAbove { begins }),
            Command::CleanAhead => Some(Command::CleanAhead),
            Command::FinishZone { pages } => Some(Command::FinishZone { pages }),
        }
    }

    /// What a layer that lacks the ability answers: it refuses what was to be written or trimmed, and is silent about all else.
    pub fn unable(&self) -> Result<Answer, LayerError> {
        match self {
            Command::WriteAtomic { pages, .. } => {
                Err(LayerError::NotAtomic { pages: pages.len() as u32, longest: 0 })
            }
            Command::WriteRun { .. } | Command::TrimRun { .. } => Err(LayerError::NotListed),
            _ => Ok(Answer::Nothing),
        }
    }
}

/// What can be asked of layers and said to them beyond what each must answer, by name: for callers, and never to be
/// implemented otherwise than here.
pub trait LayerExt<P: Payload>: Layer<P> {
    /// As [`Layer::write`], all of it or nothing surviving a power cut.
    fn write_atomic(&mut self, pages: &[Lpn], data: &[P], hint: u16) -> Result<(), LayerError> {
        self.command(Command::WriteAtomic { pages, data, hint }).map(drop)
    }

    /// Pages of the longest group that can be written atomically; 0 for a layer that cannot.
    fn atomic_pages(&self) -> u32 {
        self.query(Query::AtomicPages).pages() as u32
    }

    /// Whether each call of [`Layer::write`] and [`Layer::trim`] is to be one request of the user.
    fn wants_requests(&self) -> bool {
        self.abilities().has(Ability::Requests)
    }

    /// From now on counts which pages are moved, if it can.
    fn count_moves(&mut self) {
        self.tell(Command::CountMoves);
    }

    /// How many of `pages` the layer has moved since they were written; 0 where it does not count that.
    fn moved_pages(&self, pages: &[Lpn]) -> u64 {
        self.query(Query::MovedPages(pages)).pages()
    }

    /// A log above begins to clean, or has ended.
    fn cleaning_above(&mut self, begins: bool) {
        self.tell(Command::CleaningAbove { begins });
    }

    /// `page` will soon be written or trimmed: see [`Query::Foresee`].
    #[inline]
    fn foresee(&self, page: Lpn, near: bool) {
        self.query(Query::Foresee { pages: &[page], near });
    }

    /// Idle time: cleans one victim of this layer or of one below, if there is anything to gain; whether it did and may be
    /// asked again.
    fn clean_ahead(&mut self) -> Result<bool, LayerError> {
        self.command(Command::CleanAhead).map(|answer| answer == Answer::Done(true))
    }

    /// If these pages were trimmed now: share of valid pages in the blocks that hold them; 0 where nothing holds any, or
    /// nothing is known.
    fn left_valid(&self, pages: &[Lpn]) -> f64 {
        self.query(Query::LeftValid(pages)).left_share()
    }

    /// How the zone of a page is; `None` of a layer that has no zones.
    fn zone(&self, page: Lpn) -> Option<ZoneState> {
        match self.query(Query::Zone(&[page])) {
            Answer::Zone(state) => Some(state),
            _ => None,
        }
    }

    /// Has the zone of a page take no more writes until it is reset; whether it has one.
    fn finish_zone(&mut self, page: Lpn) -> Result<bool, LayerError> {
        self.command(Command::FinishZone { pages: &[page] }).map(|answer| answer == Answer::Done(true))
    }

    /// From now on tells apart whose pages cleaning moves, if it can: partition `k` ends before page `ends[k]`.
    fn divide(&mut self, ends: &[u32]) {
        self.tell(Command::Divide { ends });
    }

    /// Says something that no layer refuses.
    fn tell(&mut self, command: Command<'_, P>) {
        let told = self.command(command);
        debug_assert!(told.is_ok(), "{told:?}: only writing and cleaning can fail");
    }
}

impl<P: Payload, L: Layer<P> + ?Sized> LayerExt<P> for L {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_refused_with_both_names() {
        let can = Abilities::NONE.with(Ability::LeftValid, true);
        assert_eq!(can.require(Ability::LeftValid, "`ftl`", "victim"), Ok(()));
        let refused = can.require(Ability::Deferral, "`ftl`", "free_blocks_deferred").unwrap_err();
        assert_eq!(refused.key, "free_blocks_deferred");
        assert!(refused.problem.starts_with("needs deferral, which `ftl` does not have"), "{refused}");
    }

    #[test]
    fn abilities_have_numbers_names_and_sets() {
        for (number, ability) in Ability::ALL.into_iter().enumerate() {
            assert_eq!(ability as usize, number);
            assert!(!ability.name().is_empty() && !ability.help().is_empty());
            let only = Abilities::NONE.with(ability, true);
            assert!(only.has(ability) && only.iter().eq([ability]));
            assert_eq!(only.without(ability), Abilities::NONE);
        }
        for text in [Ability::name, Ability::help] {
            let texts = std::collections::BTreeSet::from(Ability::ALL.map(text));
            assert_eq!(texts.len(), Ability::ALL.len(), "no two are called the same: {texts:?}");
        }
        let all = Abilities::of(&Ability::ALL.map(|ability| (ability, true)));
        assert!(all.iter().eq(Ability::ALL));
        assert_eq!(all.both(Abilities::NONE.with(Ability::Requests, true)).iter().count(), 1);
    }
}
