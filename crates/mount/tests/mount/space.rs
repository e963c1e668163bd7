//! A full file system.

use crate::stand::{Stand, bytes, errno, new_file};
use rustix::io::Errno;
use std::fs;
use std::io::Write;
use std::time::{Duration, Instant};

#[test]
fn a_full_one_says_so_and_recovers() {
    let Some(mut stand) = Stand::new() else { return };
    fs::write(stand.at("before"), "kept").unwrap();
    let block = bytes(1, 1 << 20);
    let mut file = new_file(&stand.at("large"));
    let mut written = 0;
    let error = loop {
        match file.write(&block) {
            Ok(length) => written += length as u64,
            Err(error) => break error,
        }
        assert!(written < 4 << 30, "it has an end");
    };
    assert_eq!(errno::<()>(Err(error)), Errno::NOSPC);
    assert_eq!(file.metadata().unwrap().len(), written, "all that was acknowledged is there, and no more");
    drop(file);
    stand.remount();
    let content = fs::read(stand.at("large")).unwrap();
    assert_eq!(content.len() as u64, written);
    assert!(content.chunks(1 << 20).all(|chunk| chunk == &block[..chunk.len()]));
    drop(content);
    assert_eq!(fs::read(stand.at("before")).unwrap(), b"kept");
    fs::remove_file(stand.at("large")).unwrap();
    // The kernel says that a file was closed when it comes to it, and until then what was removed keeps its room.
    let began = Instant::now();
    while let Err(error) = fs::write(stand.at("after"), &block) {
        assert!(errno::<()>(Err(error)) == Errno::NOSPC && began.elapsed() < Duration::from_secs(20));
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(fs::read(stand.at("after")).unwrap() == block);
}
