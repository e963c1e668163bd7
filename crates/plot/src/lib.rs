//! Plain figures that stand still: charts and maps as SVG for the experiments and for papers, and the same as PDF and PNG.
//!
//! [`figures`] knows which figures a result has; [`Chart`], [`Bars`] and [`HeatMap`] draw what they are given, by plotters.

mod bars;
mod chart;
pub mod figures;
#[cfg(feature = "files")]
mod files;
mod heat_map;

pub use bars::{Bar, Bars, Level};
pub use chart::{Chart, Point, Series};
#[cfg(feature = "files")]
pub use files::{Painter, Pixels, pdf, png};
pub use heat_map::{Cell, HeatMap};

/// What plotters has to say when it fails.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;
