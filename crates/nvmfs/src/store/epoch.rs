//! Mount epochs, which detect that the NVRAM or the SSD is a copy from another time.
//!
//! Each mount increments the epoch on both devices. The next epoch is first announced on the NVRAM, so that a power cut
//! between the two updates leaves a valid pair. The SSD then has either the current epoch of the NVRAM or the announced
//! epoch.

use super::Store;
use crate::api::BLOCK_BYTES;
use crate::layout::Epoch;
use crate::nvram::Nvram;
use crate::ssd::Ssd;

/// First bytes of the SSD, followed by the identifier of the file system.
const LABEL: &[u8; 16] = b"Wearwell NVMFS\r\n";
/// Bytes of the label, including identifier and checksum.
const LABEL_BYTES: usize = 36;

/// Rule that decides if an NVRAM and an SSD can be opened together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PairRule {
    /// Both devices must be from the same mount.
    SameMount,
    /// The devices may be from different mounts of the file system.
    AnyMounts,
}

impl PairRule {
    /// Returns the epoch of a pair of devices; if any pair is allowed, the later epoch.
    pub(super) fn epoch(self, nvram: &[u8], ssd: Option<Epoch>) -> Result<Epoch, PairMismatch> {
        let [now, next] = [Epoch::AT, Epoch::NEXT_AT].map(|at| Epoch::decode(nvram, at));
        match ssd {
            Some(of_both) if now == ssd || next == ssd => Ok(of_both),
            _ if self == PairRule::SameMount => Err(PairMismatch { nvram: now.or(next), ssd }),
            _ => Ok([now, next, ssd].into_iter().flatten().max_by_key(|of| of.count).unwrap_or_default()),
        }
    }
}

impl<N: Nvram, S: Ssd> Store<N, S> {
    /// Starts a new epoch on both devices, which distinguishes them from all earlier copies.
    ///
    /// # Errors
    /// Errors of the SSD.
    pub fn begin_epoch(&mut self) -> std::io::Result<()> {
        let epoch = Epoch { count: self.epoch.count.saturating_add(1), nonce: self.options.nonce };
        self.region.store(Epoch::NEXT_AT, &epoch.encode());
        self.region.fence();
        write_label(&*self.ssd, self.superblock.id, epoch)?;
        self.region.store(Epoch::AT, &epoch.encode());
        self.region.fence();
        self.epoch = epoch;
        Ok(())
    }
}

/// Error: NVRAM and SSD belong to the same file system, but one of them is a copy from another time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "NVRAM and SSD do not belong together: {}; or `wearwell nvmfs fsck --repair --unpaired` takes them as they are, and whatever was changed between the two is wrong",
    describe_mismatch(*.nvram, *.ssd)
)]
pub struct PairMismatch {
    /// Epoch of the NVRAM, if it can be read.
    pub nvram: Option<Epoch>,
    /// Epoch of the SSD, if it can be read.
    pub ssd: Option<Epoch>,
}

/// Describes the mismatch, and which device would match.
fn describe_mismatch(nvram: Option<Epoch>, ssd: Option<Epoch>) -> String {
    let (Some(nvram), Some(ssd)) = (nvram, ssd) else {
        let which = if nvram.is_none() { "NVRAM" } else { "SSD" };
        return format!("the {which} is damaged where it says of which mount it is");
    };
    let (older, newer) = match nvram.count.cmp(&ssd.count) {
        std::cmp::Ordering::Equal => {
            let count = nvram.count;
            return format!("both were mounted {count} times, and one is a copy that was mounted elsewhere");
        }
        std::cmp::Ordering::Less => (("NVRAM", nvram.count), ("SSD", ssd.count)),
        std::cmp::Ordering::Greater => (("SSD", ssd.count), ("NVRAM", nvram.count)),
    };
    format!(
        "the {} is older, a copy from mount {}, and the {} is of mount {}; bring back the {} of mount {}, or the {} of mount {}",
        older.0, older.1, newer.0, newer.1, older.0, newer.1, newer.0, older.1
    )
}

fn label(id: u128) -> [u8; LABEL_BYTES] {
    let mut label = [0; LABEL_BYTES];
    label[..16].copy_from_slice(LABEL);
    label[16..32].copy_from_slice(&id.to_le_bytes());
    let sum = crc32fast::hash(&label[..32]);
    label[32..].copy_from_slice(&sum.to_le_bytes());
    label
}

/// Writes the first block of the SSD, whose data is all in one sector, and makes it durable.
pub(super) fn write_label<S: Ssd>(ssd: &S, id: u128, epoch: Epoch) -> std::io::Result<()> {
    let mut block = vec![0; BLOCK_BYTES];
    block[..LABEL_BYTES].copy_from_slice(&label(id));
    block[Epoch::LABEL_AT..Epoch::LABEL_AT + Epoch::BYTES].copy_from_slice(&epoch.encode());
    ssd.write(0, &block, 0)?;
    ssd.flush()
}

/// Returns the epoch of the SSD, unless it is damaged; fails if the SSD belongs to another file system.
pub(super) fn read_label<S: Ssd>(ssd: &S, id: u128) -> std::io::Result<Result<Option<Epoch>, &'static str>> {
    let mut block = vec![0; BLOCK_BYTES];
    ssd.read(0, &mut block)?;
    Ok(if block[..16] != *LABEL {
        Err("it has no label")
    } else if block[..LABEL_BYTES] != label(id) {
        Err("its label is another file system's")
    } else {
        Ok(Epoch::decode(&block, Epoch::LABEL_AT))
    })
}

const _: () =
    assert!(Epoch::AT + Epoch::BYTES <= Epoch::NEXT_AT && Epoch::NEXT_AT + Epoch::BYTES <= BLOCK_BYTES);
const _: () = assert!(LABEL_BYTES <= Epoch::LABEL_AT && Epoch::LABEL_AT + Epoch::BYTES <= 512);
