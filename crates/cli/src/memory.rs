//! How much memory there is, and how much of it the process has taken at most.

/// The peak in bytes, where the system tells.
pub(crate) fn peak_bytes() -> Option<u64> {
    kilobytes("/proc/self/status", "VmHWM:")
}

/// Half of the memory of the machine, where the system tells: what a search may take unless
/// it is told otherwise. Running out of memory would lose everything that was found.
pub(crate) fn half_of_all() -> Option<u64> {
    kilobytes("/proc/meminfo", "MemTotal:").map(|all| all / 2)
}

/// The number behind a key in one of the system's files, in bytes.
fn kilobytes(file: &str, key: &str) -> Option<u64> {
    let text = std::fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with(key))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes * 1024)
}
