//! Film: panels and their changes from step to step, independent of the source of the changes.

use serde::Serialize;

/// Film of a simulation.
#[derive(Clone, Debug, Serialize)]
pub struct Film {
    /// Title of the film.
    pub title: String,
    /// Explanations of the film, one paragraph each.
    pub notes: Vec<String>,
    /// Panels from top to bottom.
    pub panels: Vec<Panel>,
    /// Steps of the film; the first one shows the initial state.
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
        /// Word for a block in captions.
        word: String,
        /// True if the colour of a page shows its group, false if it shows the cause of the write.
        grouped: bool,
    },
    /// Lists, each of which is replaced as a whole.
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
    /// Label drawn on the flash page.
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

/// Change to the picture. Panels, blocks, pages and rows are numbered from 0.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Op {
    /// A page was written.
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
    /// A page was invalidated.
    Invalidate {
        /// Panel number.
        panel: usize,
        /// Block number.
        block: u32,
        /// Index of the page in the block.
        page: u32,
    },
    /// A page that is valid on this medium is no longer needed by the layer above, or is needed again.
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
    /// A block was erased.
    Erase {
        /// Panel number.
        panel: usize,
        /// Block number.
        block: u32,
        /// Number of the cause.
        cause: u8,
    },
    /// A block was selected for cleaning, and is marked until its erase.
    Victim {
        /// Panel number.
        panel: usize,
        /// Block number.
        block: u32,
    },
    /// A list was replaced.
    Row {
        /// Panel number.
        panel: usize,
        /// Row number.
        row: usize,
        /// Content of the list, from the first to the last element.
        cells: Vec<Cell>,
    },
}

impl Film {
    /// Cuts the film so that it starts at frame `from`; the new first frame shows the state up to that frame.
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
