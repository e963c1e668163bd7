//! Records the writes of F2FS of Linux with 2, 4 and 6 logs (Yang et al., 2014), in User-mode Linux. Must be run by root.

use lexopt::prelude::*;
use std::path::{Path, PathBuf};
use wearwell_experiments::Failure;
use wearwell_experiments::f2fs::cases::Case;
use wearwell_experiments::f2fs::record::record;
use wearwell_experiments::f2fs::shipped::{NAME, Recording};
use wearwell_experiments::nvmfs::stop;
use wearwell_experiments::recordings::write;

const HELP: &str = "\
f2fs_record [--only TEXT] [--memory /dev/shm] [--out experiments/recordings]
Records all loads with 2, 4 and 6 logs and writes f2fs.columns.xz and f2fs.csv; --only those whose name has TEXT in it.
Needs the packages user-mode-linux, f2fs-tools, fio, busybox and kmod.";

fn record_case(case: &Case, memory: &Path) -> Result<Recording, Failure> {
    let folder = |parent: &Path| tempfile::Builder::new().prefix("wearwell-").tempdir_in(parent);
    let memory = folder(memory)?;
    // The scratch folder must not be in the usual folder for memory, because the guest mounts another file system
    // there.
    let scratch = folder(&std::env::temp_dir())?;
    let (info, requests) = record(case, memory.path(), scratch.path())?;
    eprintln!("{}: {} MiB, {:.4}", case.name(), info.written_bytes >> 20, info.write_amplification());
    Ok(Recording { info, requests })
}

fn main() -> Result<(), Failure> {
    let (mut only, mut memory, mut out) =
        (String::new(), PathBuf::from("/dev/shm"), PathBuf::from("experiments/recordings"));
    let mut parser = lexopt::Parser::from_env();
    while let Some(arg) = parser.next()? {
        match arg {
            Long("only") => only = parser.value()?.string()?,
            Long("memory") => memory = parser.value()?.into(),
            Long("out") => out = parser.value()?.into(),
            Long("help") => {
                println!("{HELP}");
                return Ok(());
            }
            _ => return Err(arg.unexpected().into()),
        }
    }
    stop::on_signals()?;
    let cases = Case::all().into_iter().filter(|case| case.name().contains(&only));
    let recordings = cases.map(|case| record_case(&case, &memory)).collect::<Result<Vec<_>, _>>()?;
    write(&recordings, &out, NAME)
}
