//! A film: what is seen, and how it changes from step to step. Who draws it knows nothing of where it came from.

use serde::Serialize;

/// A film.
#[derive(Clone, Debug, Serialize)]
pub struct Film {
    /// What it is called.
    pub title: String,
    /// What to look at, a paragraph each.
    pub notes: Vec<String>,
    /// What is seen, from top to bottom.
    pub panels: Vec<Panel>,
    /// The steps. The first shows how it begins.
    pub frames: Vec<Frame>,
}

/// A part of the picture under a name.
#[derive(Clone, Debug, Serialize)]
pub struct Panel {
    /// Its name.
    pub name: String,
    /// What it shows.
    #[serde(flatten)]
    pub shows: Shows,
}

/// What a panel shows.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Shows {
    /// Erase blocks (or segments) of a medium, all as long.
    Blocks {
        /// How many.
        blocks: u32,
        /// Pages of each.
        pages_per_block: u32,
        /// What one is called.
        word: String,
        /// Whether pages are coloured by what they belong to, and not by why they were written.
        grouped: bool,
    },
    /// Lists that change as a whole.
    Rows {
        /// Their names.
        rows: Vec<String>,
    },
}

/// A step.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Frame {
    /// What happens.
    pub text: String,
    /// What changes, in order.
    pub ops: Vec<Op>,
}

/// A page in the picture.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Cell {
    /// What is written on it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub label: String,
    /// Why it was written, by the number of [`wearwell_engine::counters::Cause`].
    #[serde(skip_serializing_if = "is_host")]
    pub cause: u8,
    /// What it belongs to: pages of one group have one colour.
    pub group: u32,
}

fn is_host(cause: &u8) -> bool {
    *cause == 0
}

/// A change. Panels, blocks, pages and rows have numbers from 0.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Op {
    /// A page is written.
    Write {
        /// The panel.
        panel: usize,
        /// The block.
        block: u32,
        /// The page's index there.
        page: u32,
        /// How it looks.
        #[serde(flatten)]
        cell: Cell,
    },
    /// A page is no longer valid.
    Die {
        /// The panel.
        panel: usize,
        /// The block.
        block: u32,
        /// The page's index there.
        page: u32,
    },
    /// A page is valid here, and nobody above wants it any more; or it is wanted again.
    Stale {
        /// The panel.
        panel: usize,
        /// The block.
        block: u32,
        /// The page's index there.
        page: u32,
        /// Whether it is.
        stale: bool,
    },
    /// All pages of a block are free again.
    Erase {
        /// The panel.
        panel: usize,
        /// The block.
        block: u32,
        /// Why, by the number of the cause.
        cause: u8,
    },
    /// Cleaning takes a block; it ends with the block's erase.
    Victim {
        /// The panel.
        panel: usize,
        /// The block.
        block: u32,
    },
    /// A list is now this.
    Row {
        /// The panel.
        panel: usize,
        /// The row.
        row: usize,
        /// What is in it, from first to last.
        cells: Vec<Cell>,
    },
}

impl Film {
    /// The same from frame `from` on, which the first frame then shows as what came before.
    pub fn starting_at(mut self, from: usize) -> Film {
        let from = from.min(self.frames.len().saturating_sub(1));
        if from > 0 {
            let before: Vec<Frame> = self.frames.drain(..=from).collect();
            let text = format!("After {from} steps that are not shown.");
            let ops = before.into_iter().flat_map(|frame| frame.ops).collect();
            self.frames.insert(0, Frame { text, ops });
        }
        self
    }
}
