//! Comparison of every device with a simple model, and of crash images with the possible content.

mod crashes;
mod nvrams;
mod ssds;
