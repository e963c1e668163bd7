//! Observations of a file system at several moments during a workload.

use crate::Failure;
use crate::nvmfs::load::Load;
use crate::nvmfs::replay::{BEYOND_BYTES, Drive, ReplayFtl, Replayed, replay_marks};
use crate::nvmfs::simulate::{Mark, Simulated, Sizes};
use serde::{Deserialize, Serialize};

/// Totals at a moment, since the file system was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Look {
    /// Bytes that the workload wrote, including the creation of its files.
    pub written_bytes: u64,
    /// Bytes that the drive was sent.
    pub sent_bytes: u64,
    /// Results of a drive with a page-level map.
    pub page: Replayed,
    /// Results of FAST, if requested.
    pub fast: Option<Replayed>,
    /// Number of blocks in recycled segments.
    pub recycled_blocks: u64,
    /// Number of valid blocks among them, which were moved.
    pub moved_blocks: u64,
}

impl Look {
    /// Returns the totals since `earlier`.
    pub fn since(self, earlier: Look) -> Look {
        Look {
            written_bytes: self.written_bytes - earlier.written_bytes,
            sent_bytes: self.sent_bytes - earlier.sent_bytes,
            page: self.page.since(earlier.page),
            fast: self.fast.zip(earlier.fast).map(|(now, before)| now.since(before)),
            recycled_blocks: self.recycled_blocks - earlier.recycled_blocks,
            moved_blocks: self.moved_blocks - earlier.moved_blocks,
        }
    }

    /// Returns the bytes sent to the drive per byte that the workload wrote.
    pub fn traffic(&self) -> f64 {
        self.sent_bytes as f64 / self.written_bytes as f64
    }

    /// Returns the erases of the drive with a page-level map per GiB that the workload wrote.
    pub fn page_erases(&self) -> f64 {
        self.page.erases as f64 * f64::from(1 << 30) / self.written_bytes as f64
    }

    /// Returns the erases of FAST per GiB that the workload wrote.
    pub fn fast_erases(&self) -> Option<f64> {
        self.fast.map(|fast| fast.erases as f64 * f64::from(1 << 30) / self.written_bytes as f64)
    }

    /// Returns the pages that the drive with a page-level map programmed per page that the workload wrote.
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
pub struct Looks {
    /// Moments as multiples of the disk that the workload has written since its files were made, in rising order.
    pub disks: Vec<f64>,
    /// Share of the flash that is spare space.
    pub hidden: f64,
    /// Number of 4 KiB pages in an erase block.
    pub pages_per_block: u32,
    /// True if FAST is observed too.
    pub fast: bool,
}

impl Looks {
    /// Plays a workload and observes it: first when its files are made, then at each of these moments.
    ///
    /// # Errors
    ///
    /// Returns an error if the workload does not fit.
    pub fn at(
        &self,
        simulated: &Simulated,
        load: &Load,
        utilisation: f64,
        sizes: &Sizes,
    ) -> Result<Vec<Look>, Failure> {
        let until: Vec<u64> =
            self.disks.iter().map(|disks| (disks * sizes.disk_bytes as f64) as u64).collect();
        let (requests, marks) = simulated.play_to(load, utilisation, sizes, &until)?;
        let at: Vec<usize> = marks.iter().map(|mark| mark.requests).collect();
        let on = |ftl: ReplayFtl| {
            let settings = format!("structure = \"{}\"", ftl.name());
            let drive = Drive {
                shown_bytes: sizes.disk_bytes,
                pages_per_block: self.pages_per_block,
                beyond_bytes: if ftl == ReplayFtl::Fast { BEYOND_BYTES } else { 0 },
                hidden: self.hidden,
                ftl: &settings,
            };
            replay_marks(&requests, &at, &drive)
        };
        let page = on(ReplayFtl::Page)?;
        let fast = if self.fast {
            on(ReplayFtl::Fast)?.into_iter().map(Some).collect()
        } else {
            vec![None; at.len()]
        };
        let look = |(mark, (page, fast)): (&Mark, (Replayed, Option<Replayed>))| Look {
            written_bytes: mark.written_bytes,
            sent_bytes: mark.sent_bytes,
            page,
            fast,
            recycled_blocks: mark.recycled_blocks,
            moved_blocks: mark.moved_blocks,
        };
        Ok(marks.iter().zip(page.into_iter().zip(fast)).map(look).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nvmfs::assumed::Assumed;
    use crate::session::tests::with_session;

    #[test]
    fn observations_equal_those_of_one_run() {
        let sizes = Sizes { disk_bytes: 64 << 20, nvram_bytes: 8 << 20, written_bytes: 0, seed: 1 };
        let assumed = with_session(1, 1.0, |session| Assumed::of(session).unwrap());
        let looks = Looks { disks: vec![0.25, 0.5], hidden: 0.1, pages_per_block: 64, fast: true };
        for simulated in Simulated::rivals(&assumed) {
            let load = Load::ordered("fio", "uniform", 0.9);
            let found = looks.at(&simulated, &load, 0.6, &sizes).unwrap();
            assert_eq!(found.len(), 3);
            let [files, half, all] = found[..] else { panic!("three looks") };
            assert!(
                (0.55..0.65).contains(&(files.written_bytes as f64 / sizes.disk_bytes as f64)),
                "{files:?}"
            );
            assert_eq!(half.written_bytes - files.written_bytes, 16 << 20);
            assert_eq!(all.since(half).written_bytes, 16 << 20);
            // The drives received all sent bytes; an observation equals that of an ordinary replay up to this moment.
            for look in &found {
                assert_eq!(look.page.host_pages * 4096, look.sent_bytes);
                assert_eq!(look.fast.unwrap().host_pages, look.page.host_pages);
            }
            if simulated.name == "write-through" {
                assert_eq!(all.sent_bytes - files.sent_bytes, 32 << 20);
            }
        }
    }
}
