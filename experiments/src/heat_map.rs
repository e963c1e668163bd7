//! Heat maps with values as plots of an item.

use crate::Failure;
use crate::session::Session;
pub use wearwell_plot::{Cell, HeatMap};

/// Draws the map, with low values light and high values dark, as a plot of the session's item.
pub fn draw(map: &HeatMap, session: &Session, name: &str) -> Result<(), Failure> {
    session.write_file(name, "svg", &map.svg()?)
}
