//! Memory that is available to the process.

/// Returns the bytes of memory that this process may use, if known: those of the machine, or less under a limit.
pub fn available_bytes() -> Option<u64> {
    [machine_bytes(), process_limit(), cgroup_limit()].into_iter().flatten().min()
}

#[cfg(target_os = "linux")]
fn machine_bytes() -> Option<u64> {
    let info = rustix::system::sysinfo();
    Some(info.totalram as u64 * u64::from(info.mem_unit))
}

/// Returns the limit set by `ulimit -v`.
#[cfg(target_os = "linux")]
fn process_limit() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::As).current
}

/// Returns the memory limit of the control group, which containers set. `None` in the root group, whose file is missing
/// or contains `max`.
#[cfg(target_os = "linux")]
fn cgroup_limit() -> Option<u64> {
    std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok()?.trim().parse().ok()
}

#[cfg(not(target_os = "linux"))]
fn machine() -> Option<u64> {
    None
}

#[cfg(not(target_os = "linux"))]
fn process_limit() -> Option<u64> {
    None
}

#[cfg(not(target_os = "linux"))]
fn group_limit() -> Option<u64> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    #[test]
    fn available_memory_is_positive_and_at_most_that_of_the_machine() {
        let available = super::available_bytes().unwrap();
        assert!(available > 1 << 20 && available <= super::machine_bytes().unwrap());
    }
}
