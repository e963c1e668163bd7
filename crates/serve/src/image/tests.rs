//! Tests of the journal: a flipped byte anywhere in it is noticed.

use super::*;

#[test]
fn flipped_byte_of_journal_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let device = "[device]\nblocks_per_plane = 96\npages_per_block = 16\nspare_factor = 0.25\n";
    let (opened, _) = Image::open(folder.path(), &toml::from_str(device).unwrap(), 4096).unwrap();
    let UnreplayedImage(mut image) = opened;
    let end_of_head = image.length as usize;
    image.begin_write();
    image.current_write.extend([7; 2 * PAGE_BYTES]);
    image.record_write(3, 5).unwrap();
    image.record(JournalEntry::Trim(2..4)).unwrap();
    drop(image);
    let path = folder.path().join("requests");
    let whole = std::fs::read(&path).unwrap();
    assert_eq!(whole.len() - end_of_head, ENTRY_BYTES + 2 * PAGE_BYTES + 4 + ENTRY_BYTES);
    let read = || read_journal::<ImageError>(folder.path(), |_| Ok(()));
    assert_eq!(read().unwrap().entries, [1, 0, 1, 0, 0]);
    for at in 0..whole.len() {
        let mut flipped = whole.clone();
        flipped[at] ^= 0x10;
        std::fs::write(&path, &flipped).unwrap();
        assert!(read().is_err(), "byte {at}");
    }
}
