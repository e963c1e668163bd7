//! Decodes arbitrary spare areas and arbitrary metadata pages of an FTL. Each is accepted or refused without a panic,
//! and accepted input is encoded to the same bytes again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wearwell_engine::flash_format::{
    SPARE_BYTES, SpareRecord, ValidityCodec, decode_checkpoint, decode_dedup_note, decode_node,
    decode_records, decode_translation, encode_node, encode_translation,
};
use wearwell_engine::nand::{METADATA_NOTE_BYTES, MetadataNote};
use wearwell_engine::validity::GeckoConfig;

/// Bytes of a page, and pages of the drive.
const PAGE_BYTES: usize = 64;
const PAGES: u32 = 4096;

fuzz_target!(|bytes: &[u8]| {
    if let Some((spare, _)) = bytes.split_first_chunk::<SPARE_BYTES>()
        && let Ok(Some(record)) = SpareRecord::decode(spare)
    {
        assert_eq!(SpareRecord::decode(&record.encode()), Ok(Some(record)));
    }
    let Some((&[class, label, partitions], rest)) = bytes.split_first_chunk::<3>() else { return };
    let Some((noted, rest)) = rest.split_first_chunk::<METADATA_NOTE_BYTES>() else { return };
    let Some((page, _)) = rest.split_first_chunk::<PAGE_BYTES>() else { return };
    let (note, mut page) = (MetadataNote { class: class % 12, bytes: *noted }, *page);
    let gecko = GeckoConfig {
        partitions: u32::from(partitions % 8) + 1,
        ..GeckoConfig::new(PAGES / 8, 8, PAGE_BYTES as u32)
    };
    for gecko in [None, Some(gecko)] {
        let codec = ValidityCodec { gecko, pages: PAGES, page_bytes: PAGE_BYTES as u32 };
        if let Ok((read, stood, None)) = codec.decode(&note, label.into(), &mut page) {
            let mut again = [0; PAGE_BYTES];
            let noted = codec.encode(&read, stood, &mut again).expect("what was read fits");
            let once_more = codec.decode(&noted, label.into(), &mut again).expect("what was written is read");
            assert_eq!(once_more, (read, stood, None));
        }
    }
    if let Ok(entries) = decode_translation(&note, &page, 16, PAGES) {
        let mut again = [0; PAGE_BYTES];
        encode_translation(&entries, &mut again).expect("as many as there were");
        assert_eq!(again, page);
    }
    if let Ok(children) = decode_node(&note, &page, PAGES) {
        let mut again = [0; PAGE_BYTES];
        let noted = encode_node(&children, &mut again).expect("as many as there were");
        assert_eq!(decode_node(&noted, &again, PAGES), Ok(children));
    }
    let _ = (decode_records(&note, &page), decode_checkpoint(&note, &page), decode_dedup_note(&note));
});
