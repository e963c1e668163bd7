//! Checks of the contracts of layers and media at run time.
//!
//! A wrapper at a seam checks both sides against [`crate::layer::Layer`] or [`crate::layer::Medium`], and changes
//! nothing. Tests use wrappers wherever two parts meet; a stack built with debug assertions has [`Checked`] on each
//! of its layers.

mod layer;
mod medium;

pub use layer::CheckedLayer;
pub use medium::CheckedMedium;
