//! Heat maps with values, as plots of an item.

use crate::Failure;
use crate::session::Session;
pub use wearwell_plot::{Cell, HeatMap};

/// Draws the map as a plot of the session's item; low values are light and high values are dark.
pub fn draw(map: &HeatMap, session: &Session, name: &str) -> Result<(), Failure> {
    session.write_file(name, "svg", &map.svg()?)
}
