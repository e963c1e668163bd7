//! Optional abilities of layers, with the queries and commands that belong to them.
//!
//! A layer declares its abilities. Callers use them through two enums: [`Query`] for questions that change nothing, and
//! [`Command`] for operations that may change the layer. A wrapper forwards each enum with one line of code. It thus
//! has all abilities of the wrapped layer, including abilities added later. A wrapper that lacks an ability of the
//! layer below gives the reason. [`LayerExt`] offers the queries and commands as named, typed methods.

use super::answer::{Answer, ZoneState};
use super::{Layer, LayerError, Payload};
use crate::config::ConfigError;
use crate::units::Lpn;

/// An optional ability of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ability {
    /// Writes groups of pages atomically, so that all or none of a group survive a power cut:
    /// [`LayerExt::write_atomic`].
    AtomicGroups,
    /// Each call of [`Layer::write`] and [`Layer::trim`] must be exactly one request of the user, because the layer
    /// treats each call as a unit, for example as atomic. For a layer without this ability, requests may be split and
    /// joined.
    WholeRequests,
    /// Counts the pages that cleaning moves by user (partition): [`LayerExt::set_partitions`].
    Attribution,
    /// Records, once this is enabled, which pages cleaning has moved: [`LayerExt::moved_pages`].
    MoveCounts,
    /// Defers its cleaning, in this layer or further below, while a log above is cleaning:
    /// [`LayerExt::notify_cleaning_above`].
    Deferral,
    /// Cleans in idle time, in this layer or further below: [`LayerExt::clean_while_idle`].
    IdleCleaning,
    /// Knows how many pages would stay valid in its blocks after trims: [`LayerExt::left_valid`].
    LeftValid,
    /// Prefetches its own table entries of pages that will soon be written: [`LayerExt::prefetch`].
    Prefetch,
    /// Accepts consecutive pages without a list of them: [`Command::WriteRun`] and [`Command::TrimRun`].
    Runs,
    /// Is divided into zones, each of which is written sequentially: [`LayerExt::zone`].
    Zones,
}

impl Ability {
    /// All abilities, in the order of their discriminants.
    pub const ALL: [Ability; 10] = [
        Ability::AtomicGroups,
        Ability::WholeRequests,
        Ability::Attribution,
        Ability::MoveCounts,
        Ability::Deferral,
        Ability::IdleCleaning,
        Ability::LeftValid,
        Ability::Prefetch,
        Ability::Runs,
        Ability::Zones,
    ];

    /// Texts of each ability for messages: its name, its effect, and the layers that have it.
    const TEXTS: [[&'static str; 3]; Ability::ALL.len()] = [
        [
            "atomic writes",
            "writes groups of pages that a power cut leaves whole or not at all",
            "an FTL that is a log with reclaim = \"free_pool\" has them, unless power is cut in the middle of its work",
        ],
        [
            "requests",
            "does each request of its user by itself, so that none may be cut up or joined",
            "sparse address spaces, sampled deduplication, logs that trim single pages or delay trims, and logs and merge \
             trees on these have them",
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

    /// Returns the name used in messages.
    pub fn name(self) -> &'static str {
        Ability::TEXTS[self as usize][0]
    }

    /// Returns a description of a layer with the ability, for messages.
    pub fn help(self) -> &'static str {
        Ability::TEXTS[self as usize][1]
    }
}

/// A set of abilities. The abilities of a layer are fixed when it is built.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Abilities(u16);

impl Abilities {
    /// The empty set.
    pub const NONE: Abilities = Abilities(0);

    /// Returns the set of those `abilities` whose condition is true.
    pub fn of(abilities: &[(Ability, bool)]) -> Self {
        abilities.iter().fold(Abilities::NONE, |set, &(ability, holds)| set.with(ability, holds))
    }

    /// Returns the set with `ability` added if `holds` is true.
    #[must_use]
    pub const fn with(self, ability: Ability, holds: bool) -> Self {
        if holds { Abilities(self.0 | 1 << ability as u16) } else { self }
    }

    /// Returns the set without `ability`.
    #[must_use]
    pub const fn without(self, ability: Ability) -> Self {
        Abilities(self.0 & !(1 << ability as u16))
    }

