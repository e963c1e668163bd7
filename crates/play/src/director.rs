//! Converts observed operations on media to frames, each with a describing sentence.

use crate::film::{Cell, Film, Frame, Op, Panel, PanelContent};
use crate::owner::{Owner, PageKind};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use wearwell_base::units::{BlockId, Lpn};
use wearwell_engine::counters::Cause;
use wearwell_engine::layer::{Invalidation, MediumEvent};

/// Position on a medium: block, and index of the page in the block.
type PagePosition = (u32, u32);

/// Filmed medium.
#[derive(Clone, Debug)]
pub struct Medium {
    /// Name of the medium.
    pub name: String,
    /// Word for a block of this medium in captions: `block` or `segment`.
    pub word: &'static str,
    /// Number of blocks.
    pub blocks: u32,
    /// Pages per block.
    pub pages_per_block: u32,
    /// Media on top of this medium: the index of each such medium, and its first page on this medium.
    pub users: Vec<(usize, u32)>,
}

/// Function that returns the label and the group of a page on a medium.
pub type Appearance = dyn Fn(usize, Lpn) -> Option<Cell>;

/// Builds frames from observed operations.
pub struct Director {
    media: Vec<Medium>,
    frames: Vec<Frame>,
    states: Vec<MediumState>,
    /// Returns the label and the group of pages; `None` if pages are labelled by their numbers.
    appearance: Option<Box<Appearance>>,
}

/// State of a medium, as known from the observed operations.
#[derive(Default)]
struct MediumState {
    /// Position of the page of each owner. The map is never iterated over.
    positions: HashMap<Owner, PagePosition>,
    /// Owner of the page at each position.
    owners: HashMap<PagePosition, Owner>,
    /// Invalidations that were observed but are not shown yet.
    invalidations: Vec<Invalidation>,
    /// For each block, the number of pages that cleaning has read from it and not yet written elsewhere, with the
    /// cause.
    read_pages: BTreeMap<u32, (u32, Cause)>,
    victim: Option<u32>,
    /// Pages that are valid on this medium although the layer above no longer needs them.
    stale: BTreeSet<PagePosition>,
}

impl Director {
    /// Returns the director of a film of these media; `first` is the caption of the first frame.
    pub fn new(media: Vec<Medium>, first: &str) -> Director {
        let states = media.iter().map(|_| MediumState::default()).collect();
        let frames = vec![Frame { text: first.to_owned(), ops: Vec::new() }];
        Director { media, frames, states, appearance: None }
    }

    /// Sets custom labels and groups for pages.
    pub fn with_appearance(self, appearance: Box<Appearance>) -> Director {
        Director { appearance: Some(appearance), ..self }
    }

    /// Returns the number of frames so far.
    pub fn frames(&self) -> usize {
        self.frames.len()
    }

    /// Adds a frame that has a caption and no changes.
    pub fn add_text_frame(&mut self, text: &str) {
        self.frames.push(Frame { text: text.to_owned(), ops: Vec::new() });
    }

    /// Adds changes to the latest frame.
    pub fn extend_last_frame(&mut self, ops: Vec<Op>) {
        self.frames.last_mut().expect("there is a first one").ops.extend(ops);
    }

    /// Returns the film so far.
    pub fn film(self, title: String, notes: Vec<String>) -> Film {
        let is_grouped = |medium: &Medium| !medium.users.is_empty() || self.appearance.is_some();
        let is_below_another =
            |at: usize| self.media.iter().any(|medium| medium.users.iter().any(|(user, _)| *user == at));
        let panel = |(at, medium): (usize, &Medium)| Panel {
            name: medium.name.clone(),
            content: PanelContent::Blocks {
                blocks: medium.blocks,
                pages_per_block: medium.pages_per_block,
                word: medium.word.to_owned(),
                grouped: is_grouped(medium) || is_below_another(at),
            },
        };
        let panels = self.media.iter().enumerate().map(panel).collect();
        Film { title, notes, panels, frames: self.frames }
    }

