//! Which pages of a block are valid.

mod ram_bitmap;

pub use ram_bitmap::RamBitmap;
