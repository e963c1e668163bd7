//! Options of a mount: `-o name,name=value`.

use std::str::FromStr;
use wearwell_nvmfs::options::Options;

/// Upper limit of threads for requests: each has a buffer of 16 MiB, and uses as much of it as the largest request
/// needs.
const MAX_THREADS: u16 = 256;

/// Options that `-o` accepts.
#[derive(Clone, Debug, Default)]
pub struct MountOptions {
    /// Allows access by other users.
    pub allow_other: bool,
    /// Mounts read-only.
    pub read_only: bool,
    /// Disables the page cache of the kernel.
    pub direct_io: bool,
    /// Lets the kernel collect writes.
    pub writeback_cache: bool,
    /// Forbids the execution of programs.
    pub no_programs: bool,
    /// Disables the check of checksums in the background.
    pub no_scrub: bool,
    /// Name of the snapshot to mount instead of the current state.
    pub snapshot: Option<String>,
    /// Number of threads that serve requests.
    pub threads: Option<u16>,
    /// Options of the file system.
    pub file_system: Options,
}

impl FromStr for MountOptions {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut options = MountOptions::default();
        let mut settings = toml::Table::new();
        for option in text.split(',').filter(|option| !option.is_empty()) {
            match (option, option.split_once('=')) {
                ("allow_other", _) => options.allow_other = true,
                ("ro", _) => options.read_only = true,
                ("rw", _) => options.read_only = false,
                ("direct_io", _) => options.direct_io = true,
                ("writeback_cache", _) => options.writeback_cache = true,
                // Always in force.
                ("nosuid" | "nodev", _) => {}
                ("noexec", _) => options.no_programs = true,
                ("no_scrub", _) => options.no_scrub = true,
                (_, Some(("snapshot", name))) => options.snapshot = Some(name.into()),
                (_, Some(("threads", value))) => options.threads = Some(threads(value)?),
                (_, Some((name, value))) => drop(settings.insert(name.into(), value_of(value))),
                (name, None) => drop(settings.insert(name.into(), true.into())),
            }
        }
        let settings = toml::Value::Table(settings).try_into::<Options>();
        options.file_system = settings.map_err(|error| {
            let valid_options =
                "allow_other, ro, rw, direct_io, writeback_cache, nosuid, nodev, noexec, no_scrub, threads, snapshot";
            format!("{}; or {valid_options}", error.to_string().trim_end())
        })?;
        options.file_system.check().map_err(|error| error.to_string())?;
        Ok(options)
    }
}

/// Parses the number of threads for requests.
fn threads(text: &str) -> Result<u16, String> {
    let number = text.parse().ok().filter(|number| (1..=MAX_THREADS).contains(number));
    number.ok_or_else(|| format!("threads={text}: a number from 1 to {MAX_THREADS} is needed"))
}

/// Returns a number or a truth value if `text` is one, otherwise a string.
fn value_of(text: &str) -> toml::Value {
    let number = || text.parse().map(toml::Value::Integer).or_else(|_| text.parse().map(toml::Value::Float));
    text.parse().map(toml::Value::Boolean).ok().or_else(|| number().ok()).unwrap_or_else(|| text.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use wearwell_nvmfs::options::{Caching, Grouping};

    #[test]
    fn options_are_parsed() {
        let options: MountOptions =
            "allow_other,no_scrub,flush_above=0.7,,trim=false,grouping=lru".parse().unwrap();
        assert!(options.no_scrub && options.allow_other && !options.direct_io && !options.file_system.trim);
        assert_eq!((options.file_system.flush_above, options.file_system.flush_below), (0.7, 0.5));
        assert_eq!(options.file_system.grouping, Grouping::Lru);
        let options: MountOptions = "threads=3".parse().unwrap();
        assert_eq!(options.threads, Some(3));
        let options: MountOptions = "caching=periodic,write_out_share=0.2".parse().unwrap();
        assert_eq!(
            (options.file_system.caching, options.file_system.write_out_share),
            (Caching::Periodic, Some(0.2))
        );
    }

    #[test]
    fn wrong_option_is_refused_with_valid_ones() {
        let problem = |text: &str| text.parse::<MountOptions>().unwrap_err();
        let unknown = problem("flush_abov=0.7");
        assert!(unknown.contains("flush_abov") && unknown.contains("flush_above"), "{unknown}");
        assert!(unknown.contains("direct_io"), "{unknown}");
        assert!(problem("threads=0").contains("from 1 to 256"));
        assert!(problem("flush_above=2").contains("from 0 to 1"));
        assert!(problem("flush_above=0.4").contains("flush_below"));
        assert!(problem("write_out_share=0.2").contains("periodic"));
    }
}