    /// Adds frames for the effects of a request.
    pub fn add_events(&mut self, events: Vec<(usize, MediumEvent)>) {
        for (at, event) in events {
            match event {
                MediumEvent::Invalidated(invalidation) => self.states[at].invalidations.push(invalidation),
                MediumEvent::Programmed { block, page, owners, cause, .. } => {
                    self.programmed(at, (block.0, page), &owners, cause);
                }
                MediumEvent::Read { block, pages, cause } => self.read(at, block, pages, cause),
                MediumEvent::Erased { block, cause } => self.erased(at, block, cause),
            }
        }
        for at in 0..self.media.len() {
            self.show_victim(at);
            self.show_invalidations(at);
        }
    }

    /// Returns the name of the medium as a prefix for captions, if there are several media.
    fn name_prefix(&self, at: usize) -> String {
        if self.media.len() == 1 { String::new() } else { format!("{}: ", self.media[at].name) }
    }

    fn cell(&self, at: usize, owner: Owner, position: PagePosition, cause: Cause) -> Cell {
        let cell = self.custom_cell(at, owner);
        let cell = cell.unwrap_or_else(|| Cell { label: owner.label(), ..Cell::default() });
        let group = match self.medium_above(at, owner) {
            Some((user, first)) => (owner.number.0 - first) / self.media[user].pages_per_block,
            None if self.appearance.is_some() => cell.group,
            None => position.0,
        };
        Cell { cause: cause as u8, group, ..cell }
    }

    /// Returns the custom label and group of a page, if it has any.
    fn custom_cell(&self, at: usize, owner: Owner) -> Option<Cell> {
        self.appearance
            .as_ref()
            .filter(|_| owner.is_user())
            .and_then(|appearance| appearance(at, owner.number))
    }

    /// Returns the medium above to which a page belongs, and the first page of that medium on this medium.
    fn medium_above(&self, at: usize, owner: Owner) -> Option<(usize, u32)> {
        let mut users = self.media[at].users.iter().rev();
        users.find(|(_, first)| owner.is_user() && *first <= owner.number.0).copied()
    }

    /// Describes pages in words: "page 7", "pages 3–5, 9", "translation page 2".
    fn pages(&self, at: usize, owners: &[Owner]) -> String {
        let all = owners.len();
        let owners: Vec<Owner> =
            owners.iter().copied().filter(|owner| owner.kind != PageKind::Padding).collect();
        let padding = all - owners.len();
        let labels = if owners.iter().any(|owner| self.custom_cell(at, *owner).is_some()) {
            let label = |owner: &Owner| self.cell(at, *owner, (0, 0), Cause::Host).label;
            owners.iter().map(label).collect::<Vec<_>>().join(" ")
        } else {
            ranges(owners.iter().map(|owner| owner.number.0))
        };
        let Some(first) = owners.first() else {
            return if all == 1 { "a page of padding".to_owned() } else { format!("{all} pages of padding") };
        };
        let pages = format!("{}{} {labels}", first.kind.word(), if owners.len() == 1 { "" } else { "s" });
        if padding == 0 { pages } else { format!("{pages}, and {padding} of padding,") }
    }

