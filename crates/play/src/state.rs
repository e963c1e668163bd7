//! State of the picture at a step, which is the result of all changes up to that step.

use crate::film::{Cell, Film, Frame, Op, PanelContent};
use wearwell_engine::counters::Cause;

/// State of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PageStatus {
    /// The page is erased.
    #[default]
    Free,
    /// The page is written and valid.
    Valid,
    /// The page is written and no longer valid.
    Invalid,
}

/// State of a flash page at a step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    /// State of the page.
    pub status: PageStatus,
    /// True if the page is valid on this medium although the layer above no longer needs it.
    pub stale: bool,
    /// True if the current step changed the page.
    pub is_new: bool,
    /// Appearance of the page.
    pub cell: Cell,
}

/// State of a panel at a step.
#[derive(Clone, Debug, Default)]
pub struct PanelState {
    /// Pages per block; 0 in a panel with lists.
    pub pages_per_block: u32,
    /// All pages of the panel, block after block.
    pub pages: Vec<Page>,
    /// Block that is being cleaned.
    pub victim: Option<u32>,
    /// Number of pages written so far, by cause.
    pub written: [u64; Cause::ALL.len()],
    /// Number of blocks erased so far.
    pub erases: u64,
    /// Lists of a panel with lists.
    pub rows: Vec<Vec<Cell>>,
}

/// State of the picture at a step.
#[derive(Clone, Debug)]
pub struct State {
    /// Panels of the picture.
    pub panels: Vec<PanelState>,
}

impl State {
    /// Returns the state before the first frame.
    pub fn of(film: &Film) -> State {
        let panel = |shows: &PanelContent| match shows {
            PanelContent::Blocks { blocks, pages_per_block, .. } => PanelState {
                pages_per_block: *pages_per_block,
                pages: vec![Page::default(); (blocks * pages_per_block) as usize],
                ..PanelState::default()
            },
            PanelContent::Rows { rows } => {
                PanelState { rows: vec![Vec::new(); rows.len()], ..PanelState::default() }
            }
        };
        State { panels: film.panels.iter().map(|one| panel(&one.content)).collect() }
    }

    /// Applies the changes of a frame.
    pub fn apply(&mut self, frame: &Frame) {
        for panel in &mut self.panels {
            panel.pages.iter_mut().for_each(|page| page.is_new = false);
        }
        frame.ops.iter().for_each(|op| self.change(op));
    }

    fn change(&mut self, op: &Op) {
        match op {
            Op::Write { panel, block, page, cell } => {
                let panel = &mut self.panels[*panel];
                panel.written[usize::from(cell.cause)] += 1;
                let (life, cell) = (PageStatus::Valid, cell.clone());
                *panel.page(*block, *page) = Page { status: life, stale: false, is_new: true, cell };
            }
            Op::Invalidate { panel, block, page } => {
                let page = self.panels[*panel].page(*block, *page);
                (page.status, page.stale, page.is_new) = (PageStatus::Invalid, false, true);
            }
            Op::Stale { panel, block, page, stale } => self.panels[*panel].page(*block, *page).stale = *stale,
            Op::Erase { panel, block, .. } => {
                let panel = &mut self.panels[*panel];
                for page in 0..panel.pages_per_block {
                    *panel.page(*block, page) = Page { is_new: true, ..Page::default() };
                }
                panel.erases += 1;
                panel.victim = panel.victim.filter(|victim| victim != block);
            }
            Op::Victim { panel, block } => self.panels[*panel].victim = Some(*block),
            Op::Row { panel, row, cells } => self.panels[*panel].rows[*row] = cells.clone(),
        }
    }
}

impl PanelState {
    fn page(&mut self, block: u32, page: u32) -> &mut Page {
        &mut self.pages[(block * self.pages_per_block + page) as usize]
    }

    /// Returns the pages of each block.
    pub fn blocks(&self) -> impl Iterator<Item = &[Page]> {
        self.pages.chunks(self.pages_per_block.max(1) as usize)
    }

    /// Describes the numbers of writes and erases in words.
    pub fn counts_text(&self) -> String {
        if self.pages_per_block == 0 {
            return String::new();
        }
        let free =
            self.blocks().filter(|pages| pages.iter().all(|page| page.status == PageStatus::Free)).count();
        let [host, cleaning] = [Cause::Host, Cause::Cleaning].map(|cause| self.written[cause as usize]);
        let all: u64 = self.written.iter().sum();
        let mut words = format!("written {host}");
        if cleaning > 0 {
            words += &format!(" + {cleaning} moved");
        }
        if all > host + cleaning {
            words += &format!(" + {} other", all - host - cleaning);
        }
        if host > 0 {
            words += &format!(" = ×{:.2}", all as f64 / host as f64);
        }
        format!("{words} · {} erased · {free} free", self.erases)
    }
}
