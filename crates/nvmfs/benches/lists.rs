//! Effect of adaptive lists, and of a larger NVRAM: hit ratios and traffic to the SSD under the workloads of
//! this crate.
//!
//!     cargo bench -p wearwell-nvmfs --bench lists -- [lists|sizes]
//!
//! The results are counts and not times, so they are equal on every machine.

use wearwell_base::seed::Seed;
use wearwell_nvmfs::api::BLOCK_BYTES;
use wearwell_nvmfs::options::{Format, Lists, Options};
use wearwell_nvmfs::stats::Counts;
use wearwell_nvmfs::top::{Machine, MachineError, MachineSettings};
use wearwell_nvmfs::workload::{FileWorkloadConfig, Fileserver, Fio, Iozone, Order, Postmark};

const MIB: u64 = 1 << 20;
/// Size of the NVRAM unless it is varied: a sixteenth of the SSD, as in the paper.
const NVRAM_MIB: u64 = 16;
const SSD_BLOCKS: u64 = 256 * MIB / BLOCK_BYTES as u64;
/// Number of blocks that are read or written before the measurement, and again during it: the size of the SSD.
const BLOCKS: u64 = SSD_BLOCKS;

/// Returns a fio workload with this fraction of reads; `skew` is Zipf's exponent over the files.
fn fio(read_share: f64, skew: Option<f64>) -> FileWorkloadConfig {
    FileWorkloadConfig::Fio(Fio { read_share, order: skew.map(|_| Order::Zipf), skew, ..Fio::default() })
}

fn workloads() -> Vec<(&'static str, FileWorkloadConfig)> {
    let zipf = |skew| Fileserver { order: Some(Order::Zipf), skew: Some(skew), ..Fileserver::default() };
    let iozone = Iozone { request_bytes: BLOCK_BYTES as u32, ..Iozone::default() };
    vec![
        ("iozone", FileWorkloadConfig::Iozone(iozone)),
        ("postmark", FileWorkloadConfig::Postmark(Postmark::default())),
        ("fileserver", FileWorkloadConfig::Fileserver(Fileserver::default())),
        ("fileserver, Zipf 1", FileWorkloadConfig::Fileserver(zipf(1.0))),
        ("fio", fio(0.0, None)),
        ("fio, Zipf 0.9", fio(0.0, Some(0.9))),
        ("fio, half reads", fio(0.5, None)),
        ("fio, half reads, Zipf 0.9", fio(0.5, Some(0.9))),
        ("fio, 90 % reads, Zipf 0.9", fio(0.9, Some(0.9))),
        ("fio, 90 % reads, Zipf 1.2", fio(0.9, Some(1.2))),
        ("fio, 99 % reads, Zipf 0.9", fio(0.99, Some(0.9))),
    ]
}

/// Returns the counts after set-up and warm-up, and the final length of the dirty list as a fraction of the
/// NVRAM.
fn measure(
    workload: &FileWorkloadConfig,
    nvram_bytes: u64,
    lists: Lists,
) -> Result<(Counts, f64), MachineError> {
    let mut machine = Machine::new(&MachineSettings {
        nvram_bytes,
        ssd_blocks: SSD_BLOCKS,
        format: Format { id: 1, ..Format::default() },
        options: Options { lists, ..Options::default() },
        workload: workload.clone(),
        seed: Seed(1).derive("lists"),
    })?;
    let mut requests = Vec::new();
    let mut play = |machine: &mut Machine, until: &dyn Fn(&Machine) -> bool| {
        while !until(machine) {
            machine.step(&mut requests)?;
            requests.clear();
        }
        Ok::<_, MachineError>(machine.stats().counts)
    };
    let done = |counts: &Counts| counts.read_blocks + counts.written_blocks;
    let made = play(&mut machine, &Machine::is_set_up)?;
    let warm = play(&mut machine, &|machine| done(&(machine.stats().counts - made)) >= BLOCKS)?;
    let end = play(&mut machine, &|machine| done(&(machine.stats().counts - warm)) >= BLOCKS)?;
    machine.check().expect("a whole file system");
    let stats = machine.stats();
    Ok((end - warm, f64::from(stats.dirty_list_pages) / f64::from(stats.pages)))
}

fn percent(part: u64, whole: u64) -> String {
    if whole == 0 { "–".into() } else { format!("{:.1}", 100.0 * part as f64 / whole as f64) }
}

/// Returns the hit ratios of reads and writes in %, and the blocks read from and written to the SSD per 100 blocks
/// that users write or read.
fn cells(counts: &Counts) -> [String; 4] {
    [
        percent(counts.read_hits, counts.read_blocks),
        percent(counts.write_hits, counts.written_blocks),
        percent(counts.ssd_written_blocks, counts.read_blocks + counts.written_blocks),
        percent(
            counts.ssd_read_blocks + counts.cleaning_read_blocks,
            counts.read_blocks + counts.written_blocks,
        ),
    ]
}

fn compare_lists() -> Result<(), MachineError> {
    println!("| workload | read hits, % | write hits, % | to the SSD | from the SSD | dirty list, % |");
    println!("|---|---:|---:|---:|---:|---:|");
    for (name, workload) in workloads() {
        let (fixed, _) = measure(&workload, NVRAM_MIB * MIB, Lists::Fixed)?;
        let (adaptive, share) = measure(&workload, NVRAM_MIB * MIB, Lists::Adaptive)?;
        let both = cells(&fixed).into_iter().zip(cells(&adaptive));
        let both: Vec<String> = both.map(|(fixed, adaptive)| format!("{fixed} / {adaptive}")).collect();
        println!("| {name} | {} | {:.0} |", both.join(" | "), share * 100.0);
    }
    Ok(())
}

fn compare_sizes() -> Result<(), MachineError> {
    println!("| NVRAM, % of the files | read hits, % | write hits, % | to the SSD | from the SSD |");
    println!("|---|---:|---:|---:|---:|");
    for mib in [12, 16, 24, 32, 64, 96] {
        // Each size class has an equal number of files.
        let files = 150 * MIB / Fio::default().max_bytes;
        let (order, skew) = (Some(Order::Zipf), Some(0.9));
        let workload = Fio { files: Some(files as u32), read_share: 0.5, order, skew, ..Fio::default() };
        let (counts, _) = measure(&FileWorkloadConfig::Fio(workload), mib * MIB, Options::default().lists)?;
        println!("| {mib} MiB, {:.0} % | {} |", mib as f64 / 1.5, cells(&counts).join(" | "));
    }
    Ok(())
}

fn main() -> Result<(), MachineError> {
    match std::env::args().skip(1).find(|argument| !argument.starts_with("--")).as_deref() {
        None | Some("lists") => compare_lists(),
        Some("sizes") => compare_sizes(),
        Some(other) => panic!("{other}: lists or sizes"),
    }
}
