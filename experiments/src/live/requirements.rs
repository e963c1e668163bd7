//! Requirements on the machine, and the reasons why cases are skipped.

use crate::Failure;
use crate::live::file_systems::{self, Kernel};
use crate::live::loads;
use std::path::{Path, PathBuf};

fn folders() -> Vec<PathBuf> {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&paths).chain(["/usr/sbin".into(), "/sbin".into()]).collect()
}

/// Returns the reason why no disk can be mounted on this machine; `None` if a disk can be mounted.
pub fn reason_not_to_mount() -> Option<String> {
    let may_mount = rustix::process::geteuid().is_root() && Path::new("/dev/fuse").exists();
    if !may_mount {
        return Some("it must be run by root, with /dev/fuse".to_owned());
    }
    let folders = folders();
    let absent = |program: &str| !folders.iter().any(|folder| folder.join(program).is_file());
    absent("timeout").then(|| "it needs timeout, of the package coreutils".to_owned())
}

/// Returns the reason why a load cannot be run on a file system on this machine; `None` if the load can be run.
///
/// # Errors
///
/// Returns an error for unknown names.
pub fn reason_to_skip(file_system: &str, load: &str) -> Result<Option<String>, Failure> {
    let (system, load) = (file_systems::find(file_system)?, loads::find(load)?);
    if let Some(reason) = reason_not_to_mount() {
        return Ok(Some(reason));
    }
    if system.kernel == Kernel::Host {
        if !Path::new("/dev/loop-control").exists() {
            return Ok(Some("it needs loop devices".to_owned()));
        }
        // The kernel of the guest has the module.
        let registered = std::fs::read_to_string("/proc/filesystems").unwrap_or_default();
        if !registered.lines().any(|line| line.split_whitespace().last() == Some(system.name)) {
            return Ok(Some(format!("this machine's kernel has no {}", system.name)));
        }
    }
    let folders = folders();
    let mut needed = system.programs();
    needed.extend(load.programs);
    let absent =
        needed.iter().filter(|(program, _)| !folders.iter().any(|folder| folder.join(program).is_file()));
    let absent: Vec<String> =
        absent.map(|(program, package)| format!("{program} (package {package})")).collect();
    Ok((!absent.is_empty()).then(|| format!("it needs {}", absent.join(", "))))
}
