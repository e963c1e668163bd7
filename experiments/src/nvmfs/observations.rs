//! Observations of a file system at several moments during a workload.

use crate::Failure;
use crate::nvmfs::load::Load;
use crate::nvmfs::replay::{Drive, EXTRA_BYTES, ReplayCounts, ReplayFtl, replay_to_marks};
use crate::nvmfs::simulate::{Mark, SimulatedFileSystem, Sizes};
use serde::{Deserialize, Serialize};

/// Totals at one moment, since the file system was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// Number of bytes that the workload wrote, including the creation of its files.
    pub written_bytes: u64,
    /// Number of bytes sent to the drive.
    pub sent_bytes: u64,
    /// Results of a drive with a page-level map.
    pub page: ReplayCounts,
    /// Results of FAST, if requested.
    pub fast: Option<ReplayCounts>,
    /// Number of blocks in recycled segments.
    pub recycled_blocks: u64,
    /// Number of valid blocks in these segments, which were moved.
    pub moved_blocks: u64,
}

impl Observation {
    /// Returns the totals since `earlier`.
    pub fn since(self, earlier: Observation) -> Observation {
        Observation {
            written_bytes: self.written_bytes - earlier.written_bytes,
            sent_bytes: self.sent_bytes - earlier.sent_bytes,
            page: self.page.since(earlier.page),
            fast: self.fast.zip(earlier.fast).map(|(now, before)| now.since(before)),
            recycled_blocks: self.recycled_blocks - earlier.recycled_blocks,
            moved_blocks: self.moved_blocks - earlier.moved_blocks,
        }
    }

    /// Returns the number of bytes sent to the drive per byte that the workload wrote.
    pub fn traffic(&self) -> f64 {
        self.sent_bytes as f64 / self.written_bytes as f64
    }

    /// Returns the number of erases of the drive with a page-level map per GiB that the workload wrote.
    pub fn page_erases(&self) -> f64 {
        self.page.erases as f64 * f64::from(1 << 30) / self.written_bytes as f64
    }

    /// Returns the number of erases of FAST per GiB that the workload wrote.
    pub fn fast_erases(&self) -> Option<f64> {
        self.fast.map(|fast| fast.erases as f64 * f64::from(1 << 30) / self.written_bytes as f64)
    }

    /// Returns the number of pages that the drive with a page-level map programmed per page that the workload wrote.
    pub fn programs(&self) -> f64 {
        self.page.programs as f64 * 4096.0 / self.written_bytes as f64
    }

    /// Returns 1 - moved / recycled; `None` if nothing was recycled.
    pub fn efficiency(&self) -> Option<f64> {
        (self.recycled_blocks > 0).then(|| 1.0 - self.moved_blocks as f64 / self.recycled_blocks as f64)
    }
}

/// Moments of observation, and parameters of the drives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ObservationPlan {
    /// Moments at which to observe: the amount that the workload has written since its files were made, as multiples
    /// of the size of the disk, in ascending order.
    #[serde(rename = "disks")]
    pub moments: Vec<f64>,
    /// Share of the flash that is spare space.
    #[serde(rename = "hidden")]
    pub spare_factor: f64,
    /// Number of 4 KiB pages in an erase block.
    pub pages_per_block: u32,
    /// True if FAST is observed, too.
    pub fast: bool,
}

impl ObservationPlan {
    /// Runs a workload and observes it: first when its files are made, then at each of the moments.
    ///
    /// # Errors
    ///
    /// Returns an error if the workload does not fit.
    pub fn observe(
        &self,
        simulated: &SimulatedFileSystem,
        load: &Load,
        utilisation: f64,
        sizes: &Sizes,
    ) -> Result<Vec<Observation>, Failure> {
        let until: Vec<u64> =
            self.moments.iter().map(|disks| (disks * sizes.disk_bytes as f64) as u64).collect();
        let (requests, marks) = simulated.play_to(load, utilisation, sizes, &until)?;
        let request_counts: Vec<usize> = marks.iter().map(|mark| mark.requests).collect();
        let replay_on = |ftl: ReplayFtl| {
            let settings = format!("structure = \"{}\"", ftl.name());
            let drive = Drive {
                capacity_bytes: sizes.disk_bytes,
                pages_per_block: self.pages_per_block,
                extra_bytes: if ftl == ReplayFtl::Fast { EXTRA_BYTES } else { 0 },
                spare_factor: self.spare_factor,
                ftl: &settings,
            };
            replay_to_marks(&requests, &request_counts, &drive)
        };
        let page = replay_on(ReplayFtl::Page)?;
        let fast = if self.fast {
            replay_on(ReplayFtl::Fast)?.into_iter().map(Some).collect()
        } else {
            vec![None; request_counts.len()]
        };
        let observation = |(mark, (page, fast)): (&Mark, (ReplayCounts, Option<ReplayCounts>))| Observation {
            written_bytes: mark.written_bytes,
            sent_bytes: mark.sent_bytes,
            page,
            fast,
            recycled_blocks: mark.recycled_blocks,
            moved_blocks: mark.moved_blocks,
        };
        Ok(marks.iter().zip(page.into_iter().zip(fast)).map(observation).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nvmfs::assumed_values::AssumedValues;
    use crate::session::tests::with_session;

    #[test]
    fn observations_equal_those_of_single_run() {
        let sizes = Sizes { disk_bytes: 64 << 20, nvram_bytes: 8 << 20, written_bytes: 0, seed: 1 };
        let assumed = with_session(1, 1.0, |session| AssumedValues::from_session(session).unwrap());
        let plan =
            ObservationPlan { moments: vec![0.25, 0.5], spare_factor: 0.1, pages_per_block: 64, fast: true };
        for simulated in SimulatedFileSystem::rivals(&assumed) {
            let load = Load::ordered("fio", "uniform", 0.9);
            let found = plan.observe(&simulated, &load, 0.6, &sizes).unwrap();
            assert_eq!(found.len(), 3);
            let [files, half, all] = found[..] else { panic!("three looks") };
            assert!(
                (0.55..0.65).contains(&(files.written_bytes as f64 / sizes.disk_bytes as f64)),
                "{files:?}"
            );
            assert_eq!(half.written_bytes - files.written_bytes, 16 << 20);
            assert_eq!(all.since(half).written_bytes, 16 << 20);
            // The drives received all bytes that were sent. An observation equals that of an ordinary replay up to
            // this moment.
            for observation in &found {
                assert_eq!(observation.page.host_pages * 4096, observation.sent_bytes);
                assert_eq!(observation.fast.unwrap().host_pages, observation.page.host_pages);
            }
            if simulated.name == "write-through" {
                assert_eq!(all.sent_bytes - files.sent_bytes, 32 << 20);
            }
        }
    }
}
