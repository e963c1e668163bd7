//! Checks of the contracts of layers and media at run time.
//!
//! A wrapper checks both sides of an interface against [`crate::layer::Layer`] or [`crate::layer::Medium`], and changes
//! no result. Tests use wrappers wherever two parts meet; a stack built with debug assertions has a [`CheckedLayer`] on
//! each of its layers.

mod layer;
mod medium;

pub use layer::CheckedLayer;
pub use medium::CheckedMedium;