    /// Returns the abilities that are in both sets.
    #[must_use]
    pub const fn intersection(self, other: Self) -> Self {
        Abilities(self.0 & other.0)
    }

    /// True if the set contains `ability`.
    pub const fn has(self, ability: Ability) -> bool {
        self.0 >> ability as u16 & 1 == 1
    }

    /// Rejects a setting at `key` that needs `ability` if the layer named `below`, whose abilities are `self`, lacks
    /// it.
    pub fn require(self, ability: Ability, below: &str, key: &str) -> Result<(), ConfigError> {
        if self.has(ability) {
            return Ok(());
        }
        let [name, help, owners] = Ability::TEXTS[ability as usize];
        let problem = format!("needs {name}, which {below} does not have: a layer that {help}; {owners}");
        Err(ConfigError::new(key, problem))
    }

    /// Returns the abilities in the order of [`Ability::ALL`].
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
/// Pages are in the range of the layer. No page is listed twice, except in [`Query::MovedPages`], where each
/// occurrence counts.
#[derive(Clone, Copy, Debug)]
pub enum Query<'a> {
    /// [`Ability::AtomicGroups`]: returns the maximum number of pages in a group.
    AtomicPages,
    /// [`Ability::MoveCounts`]: returns how many of these pages the layer has moved since they were written.
    MovedPages(&'a [Lpn]),
    /// [`Ability::LeftValid`]: returns how many pages would stay valid if these pages were trimmed now.
    LeftValid(&'a [Lpn]),
    /// [`Ability::Prefetch`]: announces pages that will soon be written or trimmed, for prefetching. The query is sent
    /// twice: first with `second_pass` false, and again with `second_pass` true when the first prefetch has completed.
    /// Changes no result.
    Prefetch {
        /// The pages.
        pages: &'a [Lpn],
        /// True if the first prefetch has completed.
        second_pass: bool,
    },
    /// [`Ability::Zones`]: returns the state of the zone that contains the first of these pages.
    Zone(&'a [Lpn]),
}

impl<'a> Query<'a> {
    /// Returns the ability that the query belongs to.
    pub fn ability(self) -> Ability {
        match self {
            Query::AtomicPages => Ability::AtomicGroups,
            Query::MovedPages(_) => Ability::MoveCounts,
            Query::LeftValid(_) => Ability::LeftValid,
            Query::Prefetch { .. } => Ability::Prefetch,
            Query::Zone(_) => Ability::Zones,
        }
    }

    /// Returns the pages of the query.
    pub fn pages(self) -> &'a [Lpn] {
        match self {
            Query::AtomicPages => &[],
            Query::MovedPages(pages)
            | Query::LeftValid(pages)
            | Query::Prefetch { pages, .. }
            | Query::Zone(pages) => pages,
        }
    }

    /// Returns the same query for other pages; used to forward it to a layer with different page numbers.
    #[must_use]
    pub fn with_pages(self, pages: &[Lpn]) -> Query<'_> {
        match self {
            Query::AtomicPages => Query::AtomicPages,
            Query::MovedPages(_) => Query::MovedPages(pages),
            Query::LeftValid(_) => Query::LeftValid(pages),
            Query::Prefetch { second_pass: near, .. } => Query::Prefetch { pages, second_pass: near },
            Query::Zone(_) => Query::Zone(pages),
        }
    }
}

/// An operation that a layer performs. A layer without the ability does nothing and answers [`Answer::Nothing`]; see
/// [`Command::unsupported`].
#[derive(Clone, Copy, Debug)]
pub enum Command<'a, P> {
    /// [`Ability::AtomicGroups`]: does the same as [`Layer::write`], but all or none of the pages survive a power cut.
    WriteAtomic {
        /// The pages, in the range of the layer, in order.
        pages: &'a [Lpn],
        /// Contents, one per page.
        data: &'a [P],
        /// The caller's stream hint.
        hint: u16,
    },
    /// [`Ability::Runs`]: does the same as [`Layer::write`] for `data.len()` consecutive pages.
    WriteRun {
        /// The first page.
        first: Lpn,
        /// Contents, one per page.
        data: &'a [P],
        /// The caller's stream hint.
        hint: u16,
    },
    /// [`Ability::Runs`]: does the same as [`Layer::trim`] for consecutive pages.
    TrimRun {
        /// The first page.
        first: Lpn,
        /// Number of pages.
        pages: u32,
    },
    /// [`Ability::Attribution`]: from now on, counts the pages that cleaning moves by partition. Partition `k` ends
    /// before page `ends[k]`; each write only contains pages of one partition.
    SetPartitions {
        /// One past the last page of each partition, ascending.
        ends: &'a [u32],
    },
    /// [`Ability::MoveCounts`]: from now on, counts the moved pages.
    CountMoves,
    /// [`Ability::Deferral`]: a log above begins or ends cleaning. In between, pages that the log will soon invalidate
    /// are still valid in this layer, so cleaning them later costs less. Several logs may clean at the same time.
    CleaningAbove {
        /// True at the beginning of cleaning.
        begins: bool,
    },
    /// [`Ability::IdleCleaning`]: uses idle time to clean one victim of this layer or of a layer below, if that gains
    /// space. Answers true if a victim was cleaned; the command may then be repeated.
    CleanWhileIdle,
    /// [`Ability::Zones`]: finishes the zone that contains the first of these pages. The zone is then no longer open
    /// and accepts no writes until it is reset.
    FinishZone {
        /// The pages, in the range of the layer.
        pages: &'a [Lpn],
    },
}

impl<'a, P> Command<'a, P> {
    /// Returns the ability that the command belongs to.
    pub fn ability(&self) -> Ability {
        match self {
            Command::WriteAtomic { .. } => Ability::AtomicGroups,
            Command::WriteRun { .. } | Command::TrimRun { .. } => Ability::Runs,
            Command::SetPartitions { .. } => Ability::Attribution,
            Command::CountMoves => Ability::MoveCounts,
            Command::CleaningAbove { .. } => Ability::Deferral,
            Command::CleanWhileIdle => Ability::IdleCleaning,
            Command::FinishZone { .. } => Ability::Zones,
        }
    }

