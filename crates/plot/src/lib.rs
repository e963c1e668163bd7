//! Static figures: charts and maps as SVG for experiments and papers, with conversion to PDF and PNG.
//!
//! [`figures`] selects the figures of a result; [`Chart`], [`Bars`] and [`HeatMap`] draw given data with plotters.

mod bars;
mod chart;
mod compact;
pub mod figures;
#[cfg(feature = "files")]
mod files;
mod heat_map;

pub use bars::{Bar, Bars, ReferenceLine};
pub use chart::{Chart, Point, Series};
#[cfg(feature = "files")]
pub use files::{Pixels, Renderer, pdf, png};
pub use heat_map::{Cell, HeatMap};

/// Error of plotters or of a conversion.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;
