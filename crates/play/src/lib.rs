//! Films of small drives: blocks that fill, die and are cleaned, step by step.
//!
//! A [`Film`] is a list of changes, each with a sentence. It comes from what the engine itself did, which [`film`] looks at page by
//! page while a scenario runs, or from a [`Lesson`], which is a film with a story. Who draws it knows nothing of that: [`page`]
//! plays it in a browser, [`gif()`] and [`frames`] make pictures of it.

mod director;
mod draw;
mod files;
mod film;
mod layout;
mod lessons;
mod owner;
mod page;
mod scenario;
mod state;

pub use files::{MOST_PICTURES, frames, gif};
pub use film::{Cell, Film, Frame, Op, Panel, Shows};
pub use lessons::{LESSONS, Lesson};
pub use page::page;
pub use scenario::{Cut, Filmed, MOST_BLOCKS, MOST_PAGES, MOST_STEPS, film};
pub use state::{Life, Page, PanelState, State};
