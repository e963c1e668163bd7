//! Traces from pipes, which may never deliver data.

use std::cell::Cell;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;
use std::thread;
use wearwell_trace::{ReadOptions, RequestBatch, open, with_wait_callback};

const HEAD: &str = "time_ns,op,volume,offset_bytes,length_bytes,hint\n";

fn pipe(folder: &tempfile::TempDir) -> PathBuf {
    let path = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    path
}

/// Opens a pipe for reading and writing, which does not block, and keeps it open.
fn open_read_write(path: &Path) -> File {
    fs::OpenOptions::new().read(true).write(true).open(path).unwrap()
}

#[test]
fn read_of_silent_pipe_ends_when_callback_returns_false() {
    let folder = tempfile::tempdir().unwrap();
    let path = pipe(&folder);
    for is_open in [false, true] {
        let _open_pipe = is_open.then(|| open_read_write(&path));
        let calls = Rc::new(Cell::new(0));
        let counter = calls.clone();
        let should_continue = move || {
            counter.set(counter.get() + 1);
            counter.get() < 3
        };
        let error =
            with_wait_callback(should_continue, || open(&path, &ReadOptions::default())).err().unwrap();
        assert!(error.to_string().contains("interrupted"), "{error}");
        assert_eq!(calls.get(), 3);
    }
}

#[test]
fn pipe_is_read_to_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = pipe(&folder);
    let writer = {
        let path = path.clone();
        thread::spawn(move || {
            let mut pipe = fs::OpenOptions::new().write(true).open(path).unwrap();
            pipe.write_all(HEAD.as_bytes()).unwrap();
            for at in 0..20_000 {
                writeln!(pipe, "{at},W,0,{},4096,0", at * 4096).unwrap();
            }
        })
    };
    let requests = with_wait_callback(
        || true,
        || {
            let mut reader = open(&path, &ReadOptions::default()).unwrap();
            let (mut batch, mut requests) = (RequestBatch::default(), 0);
            while reader.read_batch(&mut batch, 1000).unwrap() > 0 {
                requests += batch.len();
            }
            requests
        },
    );
    writer.join().unwrap();
    assert_eq!(requests, 20_000);
}

#[test]
fn callback_is_not_called_after_work_or_for_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.csv");
    fs::write(&path, format!("{HEAD}1,W,0,0,4096,0\n")).unwrap();
    with_wait_callback(
        || unreachable!("a file need not be waited for"),
        || {
            assert!(open(&path, &ReadOptions::default()).is_ok());
            let error = open(folder.path().join("missing"), &ReadOptions::default()).err().unwrap();
            assert!(error.to_string().contains("No such file"), "{error}");
        },
    );
    assert!(
        open("/dev/null", &ReadOptions::default()).is_err_and(|error| error.to_string().contains("empty"))
    );
}
