//! RAM and recovery of FTLs whose table is in flash, and what the bookkeeping of valid pages costs: the model of GeckoFTL
//! (Dayan, Bonnet, Idreos, SIGMOD 2016), sections 2, 3.2, 3.3 and 5.3, and appendices B and C.
//!
//! An FTL is a [`Design`]: where its table is, where it keeps which pages are valid, and what becomes of dirty mapping entries
//! when power fails. Everything else follows from the three. `docs/ftl-model.md` has all formulas in one place.

mod design;
mod drive;
mod gecko;
#[cfg(test)]
mod paper;
mod ram;
mod recovery;
mod validity;

pub use design::{Counters, Design, Dirty, Ftl, Table, Validity};
pub use drive::{FtlDrive, FtlSizes};
pub use gecko::{entries_per_page, gecko_pages, levels, most_runs};
pub use ram::{RamPart, ram};
pub use recovery::{Step, recovery};
pub use validity::{
    Cost, cleaning_write_amplification, crossing_log2_blocks, flash_bitmap_write_amplification,
    gecko_write_amplification, query_cost, update_cost,
};
