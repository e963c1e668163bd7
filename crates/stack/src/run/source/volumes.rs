//! Positions of a trace's volumes on the drive.

use super::addresses::MappingError;
use crate::scenario::VolumeRule;
use std::collections::{BTreeMap, HashMap};

/// First byte of each volume of a trace on the drive.
pub struct VolumeOffsets {
    rule: VolumeRule,
    /// First bytes of volumes that lie side by side.
    bases: HashMap<u32, u64>,
    /// Volume of the previous request and its first byte.
    latest: Option<(u32, u64)>,
}

impl VolumeOffsets {
    /// Returns the positions of volumes with these sizes, and the number of bytes of the drive that they span. It is
    /// the sum of the sizes (in whole pages) if the volumes lie side by side, and otherwise the largest size.
    pub fn new(rule: VolumeRule, volume_bytes: &BTreeMap<u32, u64>, page_bytes: u64) -> (Self, u64) {
        let mut bases = HashMap::new();
        let (mut next, mut highest) = (0u64, 0);
        for (&volume, &bytes) in volume_bytes {
            let whole = bytes.div_ceil(page_bytes).saturating_mul(page_bytes);
            bases.insert(volume, next);
            next = next.saturating_add(whole);
            highest = highest.max(whole);
        }
        let span_bytes = if rule == VolumeRule::SideBySide { next } else { highest };
        (VolumeOffsets { rule, bases, latest: None }, span_bytes)
    }

    /// Returns the first byte of `volume`.
    ///
    /// # Errors
    /// Returns an error for a second volume where the rule allows a single volume, and for a volume that the trace did
    /// not have when its extents were read.
    #[inline]
    pub fn base(&mut self, volume: u32) -> Result<u64, MappingError> {
        match self.latest {
            Some((latest, base)) if latest == volume => Ok(base),
            latest => {
                let base = match (self.rule, latest) {
                    (VolumeRule::Single, Some((first, _))) => {
                        return Err(MappingError::SecondVolume { volume, first });
                    }
                    (VolumeRule::Single | VolumeRule::Overlay, _) => 0,
                    (VolumeRule::SideBySide, _) => {
                        *self.bases.get(&volume).ok_or(MappingError::NewVolume { volume })?
                    }
                };
                self.latest = Some((volume, base));
                Ok(base)
            }
        }
    }

    /// Returns the first byte of the previous request's volume; 0 before the first request.
    #[inline]
    pub fn latest_base(&self) -> u64 {
        self.latest.map_or(0, |(_, base)| base)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volume_without_extent_is_refused() {
        let (mut volumes, span_bytes) =
            VolumeOffsets::new(VolumeRule::SideBySide, &BTreeMap::from([(0, 5000), (3, 1)]), 4096);
        assert_eq!(span_bytes, 3 * 4096);
        assert!(matches!(volumes.base(3), Ok(8192)));
        assert!(matches!(volumes.base(7), Err(MappingError::NewVolume { volume: 7 })));
    }
}