    fn programmed(&mut self, at: usize, (block, first): PagePosition, owners: &[Lpn], cause: Cause) {
        let written: BTreeSet<u32> = owners.iter().map(|owner| owner.0).collect();
        let invalidations = std::mem::take(&mut self.states[at].invalidations);
        let (_, remaining): (Vec<_>, Vec<_>) =
            invalidations.into_iter().partition(|invalidation| written.contains(&invalidation.owner.0));
        self.states[at].invalidations = remaining;
        self.show_victim(at);
        self.show_invalidations(at);
        let owners: Vec<Owner> = owners.iter().map(|number| Owner::of(*number, cause)).collect();
        let (mut ops, mut old_blocks) = (Vec::new(), BTreeSet::new());
        let mut old_pages = 0;
        for (page, &owner) in (first..).zip(&owners) {
            let cell = self.cell(at, owner, (block, page), cause);
            self.states[at].stale.remove(&(block, page));
            if owner.kind == PageKind::Padding {
                ops.extend([
                    Op::Write { panel: at, block, page, cell },
                    Op::Invalidate { panel: at, block, page },
                ]);
                continue;
            }
            if let Some(old) = self.states[at].positions.insert(owner, (block, page)) {
                self.states[at].owners.remove(&old);
                old_pages += 1;
                old_blocks.insert(old.0);
                ops.push(Op::Invalidate { panel: at, block: old.0, page: old.1 });
            }
            self.states[at].owners.insert((block, page), owner);
            ops.push(Op::Write { panel: at, block, page, cell });
        }
        let word = self.media[at].word;
        let pages = self.pages(at, &owners);
        let blocks = ranges(old_blocks.iter().copied());
        let on = self.name_prefix(at);
        let text = match cause {
            Cause::Cleaning | Cause::WearLevelling => {
                let moves = if owners.len() == 1 { "moves" } else { "move" };
                format!("{on}{pages} {moves} to {word} {block}")
            }
            _ => {
                let is_said = cause == Cause::Host || owners.iter().any(|owner| !owner.is_user());
                let suffix = if is_said { "" } else { " (metadata)" };
                let invalidated = match (old_pages, old_blocks.len()) {
                    (0, _) => String::new(),
                    (1, _) => format!("; its old place in {word} {blocks} dies"),
                    (_, 1) => format!("; the old places in {word} {blocks} die"),
                    _ => format!("; the old places in {word}s {blocks} die"),
                };
                format!("{on}{pages}{suffix} → {word} {block}{invalidated}")
            }
        };
        self.push(text, ops);
    }

    fn read(&mut self, at: usize, block: BlockId, pages: u32, cause: Cause) {
        if matches!(cause, Cause::Cleaning | Cause::WearLevelling) {
            self.states[at].read_pages.entry(block.0).or_insert((0, cause)).0 += pages;
        }
    }

    /// Shows the blocks from which cleaning has read pages: one to be erased, or several to be merged.
    fn show_victim(&mut self, at: usize) {
        let read_pages = std::mem::take(&mut self.states[at].read_pages);
        let Some((&first, &(_, cause))) = read_pages.first_key_value() else { return };
        if read_pages.len() == 1 && self.states[at].victim == Some(first) {
            return;
        }
        self.show_invalidations(at);
        let live_pages =
            |pages| if pages == 1 { "1 live page".to_owned() } else { format!("{pages} live pages") };
        let reason = if cause == Cause::Cleaning { "cleaning" } else { "wear levelling" };
        let (on, word) = (self.name_prefix(at), self.media[at].word);
        if read_pages.len() == 1 {
            let page_range = 0..self.media[at].pages_per_block;
            let valid =
                page_range.filter(|page| self.states[at].owners.contains_key(&(first, *page))).count();
            self.states[at].victim = Some(first);
            let text = format!("{on}{reason} takes {word} {first}: {} must move", live_pages(valid as u32));
            return self.push(text, vec![Op::Victim { panel: at, block: first }]);
        }
        let pages = live_pages(read_pages.values().map(|(pages, _)| pages).sum());
        let blocks = ranges(read_pages.keys().copied());
        self.push(format!("{on}{reason} merges {word}s {blocks}: {pages} must move"), Vec::new());
    }

    fn erased(&mut self, at: usize, block: BlockId, cause: Cause) {
        self.show_victim(at);
        self.show_invalidations(at);
        let pages = self.media[at].pages_per_block;
        for page in 0..pages {
            // In-place cleaning erases the block before it writes the valid pages back.
            let state = &mut self.states[at];
            state.stale.remove(&(block.0, page));
            if let Some(owner) = state.owners.remove(&(block.0, page)) {
                state.positions.remove(&owner);
            }
        }
        let emptied =
            if self.states[at].victim.take() == Some(block.0) { "" } else { ", which holds nothing valid," };
        let outcome = if self.media[at].word == "block" { "is erased" } else { "is free again" };
        let text = format!("{}{} {}{emptied} {outcome}", self.name_prefix(at), self.media[at].word, block.0);
        self.push(text, vec![Op::Erase { panel: at, block: block.0, cause: cause as u8 }]);
    }

