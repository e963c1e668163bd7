//! Lessons: films with explanations. To add a lesson, add a file here and a line in [`LESSONS`].
//!
//! The engine executes all operations that a lesson shows; the lesson supplies the host writes and the explanations.

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

/// Film with explanations.
pub struct Lesson {
    /// Name of the lesson in commands.
    pub name: &'static str,
    /// Title of the film.
    pub title: &'static str,
    /// Source of the example, such as a paper.
    pub source: &'static str,
    /// Explanations, one paragraph each.
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
    /// Returns the lesson with this name.
    pub fn named(name: &str) -> Option<&'static Lesson> {
        LESSONS.iter().find(|lesson| lesson.name == name)
    }

    /// Makes the film.
    ///
    /// # Errors
    ///
    /// Returns an error only if the engine refuses the lesson, which is a bug.
    pub fn film(&self) -> Result<Film, Failure> {
        let mut film = (self.film)()?;
        film.title = self.title.to_owned();
        film.notes = self.notes.iter().map(|note| (*note).to_owned()).collect();
        film.notes.push(format!("After {}.", self.source));
        Ok(film)
    }
}
