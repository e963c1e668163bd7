//! Space management: the blocks without needed pages that are erased when space is short, and those that must be
//! kept; and the valid pages of a block in which a power cut tore a page.

use super::contents::MetadataContents;
use super::known_blocks::VictimChooser;
use super::space::{BlockGroup, Space};
use super::store::PagedFtl;
use crate::counters::{Cause, Operation};
use crate::flash_format::ValidityCodec;
use crate::ftl::Restart;
use crate::ftl::tests::drives::{PAGES_PER_BLOCK, build_paged, flash, owners, paged, write};
use crate::layer::{ContentId, Layer, LayerError};
use crate::nand::{Faults, Nand, PowerCut, PowerSource};
use crate::units::{BlockId, Lpn, Slot};
use crate::victim::{VictimConfig, VictimPolicy};
use wearwell_base::config::StoreSize;
use wearwell_base::seed::Seed;

const BLOCKS: u32 = 6;
const LOGICAL_PAGES: u32 = 12;

/// Creates a space in which all blocks are erased.
fn space(cleans_metadata: bool) -> Space<Nand<ContentId>> {
    let size = StoreSize {
        blocks: BLOCKS,
        pages_per_block: PAGES_PER_BLOCK,
        logical_pages: LOGICAL_PAGES,
        seed: Seed(1),
    };
    let victim: Box<dyn VictimPolicy> = VictimConfig::default().build_boxed(&size).unwrap();
    let contents = MetadataContents::new(BLOCKS, PAGES_PER_BLOCK, LOGICAL_PAGES, 8);
    let pages = BLOCKS * PAGES_PER_BLOCK;
    let codec = ValidityCodec { gecko: None, pages, page_bytes: 4096 };
    let mut space =
        Space::new(flash(BLOCKS), contents, codec, (LOGICAL_PAGES, 1), VictimChooser::All(victim));
    space.cleans_metadata = cleans_metadata;
    space.pool.erased.extend((0..BLOCKS).map(BlockId));
    space
}

/// Fills blocks of `group`. Returns the locations of their pages.
fn fill(space: &mut Space<Nand<ContentId>>, group: BlockGroup, blocks: u32) -> Vec<Slot> {
    let (stream, cause) = (space.stream_of(group), group.cause());
    let page = |at| space.append(stream, Lpn(at % LOGICAL_PAGES), &ContentId::UNKNOWN, cause).unwrap();
    (0..blocks * PAGES_PER_BLOCK).map(page).collect()
}

fn discard(space: &mut Space<Nand<ContentId>>, pages: &[Slot]) {
    pages.iter().for_each(|&page| space.discard_metadata(page));
}

fn erases(space: &Space<Nand<ContentId>>, cause: Cause) -> u64 {
    space.pool.counters.outgoing(cause, Operation::Erase)
}

#[test]
fn unneeded_metadata_block_is_erased_when_space_is_short() {
    for cleans_metadata in [true, false] {
        let mut space = space(cleans_metadata);
        let translation = fill(&mut space, BlockGroup::Translation, 1);
        let validity = fill(&mut space, BlockGroup::Validity, 1);
        discard(&mut space, &translation[..3]);
        discard(&mut space, &validity);
        fill(&mut space, BlockGroup::User, 3);
        assert_eq!(space.pool.erased.len(), 1);
        // The last erased block is not used as long as another block can be freed by an erase.
        fill(&mut space, BlockGroup::User, 1);
        assert_eq!((space.pool.erased.len(), space.erasable.len()), (1, 0), "{cleans_metadata}");
        assert_eq!([Cause::Validity, Cause::Translation].map(|cause| erases(&space, cause)), [1, 0]);
        let (block, _) = space.split(validity[0]);
        assert!(
            space.pool.erased.contains(&block) || space.pool.blocks.valid_pages(block) == PAGES_PER_BLOCK
        );
        // The other metadata block still has a valid page.
        fill(&mut space, BlockGroup::User, 1);
        assert_eq!((space.pool.erased.len(), erases(&space, Cause::Translation)), (0, 0));
        let last = space.stream_of(BlockGroup::User);
        let full = space.append(last, Lpn(0), &ContentId::UNKNOWN, Cause::Host);
        assert!(matches!(full, Err(LayerError::NoSpace)), "{full:?}");
    }
}

#[test]
fn user_blocks_and_protected_blocks_are_kept() {
    let mut space = space(false);
    space.protects_versions = true;
    let user = fill(&mut space, BlockGroup::User, 1);
    let translation = fill(&mut space, BlockGroup::Translation, 1);
    user.iter().for_each(|&page| space.invalidate(page));
    space.protect(translation[0]);
    discard(&mut space, &translation);
    assert_eq!(space.erasable, [space.split(translation[0]).0]);
    fill(&mut space, BlockGroup::User, 4);
    assert_eq!((space.pool.erased.len(), space.erasable.len()), (0, 1));
    assert_eq!([Cause::Cleaning, Cause::Translation].map(|cause| erases(&space, cause)), [0, 0]);
    // The version is no longer needed once the validity store has written its buffer.
    space.flushed_state.reported_before = space.pool.sequence;
    space.release();
    fill(&mut space, BlockGroup::User, 1);
    assert_eq!((erases(&space, Cause::Translation), space.erasable.len()), (1, 0));
}

#[test]
fn enough_space_erases_no_blocks() {
    let mut space = space(false);
    let translation = fill(&mut space, BlockGroup::Translation, 1);
    discard(&mut space, &translation);
    fill(&mut space, BlockGroup::User, 3);
    assert_eq!((space.pool.erased.len(), erases(&space, Cause::Translation)), (2, 0));
    // An open block is never erased, even if all its pages are invalid.
    let open =
        space.append(space.stream_of(BlockGroup::Validity), Lpn(0), &ContentId::UNKNOWN, Cause::Validity);
    space.discard_metadata(open.unwrap());
    fill(&mut space, BlockGroup::User, 1);
    assert_eq!((erases(&space, Cause::Translation), erases(&space, Cause::Validity)), (1, 0));
}

#[test]
fn page_torn_by_power_cut_counts_as_invalid() {
    // A design with a battery completes its operations.
    for design in ["lazyftl", "ib_ftl", "gecko"] {
        let (power_source, settings) = (PowerSource::new(false), paged(design, 40, 6));
        let mut ftl = build_paged(&settings, 3, Faults::default(), &power_source);
        write(&mut ftl, [0, 1]);
        power_source.schedule_cut(Some(PowerCut { after: power_source.operations(), torn: true }));
        assert_eq!(ftl.write(&[Lpn(2)], &[ContentId(9)], 0).unwrap_err().to_string(), "power was lost");
        power_source.restore();
        let restarted = PagedFtl::restart(&settings, ftl.into_flash()).map_err(|(error, _)| error);
        let (mut ftl, _) = restarted.unwrap();
        // A page that was not programmed since the erase counts as valid, so three of four pages do.
        assert_eq!(owners(ftl.flash())[0], "0 1 x", "{design}");
        assert_eq!(ftl.space.pool.blocks.valid_pages(BlockId(0)), 3, "{design}");
        write(&mut ftl, [3]);
        assert_eq!(owners(ftl.flash())[0], "0 1 x 3", "{design}");
        assert_eq!(ftl.space.pool.blocks.valid_pages(BlockId(0)), 3, "{design}");
        ftl.check().unwrap();
    }
}
