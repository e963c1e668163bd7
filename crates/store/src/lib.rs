//! Store of finished runs in a folder of Parquet files, which several programs can fill at the same time.
//!
//! Each file holds a few runs, one per row. It is written under a temporary name and, when complete, renamed to a
//! hash of its content. The store therefore needs neither locks nor repair: a file is either intact, or its name
//! shows that it is damaged. [`ResultStore`] is the store for studies; [`read`] returns the content of a folder.

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
pub use compact::{CompactionResult, compact};
#[cfg(feature = "parquet")]
pub use file::{Inventory, file_name_of};
#[cfg(feature = "parquet")]
pub use rows::{StoreContents, read};
#[cfg(feature = "parquet")]
pub use store::ResultStore;
