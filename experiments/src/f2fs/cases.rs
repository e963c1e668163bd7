//! Cases to record: the loads of Yang et al. (2014), Figure 2 and Table 1, with 2, 4 and 6 logs.

/// Number of bytes that the loads of Figure 2 write: one sixty-fourth of the paper's 8 GiB.
pub const FILE_BYTES: u64 = 128 << 20;

/// Size of the file that is synced after each write.
pub const SYNCED_BYTES: u64 = 8 << 20;

/// Size of the file that is overwritten at random: three quarters of the capacity of F2FS.
pub const AGED_BYTES: u64 = 650 << 20;

/// Number of overwritten bytes: fio writes each page twice, once in each pass.
pub const OVERWRITTEN_BYTES: u64 = 2 * AGED_BYTES;

/// Numbers of logs.
pub const LOGS: [u8; 3] = [2, 4, 6];

/// Part of the experiment to which a recording belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CasePart {
    /// The eight loads of Figure 2 on a new file system.
    Figure2,
    /// Loads of Figure 2 with a sync after each write, a detail that the paper leaves open.
    Synced,
    /// An aged file system.
    Aged,
}

/// A recording to make.
#[derive(Clone, Debug)]
pub struct Case {
    /// Part of the experiment.
    pub part: CasePart,
    /// Description of the load.
    pub load: String,
    /// Value of the mount option `active_logs`.
    pub logs: u8,
    /// Seed of fio's random offsets.
    pub seed: u64,
    /// Options of fio, which define the load.
    fio: String,
    /// Additional mount options.
    mount: &'static str,
}

impl Case {
    /// Returns all cases.
    pub fn all() -> Vec<Case> {
        let mut cases = figure_2();
        cases.extend(synced());
        cases.extend(aged());
        cases
    }

    /// Returns the load, the logs and the seed as one name.
    pub fn name(&self) -> String {
        format!("{}, {} logs, seed {}", self.load, self.logs, self.seed)
    }

    /// Returns the size of the disk in bytes.
    pub fn disk_bytes(&self) -> u64 {
        if self.part == CasePart::Aged { 1 << 30 } else { 512 << 20 }
    }

    /// Returns the memory of the guest: twice the bytes of Figure 2's loads, so that the write-back limit, a tenth of
    /// the memory, is reached during the load.
    pub fn memory_bytes(&self) -> u64 {
        if self.part == CasePart::Aged { 512 << 20 } else { 256 << 20 }
    }

    /// Returns the number of bytes that the load writes in its measured part.
    pub fn load_bytes(&self) -> u64 {
        match self.part {
            CasePart::Figure2 => FILE_BYTES,
            CasePart::Synced => SYNCED_BYTES,
            CasePart::Aged => OVERWRITTEN_BYTES,
        }
    }

    /// Returns the script of the guest, which prints `set_up` at the start of the measured part.
    pub fn script(&self, set_up: &str) -> String {
        let Case { logs, mount, seed, fio, .. } = self;
        let job = "fio --filename=/mnt/fs/file --ioengine=psync --fallocate=none --output-format=terse";
        // Write-back begins after 8 MiB, so that most overwritten data reaches the disk soon, as with the paper's
        // direct I/O.
        let (before, fill) = match self.part {
            CasePart::Aged => (
                "echo 16777216 > /proc/sys/vm/dirty_bytes; echo 8388608 > /proc/sys/vm/dirty_background_bytes\n",
                format!("{job} --name=fill --rw=write --bs=1m --size={AGED_BYTES} > /dev/null; sync\n"),
            ),
            _ => ("", String::new()),
        };
        format!(
            "{before}mkfs.f2fs -q -f /dev/ubda\n\
             mount -t f2fs -o active_logs={logs}{mount} /dev/ubda /mnt/fs || exit\n\
             {fill}echo '{set_up}'\n\
             {job} --name=load --randseed={seed} {fio} > /dev/null; sync\n\
             for count in moved_blocks_foreground moved_blocks_background ovp_segments main_blkaddr; do\n\
             echo \"$count $(cat /sys/fs/f2fs/ubda/$count)\"; done\n"
        )
    }
}

