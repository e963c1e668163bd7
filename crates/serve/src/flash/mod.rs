//! A drive whose flash is kept in files, byte by byte, and which comes back from them as it does from a power cut.
//!
//! What is in the files is what flash would hold: the bytes of each page, each page's spare area, and of each block how often it was
//! erased. Nothing else of the drive survives its process; its tables come back by the same recovery that is simulated. docs/design/flash-image.md
//! has the format, and what an end at any moment leaves.

mod battery;
mod check;
mod drive;
mod files;
mod image;
mod medium;
mod records;
mod scan;
mod scratch;

pub use battery::Battery;
pub use check::{Census, Checked, PageLine, census, check, dump};
pub use drive::KeptDrive;
pub use files::{Shape, is_flash};
pub use image::{FlashImage, Opened};
pub use medium::PowerCut;
