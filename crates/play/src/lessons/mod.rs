//! Films with a story. A lesson is a file here and a line in [`LESSONS`].
//!
//! What a lesson shows is done by the engine; the lesson says what is written and what to look at.

mod cagc_figure_8;
mod gecko_merges;
mod hybrid_merges;
mod log_on_log_figure_3;
mod log_on_log_figure_6;
#[cfg(feature = "nvmfs")]
mod nvmfs_extents;
mod script;

use crate::film::Film;
use wearwell_plot::Failure;

/// A film with a story.
pub struct Lesson {
    /// The name by which it is asked for.
    pub name: &'static str,
    /// What it is called.
    pub title: &'static str,
    /// Where the example is from.
    pub source: &'static str,
    /// What to look at, a paragraph each.
    pub notes: &'static [&'static str],
    /// Makes the film.
    film: fn() -> Result<Film, Failure>,
}

/// All lessons.
pub static LESSONS: &[Lesson] = &[
    cagc_figure_8::LESSON,
    log_on_log_figure_3::LESSON,
    log_on_log_figure_6::LESSON,
    hybrid_merges::LESSON,
    gecko_merges::LESSON,
    #[cfg(feature = "nvmfs")]
    nvmfs_extents::LESSON,
];

impl Lesson {
    /// The lesson of that name.
    pub fn named(name: &str) -> Option<&'static Lesson> {
        LESSONS.iter().find(|lesson| lesson.name == name)
    }

    /// The film.
    ///
    /// # Errors
    ///
    /// None that a user could cause: what the engine refuses in a lesson is a defect of it.
    pub fn film(&self) -> Result<Film, Failure> {
        let mut film = (self.film)()?;
        film.title = self.title.to_owned();
        film.notes = self.notes.iter().map(|note| (*note).to_owned()).collect();
        film.notes.push(format!("After {}.", self.source));
        Ok(film)
    }
}
