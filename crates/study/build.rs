//! Names the sources that results follow from, so that a store of runs can tell two builds of one version apart.
//!
//! The name is a hash of the sources, and not of the program: the command line and the Python package are two programs of the same
//! sources, and take over each other's runs.

use siphasher::sip::SipHasher13;
use std::hash::Hasher;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// The crates whose code decides what a run finds; those above only ask and show.
const CRATES: [&str; 8] = ["base", "trace", "theory", "workload", "engine", "stack", "study", "nvmfs"];

fn main() -> io::Result<()> {
    let crates = Path::new(&env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("..");
    let mut hasher = SipHasher13::new();
    for name in CRATES {
        let sources = crates.join(name).join("src");
        println!("cargo::rerun-if-changed={}", sources.display());
        // A crate that came from a registry has no neighbours; its version says which sources it has.
        if sources.is_dir() {
            add(&mut hasher, &sources, name)?;
        }
    }
    println!("cargo::rustc-env=WEARWELL_SOURCES={:016x}", hasher.finish());
    Ok(())
}

/// Adds all files of `folder` in the order of their names, but for unit tests, of which no result follows.
fn add(hasher: &mut SipHasher13, folder: &Path, name: &str) -> io::Result<()> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    paths.sort();
    for path in paths {
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        if file == "tests" || file == "tests.rs" {
            continue;
        }
        let name = format!("{name}/{file}");
        if path.is_dir() {
            add(hasher, &path, &name)?;
        } else {
            let text = fs::read(&path)?;
            hasher.write(name.as_bytes());
            hasher.write_u64(text.len() as u64);
            hasher.write(&text);
        }
    }
    Ok(())
}
