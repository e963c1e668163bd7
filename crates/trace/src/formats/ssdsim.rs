//! SSDsim's ASCII traces.

use super::mqsim::FiveNumbers;
use super::prelude::*;

/// The `ssdsim` format.
pub static FORMAT: Format = Format {
    name: "ssdsim",
    help: "SSDsim ASCII: nanoseconds, sectors, 0 writes and 1 reads",
    columns: "arrival[ns] device lsn[512 B] sectors operation[1 read, 0 write], blank separated. The volume is \
              the device. SSDsim wants no line end after the last line; we read either and write one.",
    source: "SSDsim, README; Hu et al., ICS 2011",
    extensions: &["ascii", "trace"],
    time_step_ns: 1,
    options: &[],
    detect: None, // five whole numbers, as in other formats
    read: |_| Lines::boxed(FiveNumbers::in_unit("ns")),
    write: Some(|_| Box::new(FiveNumbers::in_unit("ns"))),
};
