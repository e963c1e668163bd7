//! Replacement for Parquet files in a program that was built without them.

use std::io::Write;
use wearwell_store::Column;

/// Returns an error: there is no support for Parquet.
pub fn write<W: Write + Send>(
    _out: W,
    _columns: &[(String, Column)],
    _metadata: &[(String, String)],
) -> Result<(), &'static str> {
    Err("this program was built without Parquet files")
}
