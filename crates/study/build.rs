//! Hashes the sources that determine results, so that a store of runs can distinguish two builds of one version.
//!
//! The hash covers the sources, not the program: the command line and the Python package are two programs from the same
//! sources, and each can reuse the other's runs.

use siphasher::sip::SipHasher13;
use std::hash::Hasher;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Crates whose code determines the result of a run; crates above them only call them and display results.
const CRATES: [&str; 8] = ["base", "trace", "theory", "workload", "engine", "stack", "study", "nvmfs"];

fn main() -> io::Result<()> {
    let crates = Path::new(&env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("..");
    let mut hasher = SipHasher13::new();
    for name in CRATES {
        let sources = crates.join(name).join("src");
        println!("cargo::rerun-if-changed={}", sources.display());
        // If this crate comes from a registry, the sources of the other crates are missing; the version then identifies
        // them.
        if sources.is_dir() {
            add(&mut hasher, &sources, name)?;
        }
    }
    println!("cargo::rustc-env=WEARWELL_SOURCES={:016x}", hasher.finish());
    Ok(())
}

/// Adds all files of `folder` in name order, except unit tests, which do not affect results.
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
