//! Numbers about the file systems and their workloads that the paper on NVMFS leaves open, from the register of
//! assumptions.

use crate::Failure;
use crate::nvmfs::load::Load;
use crate::session::Session;
use wearwell_nvmfs::options::{Lists, Options};
use wearwell_nvmfs::workload::{Fileserver, Fio};

/// Assumed numbers of a session.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AssumedValues {
    /// Share of the NVRAM that users write between two write-outs, for a file system with periodic write-out.
    pub write_out_share: f64,
    /// Share of free extents below which NVMFS recycles.
    pub recycle_free: f64,
    /// Minimum share of the used extents that packing must free, for NVMFS to recycle.
    pub recycle_fragmentation: f64,
    /// Share of the extents that NVMFS keeps free for cleaning.
    pub reserve: f64,
    /// Factor for the maximum size of files that Conquest keeps on NVRAM.
    pub conquest_size_factor: f64,
    /// Factor for the sizes of files in the fio and file server workloads.
    pub file_size_factor: f64,
}

impl AssumedValues {
    /// Reads the values of a session.
    ///
    /// # Errors
    ///
    /// Returns an error if the register lacks a number.
    pub fn from_session(session: &Session) -> Result<AssumedValues, Failure> {
        let value_of = |name: &str| session.assumed_value(&format!("nvmfs/{name}"));
        Ok(AssumedValues {
            write_out_share: value_of("write-out-share")?,
            recycle_free: value_of("recycle-free")?,
            recycle_fragmentation: value_of("recycle-fragmentation")?,
            reserve: value_of("reserve")?,
            conquest_size_factor: value_of("conquest-keeps")?,
            file_size_factor: value_of("file-sizes")?,
        })
    }

    /// Returns the options with these values, which all file systems share.
    pub fn options(&self) -> Options {
        let AssumedValues { recycle_free, recycle_fragmentation, .. } = *self;
        // The paper does not describe how its lists adapt, so the lists are fixed. The recorded data uses the shares
        // in the text of the paper, 80 % and 50 % of all pages.
        let lists = Lists::Fixed;
        Options { lists, recycle_free, recycle_fragmentation, ..Options::default() }
    }

    /// Returns the workload with scaled file sizes.
    pub fn with_scaled_files(&self, load: Load) -> Load {
        let scale = |bytes: u64| (bytes as f64 * self.file_size_factor).round() as u64;
        let sizes = match load.kind.as_str() {
            "fio" => {
                let Fio { min_bytes, max_bytes, .. } = Fio::default();
                format!("min_bytes = {}\nmax_bytes = {}\n", scale(min_bytes), scale(max_bytes))
            }
            "fileserver" => format!("mean_bytes = {}\n", scale(Fileserver::default().mean_bytes)),
            _ => String::new(),
        };
        Load { settings: format!("{sizes}{}", load.settings), ..load }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::tests::with_session;
    use wearwell_nvmfs::options::Format;

    #[test]
    fn register_equals_the_defaults_of_the_file_system() {
        let assumed = with_session(1, 1.0, |session| AssumedValues::from_session(session).unwrap());
        assert_eq!(assumed.options(), Options { lists: Lists::Fixed, ..Options::default() });
        assert_eq!(assumed.reserve, Format::default().reserve);
        let load = assumed.with_scaled_files(Load::named("fio"));
        assert_eq!(load.settings, "min_bytes = 262144\nmax_bytes = 262144\n");
        assert_eq!(assumed.with_scaled_files(Load::named("iozone")), Load::named("iozone"));
    }
}
