//! Model of FTLs with the mapping table in flash: RAM, recovery, and the cost of tracking valid pages.
//!
//! Source: GeckoFTL (Dayan, Bonnet, Idreos, SIGMOD 2016), sections 2, 3.2, 3.3 and 5.3, and appendices B and C.
//!
//! An FTL is a [`FtlDesign`]: the location of its mapping table, its record of valid pages, and its handling of dirty
//! mapping entries at a power failure. These three determine everything else. `docs/ftl-model.md` lists all formulas.

mod design;
mod drive;
mod gecko;
#[cfg(test)]
mod paper;
mod ram;
mod recovery;
mod validity;

pub use design::{CounterCoverage, DirtyEntryPolicy, Ftl, FtlDesign, TableLocation, ValidityStore};
pub use drive::{FtlDrive, FtlSizes};
pub use gecko::{entries_per_page, gecko_pages, levels};
pub use ram::{RamPart, ram};
pub use recovery::{RecoveryStepCost, recovery};
pub use validity::{
    Cost, cleaning_write_amplification, crossing_log2_blocks, flash_bitmap_write_amplification,
    gecko_write_amplification, query_cost, update_cost,
};