    /// Returns the pages that the command writes, if they are listed.
    pub fn written_pages(&self) -> &'a [Lpn] {
        match self {
            Command::WriteAtomic { pages, .. } => pages,
            _ => &[],
        }
    }

    /// Returns the same command for other pages; used to forward it to a layer with different page numbers. The ends
    /// of partitions are not changed.
    #[must_use]
    pub fn with_pages<'b>(self, pages: &'b [Lpn]) -> Command<'b, P>
    where
        'a: 'b,
    {
        match self {
            Command::WriteAtomic { data, hint, .. } => Command::WriteAtomic { pages, data, hint },
            Command::FinishZone { .. } => Command::FinishZone { pages },
            other => other,
        }
    }

    /// Returns the same command for a layer with another payload type; `None` if the command contains payloads.
    pub fn without_content<Q>(self) -> Option<Command<'a, Q>> {
        match self {
            Command::WriteAtomic { .. } | Command::WriteRun { .. } => None,
            Command::TrimRun { first, pages } => Some(Command::TrimRun { first, pages }),
            Command::SetPartitions { ends } => Some(Command::SetPartitions { ends }),
            Command::CountMoves => Some(Command::CountMoves),
            Command::CleaningAbove { begins } => Some(Command::CleaningAbove { begins }),
            Command::CleanWhileIdle => Some(Command::CleanWhileIdle),
            Command::FinishZone { pages } => Some(Command::FinishZone { pages }),
        }
    }

    /// Returns the answer of a layer that lacks the ability for the command: an error for writes and trims,
    /// [`Answer::Nothing`] for all other commands.
    pub fn unsupported(&self) -> Result<Answer, LayerError> {
        match self {
            Command::WriteAtomic { pages, .. } => {
                Err(LayerError::NotAtomic { pages: pages.len() as u32, longest: 0 })
            }
            Command::WriteRun { .. } | Command::TrimRun { .. } => Err(LayerError::RunsUnsupported),
            _ => Ok(Answer::Nothing),
        }
    }
}

