//! Test with many concurrent threads and another thread that flushes and recycles, as in a mount: each thread finds
//! exactly the data that it wrote.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;
use wearwell_base::seed::{Seed, random_below};
use wearwell_nvmfs::api::{BLOCK_BYTES, Caller, Error, FileSystem, Ino, Kind, ROOT};
use wearwell_nvmfs::fs::Nvmfs;
use wearwell_nvmfs::nvram::PlainNvram;
use wearwell_nvmfs::options::{Format, Options};
use wearwell_nvmfs::placement::PlacementKind;
use wearwell_nvmfs::ssd::MemorySsd;

type Fs = Nvmfs<PlainNvram, MemorySsd>;

const THREADS: u32 = 4;
const FILES: usize = 6;
const BLOCKS: u64 = 160;
const STEPS: u32 = 1500;
const CALLER: Caller = Caller { uid: 0, gid: 0, now_ns: 1 };

/// Files of a thread in its directory, each with its inode and the byte that fills each block.
struct ThreadFiles {
    directory: Ino,
    files: Vec<(Ino, Vec<u8>)>,
}

fn begin(fs: &Mutex<Fs>, thread: u32) -> ThreadFiles {
    let mut fs = fs.lock().unwrap();
    let name = format!("thread {thread}");
    let directory = fs.make_directory(ROOT, name.as_bytes(), 0o755, &CALLER).unwrap().ino;
    let make = |file| {
        let name = format!("file {file}");
        let created = fs.create(directory, name.as_bytes(), Kind::File, 0o644, 0, &CALLER).unwrap();
        (created.ino, vec![0; BLOCKS as usize])
    };
    ThreadFiles { directory, files: (0..FILES).map(make).collect() }
}

/// Work of one thread, which writes, reads and renames its files.
fn run_requests(fs: &Mutex<Fs>, files: &mut ThreadFiles, thread: u32) {
    let mut random = Seed(u64::from(thread)).derive("threads").random();
    for step in 0..STEPS {
        if step % 8 == 0 {
            // The thread pauses as a program does, so that the worker thread can proceed.
            thread::sleep(Duration::from_micros(50));
        }
        let file = random_below(&mut random, FILES as u64) as usize;
        let block = random_below(&mut random, BLOCKS);
        let (ino, content) = &mut files.files[file];
        let offset = block * BLOCK_BYTES as u64;
        match random_below(&mut random, 10) {
            0..6 => {
                let byte = 1 + random_below(&mut random, 255) as u8;
                match fs.lock().unwrap().write(*ino, offset, &[byte; BLOCK_BYTES], &CALLER) {
                    Ok(BLOCK_BYTES) => content[block as usize] = byte,
                    Ok(written) => panic!("{written} bytes of a block were written"),
                    Err(Error::NoSpace(_)) => {}
                    Err(error) => panic!("{error}"),
                }
            }
            6..9 => check_block(fs, *ino, content, block),
            _ => {
                let (from, to) = (format!("file {file}"), format!("moved {step}"));
                let mut fs = fs.lock().unwrap();
                let directory = files.directory;
                let how = wearwell_nvmfs::api::Rename::Keep;
                fs.rename((directory, from.as_bytes()), (directory, to.as_bytes()), how, &CALLER).unwrap();
                fs.rename((directory, to.as_bytes()), (directory, from.as_bytes()), how, &CALLER).unwrap();
            }
        }
    }
}

fn check_block(fs: &Mutex<Fs>, ino: Ino, content: &[u8], block: u64) {
    let mut out = [0xee; BLOCK_BYTES];
    let read = fs.lock().unwrap().read(ino, block * BLOCK_BYTES as u64, &mut out, &CALLER).unwrap();
    let expected = content[block as usize];
    assert!(out[..read].iter().all(|byte| *byte == expected), "inode {}, block {block}", ino.0);
}

/// Flushes and recycles until the end of the test and until no work is left, and counts completed work. Other threads
/// continue while an extent is written.
fn run_background(fs: &Mutex<Fs>, is_over: &AtomicBool, done: &AtomicU64) {
    loop {
        let is_last = is_over.load(Ordering::SeqCst);
        let work = fs.lock().unwrap().begin_background().unwrap();
        let Some(work) = work else {
            if is_last {
                return;
            }
            thread::yield_now();
            continue;
        };
        thread::yield_now();
        let result = work.run();
        fs.lock().unwrap().end_background(work, result).unwrap();
        done.fetch_add(1, Ordering::Relaxed);
    }
}

fn run_threads(placement: PlacementKind) {
    let format = Format { inodes: Some(256), placement, ..Format::default() };
    let options =
        Options { flush_above: 0.5, flush_below: 0.3, small_file_bytes: 4096, ..Options::default() };
    let ssd = Arc::new(MemorySsd::new(64 * 128));
    let mut fs = Fs::format(PlainNvram::new(6 << 20), ssd, &format, options).unwrap();
    fs.auto_flush = false;
    let fs = Mutex::new(fs);
    let mut owns: Vec<ThreadFiles> = (0..THREADS).map(|thread| begin(&fs, thread)).collect();
    let (ends, done) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        let worker = scope.spawn(|| run_background(&fs, &ends, &done));
        let threads: Vec<_> = (0..).zip(&mut owns).collect();
        let fs = &fs;
        let threads =
            threads.into_iter().map(|(thread, own)| scope.spawn(move || run_requests(fs, own, thread)));
        let results: Vec<_> =
            threads.collect::<Vec<_>>().into_iter().map(thread::ScopedJoinHandle::join).collect();
        ends.store(true, Ordering::SeqCst);
        worker.join().unwrap();
        results.into_iter().for_each(|end| end.unwrap());
    });
    assert!(done.load(Ordering::Relaxed) > 0, "the worker had nothing to do");
    for (ino, content) in owns.iter().flat_map(|own| &own.files) {
        (0..BLOCKS).for_each(|block| check_block(&fs, *ino, content, block));
    }
    fs.into_inner().unwrap().store().check().unwrap();
}

#[test]
fn many_threads_read_back_their_writes() {
    run_threads(PlacementKind::Nvmfs);
}

#[test]
fn many_threads_read_back_their_writes_with_fixed_places() {
    run_threads(PlacementKind::Conquest);
}
