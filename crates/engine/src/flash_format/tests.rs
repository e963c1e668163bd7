use super::*;
use crate::counters::Cause;
use crate::nand::{MetadataNote, Spare};
use crate::units::{Lpn, Slot, StreamId};
use crate::validity::{
    BitmapPage, GeckoConfig, GeckoPage, ImagePage, LogEntries, LogEntry, LogPage, Postamble, Preamble,
    ValidityPage,
};
use proptest::prelude::*;

fn record() -> SpareRecord {
    let spare = Spare {
        owner: Lpn(0x0102_0304),
        sequence: 0x1112_1314_1516_1718,
        stream: StreamId(3),
        cause: Cause::Validity,
        group_continues: true,
    };
    let ftl_note = MetadataNote { class: PageType::Gecko as u8, bytes: [9; 72] };
    SpareRecord { spare, note: 0x21, content_id: 0x31, operation: 0x41, page_crc: 0xa1a2_a3a4, ftl_note }
}

/// Byte by byte, as specified in docs/design/flash-image.md.
#[test]
fn spare_area_has_specified_layout() {
    let bytes = record().encode();
    assert_eq!(&bytes[..8], [b'W', b'F', 1, 6, 3, 1, 3, 0]);
    assert_eq!(&bytes[8..16], [4, 3, 2, 1, 0xa4, 0xa3, 0xa2, 0xa1]);
    assert_eq!(&bytes[16..24], [0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11]);
    assert_eq!((bytes[24], bytes[32], bytes[40], bytes[48], bytes[119]), (0x21, 0x31, 0x41, 9, 9));
    assert_eq!(bytes[120..124], [0; 4]);
    assert_eq!(bytes[124..], crc(&bytes[..124]).to_le_bytes());
    // The check value of CRC-32.
    assert_eq!(crc(b"123456789"), 0xcbf4_3926);
}

#[test]
fn erased_page_differs_from_damaged_page() {
    assert_eq!(SpareRecord::decode(&[0; SPARE_BYTES]), Ok(None));
    let whole = record().encode();
    assert_eq!(SpareRecord::decode(&whole), Ok(Some(record())));
    for at in 0..SPARE_BYTES {
        let mut damaged = whole;
        damaged[at] ^= 4;
        assert!(SpareRecord::decode(&damaged).is_err(), "byte {at}");
    }
    let unreadable = SpareRecord::unreadable(7);
    assert_eq!(SpareRecord::decode(&unreadable.encode()), Ok(Some(unreadable)));
}

#[test]
fn unknown_version_and_cause_are_rejected() {
    let decode_error_of = |at: usize, byte: u8| {
        let mut bytes = record().encode();
        bytes[at] = byte;
        let sum = crc(&bytes[..124]);
        bytes[124..].copy_from_slice(&sum.to_le_bytes());
        SpareRecord::decode(&bytes).unwrap_err().to_string()
    };
    assert_eq!(decode_error_of(2, 2), "its spare area is of version 2; this program knows version 1");
    assert_eq!(decode_error_of(4, 7), "its spare area names cause 7, which there is not");
}

#[test]
fn translation_pages_and_nodes_roundtrip() {
    let mut page = [7; 16];
    let entries = [Slot(1), Slot::NONE, Slot(0x0201), Slot(0)];
    let note = encode_translation(&entries, &mut page).unwrap();
    assert_eq!(page, [1, 0, 0, 0, 255, 255, 255, 255, 1, 2, 0, 0, 0, 0, 0, 0]);
    assert_eq!(decode_translation(&note, &page, 4, 0x202).unwrap(), entries);
    assert!(decode_translation(&note, &page, 4, 0x201).is_err(), "an address beyond the drive");
    assert!(decode_translation(&note, &page, 5, 0x202).is_err(), "more entries than a page has");
    assert!(encode_translation(&[Slot(0); 5], &mut page).is_err());
    let note = encode_node(&entries[..3], &mut page).unwrap();
    assert_eq!(decode_node(&note, &page, 0x202).unwrap(), &entries[..3]);
    let error = decode_translation(&note, &page, 4, 0x202).unwrap_err().to_string();
    assert_eq!(error, "it is a node of the translation tree, where a translation page should be");
}