fn figure_2() -> Vec<Case> {
    let mut cases = Vec::new();
    for size in ["1k", "4k"] {
        for (direct, mode) in ["buffered", "direct"].into_iter().enumerate() {
            for (order, rw) in [("sequential", "write"), ("random", "randwrite")] {
                // Some pages are written back before all of their quarters are complete; the number of such pages
                // depends on the speed.
                let seeds = if size == "1k" && rw == "randwrite" { 3 } else { 1 };
                let keys = LOGS.into_iter().flat_map(|logs| (1..=seeds).map(move |seed| (logs, seed)));
                cases.extend(keys.map(|(logs, seed)| Case {
                    part: CasePart::Figure2,
                    load: format!("{order} {size} {mode}"),
                    logs,
                    seed,
                    fio: format!("--rw={rw} --bs={size} --direct={direct} --size={FILE_BYTES}"),
                    mount: "",
                }));
            }
        }
    }
    cases
}

fn synced() -> Vec<Case> {
    let orders = [("sequential", "write"), ("random", "randwrite")];
    let cases_of = |(order, rw): (&str, &str)| {
        LOGS.map(|logs| Case {
            part: CasePart::Synced,
            load: format!("{order} 4k direct synced"),
            logs,
            seed: 1,
            fio: format!("--rw={rw} --bs=4k --direct=1 --size={SYNCED_BYTES} --fsync=1"),
            mount: "",
        })
    };
    orders.into_iter().flat_map(cases_of).collect()
}

/// Returns the cases with an aged file system. Current F2FS overwrites in place under direct I/O, for any number of
/// logs, unless it is mounted with `mode=lfs`; and with direct I/O and `mode=lfs`, Linux 6.1 does not survive
/// foreground cleaning. The paper's kernel sent direct writes through the page cache to a new place immediately.
/// Buffered writes with `mode=lfs` are closest to this behaviour.
fn aged() -> Vec<Case> {
    let kinds = [
        ("overwrites logged", ",mode=lfs", "", 1..=3),
        ("overwrites logged, synced", ",mode=lfs", "--fdatasync=64", 1..=1),
    ];
    let mut cases = Vec::new();
    for (load, mount, extra, seeds) in kinds {
        for logs in LOGS {
            cases.extend(seeds.clone().map(|seed| Case {
                part: CasePart::Aged,
                load: load.to_owned(),
                logs,
                seed,
                fio: format!(
                    "--rw=randwrite --bs=4k --size={AGED_BYTES} --io_size={OVERWRITTEN_BYTES} {extra}"
                ),
                mount,
            }));
        }
    }
    cases
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn eight_loads_of_paper_are_recorded_with_each_log_count() {
        let cases = Case::all();
        let loads: BTreeSet<&str> = cases
            .iter()
            .filter(|case| case.part == CasePart::Figure2)
            .map(|case| case.load.as_str())
            .collect();
        assert_eq!(loads.len(), 8, "{loads:?}");
        for load in loads {
            let first = cases.iter().filter(|case| case.load == load && case.seed == 1);
            assert_eq!(first.map(|case| case.logs).collect::<Vec<_>>(), LOGS);
        }
        let names: BTreeSet<String> = cases.iter().map(Case::name).collect();
        assert_eq!(names.len(), cases.len());
    }

    #[test]
    fn script_marks_the_start_of_the_measured_part() {
        for case in Case::all() {
            let script = case.script("HERE");
            let (before, after) = script.split_once("echo 'HERE'").unwrap();
            assert!(before.contains(&format!("active_logs={}", case.logs)) && after.contains("sync"));
            assert_eq!(before.contains("fio"), case.part == CasePart::Aged);
        }
    }
}
