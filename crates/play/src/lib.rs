//! Films of small drives: blocks that are filled, invalidated and cleaned, step by step.
//!
//! A [`Film`] is a list of changes, each with a sentence. [`film`] makes a film from the engine's operations, which
//! it observes page by page while a scenario runs; a [`Lesson`] is a film with explanations. The output functions
//! work with films from either source: [`page`] plays a film in a browser, and [`gif()`] and [`frames`] make
//! pictures.

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

pub use files::{MAX_PICTURES, frames, gif};
pub use film::{Cell, Film, Frame, Op, Panel, PanelContent};
pub use lessons::{LESSONS, Lesson};
pub use page::page;
pub use scenario::{FilmRange, FilmedRun, MAX_BLOCKS, MAX_PAGES, MAX_STEPS, film};
pub use state::{Page, PageStatus, PanelState, State};
