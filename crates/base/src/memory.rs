//! How much memory there is to be had.

/// Bytes of memory that this process may take, where that can be found out: the machine's, or less where it is limited.
pub fn available_bytes() -> Option<u64> {
    [machine(), process_limit(), group_limit()].into_iter().flatten().min()
}

#[cfg(target_os = "linux")]
fn machine() -> Option<u64> {
    let info = rustix::system::sysinfo();
    Some(info.totalram as u64 * u64::from(info.mem_unit))
}

/// As `ulimit -v` sets it.
#[cfg(target_os = "linux")]
fn process_limit() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::As).current
}

/// Of the control group, as containers have it. None in the root group, whose file is not there or says `max`.
#[cfg(target_os = "linux")]
fn group_limit() -> Option<u64> {
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
    fn there_is_some_memory_and_not_more_than_the_machine_has() {
        let available = super::available_bytes().unwrap();
        assert!(available > 1 << 20 && available <= super::machine().unwrap());
    }
}
