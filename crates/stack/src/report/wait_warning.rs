//! Warning about requests that wait although the dies are mostly idle, with a remedy.

use crate::scenario::timing::TimingConfig;
use wearwell_engine::nand::Geometry;
use wearwell_engine::timing::{Cleaning, Striping, TimingReport};

/// Utilisation below which dies count as idle.
const MAX_IDLE_UTILISATION: f64 = 0.3;

/// Fraction of the mean response time above which requests mostly wait.
const MIN_WAIT_FRACTION: f64 = 0.9;

/// Mean response time over all requests and means of its parts, nanoseconds.
struct MeanTimes<'a> {
    timing: &'a TimingReport,
    requests: f64,
}

impl MeanTimes<'_> {
    fn response_ns(&self) -> f64 {
        self.timing.requests.values().map(|times| times.mean_ns * times.requests as f64).sum::<f64>()
            / self.requests
    }

    fn parts_ns(&self, is_included: impl Fn(&str) -> bool) -> f64 {
        let weighted_ns = |times: &wearwell_engine::timing::RequestTimes| {
            let parts = times.parts_ns.iter().filter(|(name, _)| is_included(name));
            parts.map(|(_, mean_ns)| mean_ns).sum::<f64>() * times.requests as f64
        };
        self.timing.requests.values().map(weighted_ns).sum::<f64>() / self.requests
    }
}

/// Returns a warning that names the resource that requests wait for, unless they wait for the flash. All defaults of
/// `config` must be filled in.
pub(super) fn warning(timing: &TimingReport, config: &TimingConfig, geometry: &Geometry) -> Option<String> {
    let requests: u64 = timing.requests.values().map(|times| times.requests).sum();
    let means = MeanTimes { timing, requests: requests as f64 };
    let busy = timing.die_utilisation();
    if requests == 0 || busy >= MAX_IDLE_UTILISATION {
        return None;
    }
    let response_ns = means.response_ns();
    let work_ns = means.parts_ns(|name| matches!(name, "transfer_ns" | "flash_ns" | "link_ns" | "hash_ns"));
    // A wait shorter than the read of one page is not a queue, and requests that take no time do not wait.
    let read_ns = 1e3 * config.read_us.unwrap_or(0.0);
    if response_ns - work_ns < (MIN_WAIT_FRACTION * response_ns).max(read_ns) || response_ns == 0.0 {
        return None;
    }
    let cleaning_ns = means.parts_ns(|name| name == "cleaning_ns" || name.ends_with("_of_which_cleaning_ns"));
    let outage_ns = means.parts_ns(|name| name == "outage_ns");
    let dies = timing.dies.len();
    let dies_per_block = (geometry.superblock_blocks as usize).div_ceil(geometry.planes as usize);
    let queue_depth = config.queue_depth.unwrap_or(u32::MAX);
    let cause = if 2.0 * outage_ns > response_ns {
        "they wait for the drive to recover after losing power (`power`)".into()
    } else if 2.0 * cleaning_ns > response_ns {
        match config.cleaning {
            Some(Cleaning::Foreground) => {
                "they wait for cleaning: `timing.cleaning = \"background\"`, or more spare space".to_owned()
            }
            _ => "they wait for cleaning: more spare space, or `free_blocks_idle`".into(),
        }
    } else if config.striping == Some(Striping::Block) && dies_per_block < dies {
        format!(
            "what is written goes to one block at a time, which lies on {dies_per_block} of {dies} dies: \
             `timing.striping = \"drive\"`, or `device.superblock_blocks`"
        )
    } else if (queue_depth as usize) < dies {
        format!("the drive works on {queue_depth} requests at once and has {dies} dies: `timing.queue_depth`")
    } else {
        "they come in bursts: `timing.write_buffer`, `timing.priority = \"read_first\"`, or a larger drive"
            .into()
    };
    Some(format!(
        "requests took {:.1} ms on average, {:.0} % of it waiting, while the dies were busy for {:.1} % of the time: {cause}",
        response_ns / 1e6,
        100.0 * (1.0 - work_ns / response_ns),
        100.0 * busy
    ))
}
