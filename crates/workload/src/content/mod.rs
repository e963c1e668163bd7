//! What written pages hold: contents with duplicates, for layers that store equal pages once.
//!
//! [`ContentConfig`] describes them, [`ContentConfig::build`] makes the generator, which dresses the pages of any source.

mod config;
mod generator;
mod preset;

#[cfg(test)]
pub(super) mod census;
#[cfg(test)]
mod tests;

pub use config::ContentConfig;
pub use generator::{Contents, SINGLES};
