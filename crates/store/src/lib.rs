//! Finished runs in a folder of Parquet files, which several programs may fill at once.
//!
//! Each file holds a few runs, one a row, is written under another name first and renamed when it is whole, and is called after a
//! hash of its content. So there are no locks and nothing to repair: a file is there as it was meant, or its name says that it is
//! damaged. [`ResultStore`] is such a folder as a study uses it, [`read`] all that is in one.

mod column;
#[cfg(feature = "parquet")]
mod compact;
#[cfg(feature = "parquet")]
mod file;
#[cfg(feature = "parquet")]
pub mod parquet;
#[cfg(feature = "parquet")]
mod rows;
#[cfg(feature = "parquet")]
mod store;

pub use column::Column;
#[cfg(feature = "parquet")]
pub use compact::{Compacted, compact};
#[cfg(feature = "parquet")]
pub use file::{Found, name_of};
#[cfg(feature = "parquet")]
pub use rows::{Stored, read};
#[cfg(feature = "parquet")]
pub use store::ResultStore;
