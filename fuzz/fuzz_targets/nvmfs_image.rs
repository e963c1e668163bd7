//! Damages an image of NVMFS arbitrarily. The file system refuses or tolerates the damage, fsck repairs it, and nothing
//! panics or hangs.
//!
//! The first byte selects the image, and the second byte gives the number of edits. An edit takes 13 bytes: structure,
//! byte within it, kind of edit, value. The remaining bytes are operations.
#![no_main]

#[allow(dead_code, unused_imports)]
#[path = "../../crates/nvmfs/tests/nvmfs/common/mod.rs"]
mod common;

#[allow(dead_code)]
#[path = "../../crates/nvmfs/tests/nvmfs/damaged"]
mod damaged {
    pub mod image;
    pub mod life_cycle;
    pub mod nvrams;
    pub mod structures;
}

use damaged::{image, life_cycle, structures};
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use wearwell_nvmfs::layout::Checksums;
use wearwell_nvmfs::placement::PlacementKind;

const EDIT_BYTES: usize = 13;
const MAX_OPS: usize = 50;

/// An image, the first bytes of its pieces, and its pointers.
type Whole = (image::Image, Vec<usize>, Vec<u64>);

fn images() -> &'static [Whole] {
    static IMAGES: OnceLock<Vec<Whole>> = OnceLock::new();
    IMAGES.get_or_init(|| {
        let with = [Checksums::None, Checksums::All];
        let kinds = PlacementKind::ALL.into_iter().flat_map(|kind| [(kind, true), (kind, false)]);
        // Without checksums only plausibility checks protect users from damage.
        let kinds =
            with.into_iter().flat_map(|with| kinds.clone().map(move |(kind, closed)| (kind, closed, with)));
        kinds
            .map(|(kind, is_closed, checksums)| {
                let image = image::image_with(kind, is_closed, checksums);
                let found = structures::Structures::find(&image);
                let areas = &image.areas;
                let mut starts = vec![0, areas.log, areas.page_table, areas.owners, areas.bitmap];
                for some in [found.inodes, found.directories, found.pointers, found.xattrs, found.targets] {
                    starts.extend(some);
                }
                (image, starts, found.locations)
            })
            .collect()
    })
}

fn edit(nvram: &mut [u8], starts: &[usize], locations: &[u64], edit: &[u8; EDIT_BYTES]) {
    let [piece_low, piece_high, at_low, at_high, how, value @ ..] = *edit;
    let piece = starts[usize::from(u16::from_le_bytes([piece_low, piece_high])) % starts.len()];
    let at = piece + usize::from(u16::from_le_bytes([at_low, at_high]) % 4096);
    let value = u64::from_le_bytes(value);
    let word = &mut nvram[at & !7..][..8];
    match how % 4 {
        0 => nvram[at] = value as u8,
        1 => nvram[at] ^= 1 << (value % 8),
        2 => word.copy_from_slice(&value.to_le_bytes()),
        _ => word.copy_from_slice(&locations[value as usize % locations.len()].to_le_bytes()),
    }
}

fuzz_target!(|bytes: &[u8]| {
    let [which, count, rest @ ..] = bytes else { return };
    let images = images();
    let (image, starts, locations) = &images[usize::from(*which) % images.len()];
    let mut nvram = image.nvram.clone();
    let (edits, _) = rest.as_chunks::<EDIT_BYTES>();
    let edits = &edits[..edits.len().min(usize::from(*count))];
    for one in edits {
        edit(&mut nvram, starts, locations, one);
    }
    let ops = common::ops_of_bytes(&rest[edits.len() * EDIT_BYTES..]).take(MAX_OPS);
    life_cycle::run_life_cycle(nvram, &image.ssd(), &ops.collect::<Vec<_>>());
});