fn codec(gecko: Option<GeckoConfig>, page_bytes: u32) -> ValidityCodec {
    ValidityCodec { gecko, pages: 4096, page_bytes }
}

const NOTE: ValidityNote = ValidityNote { reported_before: 77, horizon: 66 };

#[test]
fn validity_log_entry_takes_12_bytes() {
    let entry = |page, time, previous| LogEntry { page: Slot(page), time, previous };
    // Two entries per page: the first of page 5 has number 10.
    let entries = LogEntries::new(10, &[entry(3, 990, u64::MAX), entry(4, 1000, 10)]);
    let page = ValidityPage::Log(LogPage { number: 5, oldest: 2, written: 1000, entries });
    let (codec, mut bytes) = (codec(None, 24), [7; 24]);
    let note = codec.encode(&page, NOTE, &mut bytes).unwrap();
    assert_eq!(bytes, [3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 10, 0, 0, 0, 1, 0, 0, 0]);
    assert_eq!(codec.decode(&note, 5, &mut bytes).unwrap(), (page, NOTE, None));
    bytes[0..2].fill(255);
    assert!(codec.decode(&note, 5, &mut bytes).is_err(), "a page beyond the drive");
}

#[test]
fn bitmap_pages_roundtrip() {
    let words: Box<[u64]> = [0x0807_0605_0403_0201, 0x0c0b_0a09].into();
    let (codec, mut bytes) = (codec(None, 12), [0; 12]);
    for page in [
        ValidityPage::Bitmap(BitmapPage { index: 3, words: words.clone() }),
        ValidityPage::Image(ImagePage { image: 8, index: 3, pages: 4, words }),
    ] {
        let note = codec.encode(&page, NOTE, &mut bytes).unwrap();
        assert_eq!(bytes, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
        assert_eq!(codec.decode(&note, 3, &mut bytes).unwrap(), (page, NOTE, None));
    }
}

/// Returns a configuration with blocks of 4 pages in one part and keys of 12 bits including the flag: entries of two
/// bytes.
fn gecko_config() -> GeckoConfig {
    GeckoConfig { key_bits: 12, partitions: 1, ..GeckoConfig::new(512, 4, 8) }
}

#[test]
fn run_entries_are_bit_packed() {
    let config = gecko_config();
    let head = config.entry_words().head_bits;
    let word = |key: u64, flag: u64, bits: u64| key << (head + 1) | flag << head | bits;
    let words = [word(1, 0, 0b1001), word(0x105, 1, 0)];
    let mut page = [7; 8];
    assert_eq!(pack(&config, &words, &mut page).unwrap(), 2);
    // Key, flag and bitmap, lowest bit first: 11, 1 and 4 bits.
    assert_eq!(page, [0x01, 0x90, 0x05, 0x09, 0, 0, 0, 0]);
    assert_eq!(unpack(&config, 2, &mut page).unwrap(), words);
    assert!(unpack(&config, 3, &mut page).is_err(), "key 0 after key 0x105");
    assert!(unpack(&config, 5, &mut page).is_err(), "more than fit");
    assert!(pack(&config, &[word(1, 0, 1); 5], &mut page).is_err());
}

#[test]
fn run_lists_are_reconstructed_from_its_pages() {
    let config = gecko_config();
    let head = config.entry_words().head_bits;
    let preamble = Preamble { level: 1, created: 50, flushes: (3, 4) };
    let locations: Box<[Slot]> = [Slot(40)].into();
    let last = Postamble { preamble, first_keys: [2, 9].into(), slots: locations.clone() };
    let page = GeckoPage {
        run: 6,
        index: 1,
        preamble: None,
        postamble: Some(Box::new(last.clone())),
        entries: [9 << (head + 1) | 1].into(),
    };
    let (codec, mut bytes) = (codec(Some(config), 8), [0; 8]);
    let note = codec.encode(&ValidityPage::Gecko(page.clone()), NOTE, &mut bytes).unwrap();
    let (decoded, _, run) = codec.decode(&note, 6, &mut bytes).unwrap();
    let run = run.expect("it is the last page");
    let ValidityPage::Gecko(mut decoded) = decoded else { panic!("a page of a run") };
    let (first_keys, slots) = run.postamble_lists(&[Some(2), Some(9)], &locations);
    let lists = Postamble { preamble, first_keys, slots };
    assert_eq!(lists, last);
    decoded.postamble = Some(Box::new(lists));
    assert_eq!(decoded, page);
    // A page is now at a different location than when the last page of the run was written.
    assert_eq!(&*run.postamble_lists(&[Some(2), Some(9)], &[Slot(41)]).1, [Slot::NONE]);
}

#[test]
fn deduplication_map_roundtrips() {
    let records =
        [MapRecord { page: 5, slot: 6, number: 1000 }, MapRecord { page: 7, slot: u32::MAX, number: 1003 }];
    let mut page = [7; 28];
    let note = encode_records(&records, &mut page).unwrap();
    assert_eq!(&page[..16], [5, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0]);
    assert_eq!(&page[16..], [255, 255, 255, 255, 3, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(decode_records(&note, &page).unwrap(), records);
    assert!(encode_records(&[records[0]; 3], &mut page).is_err());
    let note = encode_checkpoint(40, 900, &[1, 2], &mut page).unwrap();
    assert_eq!(decode_checkpoint(&note, &page).unwrap(), (40, 900, vec![1, 2]));
    assert!(decode_records(&note, &page).is_err());
    assert_eq!(decode_dedup_note(&encode_dedup_note(8, 9)), Some((8, 9)));
    assert_eq!(decode_dedup_note(&MetadataNote::new(DATA)), None);
}

proptest! {
    #[test]
    fn entries_of_any_layout_roundtrip(
        (pages_per_block, partitions, key_bits) in (1u32..300, 1u32..5, 16u32..64),
        picks in prop::collection::vec((any::<u64>(), any::<bool>(), any::<u64>()), 0..40),
    ) {
        let partitions = partitions.min(pages_per_block);
        let config = GeckoConfig { partitions, key_bits, ..GeckoConfig::new(64, pages_per_block, 512) };
        prop_assume!(config.page_entries() >= 2);
        let layout = config.entry_words();
        let mut keys: Vec<(u64, bool, u64)> = picks;
        keys.iter_mut().for_each(|pick| pick.0 %= config.max_entries());
        keys.sort_unstable();
        keys.dedup_by_key(|pick| pick.0);
        keys.truncate(config.page_entries() as usize);
        let mut words = Vec::new();
        for (key, flag, bits) in keys {
            let mut remaining_bits = config.part_pages();
            let mask = |bits: u32| if bits >= 64 { u64::MAX } else { (1 << bits) - 1 };
            let head = bits & mask(remaining_bits.min(layout.head_bits));
            words.push(key << (layout.head_bits + 1) | u64::from(flag) << layout.head_bits | head);
            remaining_bits = remaining_bits.saturating_sub(layout.head_bits);
            for _ in 1..layout.stride {
                words.push(bits.rotate_left(7) & mask(remaining_bits.min(64)));
                remaining_bits = remaining_bits.saturating_sub(64);
            }
        }
        let mut page = vec![0; 512];
        let entries = pack(&config, &words, &mut page).unwrap();
        prop_assert_eq!(unpack(&config, entries, &mut page).unwrap(), words);
    }

    /// Any content of a page and its note is either decoded or rejected.
    #[test]
    fn decoding_random_bytes_never_panics(
        class in any::<u8>(), note_bytes in prop::collection::vec(any::<u8>(), 72),
        mut page in prop::collection::vec(any::<u8>(), 8..64), label in any::<u32>(),
    ) {
        let note = MetadataNote { class, bytes: note_bytes.try_into().unwrap() };
        let config = gecko_config();
        for gecko in [None, Some(config)] {
            let _ = codec(gecko, page.len() as u32).decode(&note, label, &mut page);
        }
        let _ = decode_translation(&note, &page, 3, 100);
        let _ = decode_node(&note, &page, 100);
        let _ = decode_records(&note, &page);
        let _ = decode_checkpoint(&note, &page);
        let _ = decode_dedup_note(&note);
        let mut spare = [0; SPARE_BYTES];
        spare[..72].copy_from_slice(&note.bytes);
        let _ = SpareRecord::decode(&spare);
    }
}
