//! NVMFS: a file system over NVRAM and an SSD.
//!
//! Metadata and frequently updated data are in NVRAM, where they are updated in place at byte granularity. Data that
//! is no longer updated often is written to the SSD in extents of 512 KiB, which are never overwritten in place.
//!
//! The design follows Qiu and Reddy, "NVMFS: A hybrid file system for improving random write in NAND-flash SSD"
//! (MSST 2013). Section numbers in the documentation refer to this paper.
//!
//! [`api`] is the trait that every file system of this crate implements. [`nvram`] and [`ssd`] are the devices, and
//! [`fs`] is the file system on top of them. [`workload`] holds workload generators that run on any file system, and
//! [`top`] runs them over a simulated SSD stack.

// Tests of the integration tests' devices refer to the crate by name, also when the unit tests include them.
#[cfg(test)]
extern crate self as wearwell_nvmfs;

pub mod api;
#[cfg(target_os = "linux")]
pub mod backing;
pub mod fs;
pub mod layout;
pub mod names;
pub mod nvram;
pub mod options;
pub mod placement;
pub mod ssd;
pub mod stats;
pub mod store;
pub mod top;
pub mod workload;