    /// Shows invalidations of pages that were not replaced.
    fn show_invalidations(&mut self, at: usize) {
        let invalidations = std::mem::take(&mut self.states[at].invalidations);
        let mut ops = Vec::new();
        let (mut owners, mut blocks) = (Vec::new(), BTreeSet::new());
        for Invalidation { owner, block, page } in invalidations {
            let position = (block.0, page);
            let current = self.states[at].owners.get(&position).copied();
            let Some(owner) = current.filter(|current| current.number == owner) else { continue };
            self.states[at].owners.remove(&position);
            self.states[at].positions.remove(&owner);
            self.states[at].stale.remove(&position);
            owners.push(owner);
            blocks.insert(block.0);
            ops.push(Op::Invalidate { panel: at, block: block.0, page });
        }
        if ops.is_empty() {
            return;
        }
        let (word, many) = (self.media[at].word, if blocks.len() == 1 { "" } else { "s" });
        let pages = self.pages(at, &owners);
        let (invalid, needed) = if owners.len() == 1 { ("dies", "is") } else { ("die", "are") };
        let on = self.name_prefix(at);
        let blocks = ranges(blocks.into_iter());
        self.push(
            format!("{on}{pages} {needed} no longer wanted and {invalid} in {word}{many} {blocks}"),
            ops,
        );
    }

    fn push(&mut self, text: String, mut ops: Vec<Op>) {
        self.mark_stale(&mut ops);
        // The names of media are not capitalised.
        let (first, rest) = text.split_at(text.chars().next().map_or(0, char::len_utf8));
        let first = if self.media.len() == 1 { first.to_uppercase() } else { first.to_owned() };
        self.frames.push(Frame { text: format!("{first}{rest}."), ops });
    }

    /// Adds changes for pages that are valid on this medium although the layer above no longer needs them, or that it
    /// needs again.
    fn mark_stale(&mut self, ops: &mut Vec<Op>) {
        for at in 0..self.media.len() {
            let Some(&(_, first)) = self.media[at].users.first() else { continue };
            let owners = self.states[at].owners.iter();
            let mut valid_pages: Vec<(PagePosition, Owner)> =
                owners.map(|(at, owner)| (*at, *owner)).collect();
            valid_pages.retain(|(_, owner)| owner.is_user() && owner.number.0 >= first);
            valid_pages.sort_unstable();
            for (position, owner) in valid_pages {
                let (user, first) = self.medium_above(at, owner).expect("one begins there");
                let (pages, offset) = (self.media[user].pages_per_block, owner.number.0 - first);
                let above = (offset / pages, offset % pages);
                let stale = !self.states[user].owners.contains_key(&above);
                let changed = match stale {
                    true => self.states[at].stale.insert(position),
                    false => self.states[at].stale.remove(&position),
                };
                if changed {
                    ops.push(Op::Stale { panel: at, block: position.0, page: position.1, stale });
                }
            }
        }
    }
}

/// Formats numbers as at most a dozen groups, in which consecutive numbers are joined.
fn ranges(numbers: impl Iterator<Item = u32>) -> String {
    let mut spans: Vec<(u32, u32)> = Vec::new();
    for number in numbers {
        match spans.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(number) => *last = number,
            _ => spans.push((number, number)),
        }
    }
    let span = |(first, last): &(u32, u32)| match last - first {
        0 => first.to_string(),
        1 => format!("{first}, {last}"),
        _ => format!("{first}–{last}"),
    };
    let words: Vec<String> = spans.iter().take(12).map(span).collect();
    let more = spans.len().saturating_sub(12);
    if more == 0 { words.join(", ") } else { format!("{} and others", words.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_join_consecutive_numbers() {
        let text = |numbers: &[u32]| ranges(numbers.iter().copied());
        assert_eq!(text(&[4]), "4");
        assert_eq!(text(&[4, 5]), "4, 5");
        assert_eq!(text(&[4, 5, 6, 9, 3]), "4–6, 9, 3");
        let many: Vec<u32> = (0..40).map(|at| at * 2).collect();
        assert!(text(&many).ends_with("22 and others"), "{}", text(&many));
    }
}