/// Optional queries and commands of layers as named methods. Layers do not implement this trait; it is implemented for
/// all of them here.
pub trait LayerExt<P: Payload>: Layer<P> {
    /// Writes a group of pages as [`Layer::write`] does, but all or none of the pages survive a power cut.
    fn write_atomic(&mut self, pages: &[Lpn], data: &[P], hint: u16) -> Result<(), LayerError> {
        self.command(Command::WriteAtomic { pages, data, hint }).map(drop)
    }

    /// Returns the maximum number of pages that can be written atomically; 0 for a layer without the ability.
    fn atomic_pages(&self) -> u32 {
        self.query(Query::AtomicPages).pages() as u32
    }

    /// True if each call of [`Layer::write`] and [`Layer::trim`] must be one request of the user.
    fn needs_whole_requests(&self) -> bool {
        self.abilities().has(Ability::WholeRequests)
    }

    /// From now on, counts the moved pages, if the layer has the ability.
    fn count_moves(&mut self) {
        self.send(Command::CountMoves);
    }

    /// Returns how many of `pages` the layer has moved since they were written; 0 if it does not count moves.
    fn moved_pages(&self, pages: &[Lpn]) -> u64 {
        self.query(Query::MovedPages(pages)).pages()
    }

    /// Notifies the layer that a log above begins or ends cleaning.
    fn notify_cleaning_above(&mut self, begins: bool) {
        self.send(Command::CleaningAbove { begins });
    }

    /// Announces that `page` will soon be written or trimmed: see [`Query::Prefetch`].
    #[inline]
    fn prefetch(&self, page: Lpn, second_pass: bool) {
        self.query(Query::Prefetch { pages: &[page], second_pass });
    }

    /// Uses idle time to clean one victim of this layer or of a layer below, if that gains space. Returns true if a
    /// victim was cleaned; the method may then be called again.
    fn clean_while_idle(&mut self) -> Result<bool, LayerError> {
        self.command(Command::CleanWhileIdle).map(|answer| answer == Answer::Done(true))
    }

    /// Returns the fraction of pages that would stay valid in the blocks that store any of `pages` if `pages` were
    /// trimmed now. Returns 0 if none of the pages is stored, or if the layer lacks the ability.
    fn left_valid(&self, pages: &[Lpn]) -> f64 {
        self.query(Query::LeftValid(pages)).valid_fraction()
    }

    /// Returns the state of the zone that contains `page`; `None` for a layer without zones.
    fn zone(&self, page: Lpn) -> Option<ZoneState> {
        match self.query(Query::Zone(&[page])) {
            Answer::Zone(state) => Some(state),
            _ => None,
        }
    }

    /// Finishes the zone that contains `page`: it accepts no writes until it is reset. Returns false if the layer has
    /// no zones.
    fn finish_zone(&mut self, page: Lpn) -> Result<bool, LayerError> {
        self.command(Command::FinishZone { pages: &[page] }).map(|answer| answer == Answer::Done(true))
    }

    /// From now on, counts the pages that cleaning moves by partition, if the layer has the ability. Partition `k` ends
    /// before page `ends[k]`.
    fn set_partitions(&mut self, ends: &[u32]) {
        self.send(Command::SetPartitions { ends });
    }

    /// Sends a command that every layer accepts or ignores.
    fn send(&mut self, command: Command<'_, P>) {
        let result = self.command(command);
        debug_assert!(result.is_ok(), "{result:?}: only writing and cleaning can fail");
    }
}

impl<P: Payload, L: Layer<P> + ?Sized> LayerExt<P> for L {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_ability_is_rejected_with_both_names() {
        let supported = Abilities::NONE.with(Ability::LeftValid, true);
        assert_eq!(supported.require(Ability::LeftValid, "`ftl`", "victim"), Ok(()));
        let error = supported.require(Ability::Deferral, "`ftl`", "free_blocks_deferred").unwrap_err();
        assert_eq!(error.key, "free_blocks_deferred");
        assert!(error.problem.starts_with("needs deferral, which `ftl` does not have"), "{error}");
    }

    #[test]
    fn abilities_have_unique_numbers_and_names() {
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
        assert_eq!(all.intersection(Abilities::NONE.with(Ability::WholeRequests, true)).iter().count(), 1);
    }
}
