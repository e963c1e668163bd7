//! The contract of layers and media, asserted at the seam.
//!
//! A wrapper on either side of it holds both sides to what [`crate::layer::Layer`] and [`crate::layer::Medium`] say, and changes nothing. Tests put
//! them wherever two parts meet; a stack that is built with debug assertions has [`Checked`] on each of its layers.

mod layer;
mod medium;

pub use layer::Checked;
pub use medium::CheckedMedium;
