//! Film: panels and their changes from step to step, independent of the source of the film.

use serde::Serialize;

/// Film of a simulation.
#[derive(Clone, Debug, Serialize)]
pub struct Film {
    /// Title of the film.
    pub title: String,
    /// Explanations, one paragraph each.
    pub notes: Vec<String>,
    /// Panels from top to bottom.
    pub panels: Vec<Panel>,
    /// Steps. The first shows the initial state.
    pub frames: Vec<Frame>,
}

/// Named part of the picture.
#[derive(Clone, Debug, Serialize)]
pub struct Panel {
    /// Name of the panel.
    pub name: String,
    /// Content of the panel.
    #[serde(flatten)]
    pub content: PanelContent,
}

/// Content of a panel.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum PanelContent {
    /// Erase blocks or segments of a medium, all of equal size.
    Blocks {
        /// Number of blocks.
        blocks: u32,
        /// Pages per block.
        pages_per_block: u32,
        /// Word for a block.
        word: String,
        /// True if the group determines the colour of a page, false if the cause of the write does.
        grouped: bool,
    },
    /// Lists that are replaced as a whole.
    Rows {
        /// Names of the lists.
        rows: Vec<String>,
    },
}

/// Step of a film.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Frame {
    /// Sentence about the step.
    pub text: String,
    /// Changes, in order.
    pub ops: Vec<Op>,
}

/// Appearance of a page.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Cell {
    /// Text on the page.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub label: String,
    /// Cause of the write, as the number of a [`wearwell_engine::counters::Cause`].
    #[serde(skip_serializing_if = "is_host")]
    pub cause: u8,
    /// Group: pages of a group have the same colour.
    pub group: u32,
}

fn is_host(cause: &u8) -> bool {
    *cause == 0
}

/// Change of the picture. Panels, blocks, pages and rows are numbered from 0.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Op {
    /// Page written.
    Write {
        /// Panel number.
        panel: usize,
        /// Block number.
        block: u32,
        /// Index of the page in the block.
        page: u32,
        /// Appearance of the page.
        #[serde(flatten)]
        cell: Cell,
    },
    /// Page invalidated.
    #[serde(rename = "die")]
    Invalidate {
        /// Panel number.
        panel: usize,
        /// Block number.
        block: u32,
        /// Index of the page in the block.
        page: u32,
    },
    /// Page that is valid here but no longer needed above, or needed again.
    Stale {
        /// Panel number.
        panel: usize,
        /// Block number.
        block: u32,
        /// Index of the page in the block.
        page: u32,
        /// True if the page is no longer needed.
        stale: bool,
    },
    /// Block erased.
    Erase {
        /// Panel number.
        panel: usize,
        /// Block number.
        block: u32,
        /// Cause, as its number.
        cause: u8,
    },
    /// Block selected by cleaning, until its erase.
    Victim {
        /// Panel number.
        panel: usize,
        /// Block number.
        block: u32,
    },
    /// List replaced.
    Row {
        /// Panel number.
        panel: usize,
        /// Row number.
        row: usize,
        /// Content of the list, from first to last.
        cells: Vec<Cell>,
    },
}

impl Film {
    /// Cuts the film to start at frame `from`; the new first frame shows the state up to there.
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
