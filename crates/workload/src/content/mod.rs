//! Contents of written pages, including duplicates, for layers that store equal pages once.
//!
//! [`ContentConfig`] describes the contents, [`ContentConfig::build`] makes the generator, which adds contents to the
//! pages of any source.

mod config;
mod generator;
mod preset;

#[cfg(test)]
pub(super) mod stats;
#[cfg(test)]
mod tests;

pub use config::ContentConfig;
pub use generator::{ContentGenerator, MAX_SINGLES};
