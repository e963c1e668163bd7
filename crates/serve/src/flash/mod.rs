//! Drive whose flash is kept in files, byte by byte, and which recovers from these files as it does after a power
//! cut.
//!
//! The files contain what flash would contain: the bytes of each page, its spare area, and the erase count of each
//! block. Nothing else of the drive survives its process; its tables are rebuilt by the simulated recovery.
//! docs/design/flash-image.md describes the format, and the state after a stop at any moment.

mod battery;
mod check;
mod drive;
mod files;
mod image;
mod medium;
mod metadata_pages;
mod records;
mod scan;
#[cfg(test)]
mod tests;
mod trial;

pub use battery::Battery;
pub use check::{CheckReport, ImageCounts, PageLine, check, count_image, dump};
pub use drive::StoredDrive;
pub use files::{Shape, is_flash};
pub use image::{FlashImage, OpenReport};
pub use medium::PowerCut;
