//! NVRAM and SSD of one mount: a copy of either of another time is found out.
//!
//! Each mount raises the epoch on both. The NVRAM says first which it will be, so that a cut between the two leaves a pair that
//! is known for one; the SSD is then of the epoch that the NVRAM tells, or of the one that it was about to get.

use super::Store;
use crate::api::BLOCK_BYTES;
use crate::layout::Epoch;
use crate::nvram::Nvram;
use crate::ssd::Ssd;

/// First bytes of the SSD, followed by the file system's number.
const LABEL: &[u8; 16] = b"Wearwell NVMFS\r\n";
/// Bytes of the label, with number and checksum.
const LABEL_BYTES: usize = 36;

/// Which NVRAM and SSD of a file system are opened together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pair {
    /// Those that belong together.
    OfOneMount,
    /// Any.
    OfAnyMounts,
}

impl Pair {
    /// The epoch of a pair; of any two the later one.
    pub(super) fn epoch(self, nvram: &[u8], ssd: Option<Epoch>) -> Result<Epoch, NoPair> {
        let [now, next] = [Epoch::AT, Epoch::NEXT_AT].map(|at| Epoch::decode(nvram, at));
        match ssd {
            Some(of_both) if now == ssd || next == ssd => Ok(of_both),
            _ if self == Pair::OfOneMount => Err(NoPair { nvram: now.or(next), ssd }),
            _ => Ok([now, next, ssd].into_iter().flatten().max_by_key(|of| of.count).unwrap_or_default()),
        }
    }
}

impl<N: Nvram, S: Ssd> Store<N, S> {
    /// From now on both devices are of another mount than any copy that was made of them.
    ///
    /// # Errors
    /// A failing SSD.
    pub fn begin_epoch(&mut self) -> std::io::Result<()> {
        let epoch = Epoch { count: self.epoch.count.saturating_add(1), mark: self.options.mark };
        self.region.store(Epoch::NEXT_AT, &epoch.encode());
        self.region.fence();
        write_label(&*self.ssd, self.superblock.id, epoch)?;
        self.region.store(Epoch::AT, &epoch.encode());
        self.region.fence();
        self.epoch = epoch;
        Ok(())
    }
}

/// NVRAM and SSD of one file system, one of them a copy of another time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "NVRAM and SSD do not belong together: {}; or `wearwell nvmfs fsck --repair --unpaired` takes them as they are, and whatever was changed between the two is wrong",
    told(*.nvram, *.ssd)
)]
pub struct NoPair {
    /// Of which mount the NVRAM is, if it can be read.
    pub nvram: Option<Epoch>,
    /// Of which the SSD is.
    pub ssd: Option<Epoch>,
}

/// What is wrong with two that are no pair, and what would be right.
fn told(nvram: Option<Epoch>, ssd: Option<Epoch>) -> String {
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

/// Writes the SSD's first block, all that matters of it in one sector, and waits until it is safe.
pub(super) fn write_label<S: Ssd>(ssd: &S, id: u128, epoch: Epoch) -> std::io::Result<()> {
    let mut block = vec![0; BLOCK_BYTES];
    block[..LABEL_BYTES].copy_from_slice(&label(id));
    block[Epoch::LABEL_AT..Epoch::LABEL_AT + Epoch::BYTES].copy_from_slice(&epoch.encode());
    ssd.write(0, &block, 0)?;
    ssd.flush()
}

/// Refuses an SSD of another file system; of which mount it is, if that is not damaged.
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
