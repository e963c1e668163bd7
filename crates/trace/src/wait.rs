//! Files that may never say anything, such as pipes: waited for so that the wait can be given up.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::rc::Rc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

/// Between two looks at whether to go on.
const LOOK: Duration = Duration::from_millis(50);

/// Bytes read at a time: as many as a pipe holds.
const CHUNK_BYTES: usize = 64 << 10;

type GoesOn = Rc<dyn Fn() -> bool>;

thread_local! {
    /// Whom this thread asks whether to go on.
    static GOES_ON: RefCell<Option<GoesOn>> = const { RefCell::new(None) };
}

/// Does `work`. Wherever this thread waits in it for a trace that comes from a pipe, `goes_on` is asked again and again, and
/// once it says no the trace cannot be read.
///
/// Nothing ends the wait itself: given up, the thread that waits for the pipe is left to itself.
pub fn while_waiting<T>(goes_on: impl Fn() -> bool + 'static, work: impl FnOnce() -> T) -> T {
    /// Sets what was asked before, however the work ends.
    struct Before(Option<GoesOn>);
    impl Drop for Before {
        fn drop(&mut self) {
            GOES_ON.set(self.0.take());
        }
    }
    let _before = Before(GOES_ON.replace(Some(Rc::new(goes_on))));
    work()
}

/// Whether the file at `path` has to be read by [`Patient`] here: somebody may give it up, and it may have to be waited for.
pub fn is_needed(path: &Path) -> bool {
    let may_wait = || path.metadata().is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir());
    GOES_ON.with_borrow(Option::is_some) && may_wait()
}

/// A file that another thread opens and reads.
pub struct Patient {
    chunks: Receiver<io::Result<Vec<u8>>>,
    chunk: Vec<u8>,
    /// Bytes of the chunk that were handed out.
    taken: usize,
}

impl Patient {
    pub fn open(path: &Path) -> Self {
        let path = path.to_owned();
        let (sender, chunks) = sync_channel(1);
        thread::spawn(move || match File::open(path) {
            Ok(file) => send_all(file, &sender),
            // Nobody listens any more once the wait was given up.
            Err(error) => drop(sender.send(Err(error))),
        });
        Patient { chunks, chunk: Vec::new(), taken: 0 }
    }

    /// The next chunk, or none at the end.
    fn next(&self) -> io::Result<Option<Vec<u8>>> {
        loop {
            match self.chunks.recv_timeout(LOOK) {
                Ok(chunk) => return chunk.map(Some),
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
                Err(RecvTimeoutError::Timeout) => {}
            }
            let goes_on = GOES_ON.with_borrow(Clone::clone);
            if goes_on.is_some_and(|goes_on| !goes_on()) {
                return Err(io::Error::other("interrupted"));
            }
        }
    }
}

/// Sends all of the file, until nobody wants more of it.
fn send_all(mut file: File, sender: &SyncSender<io::Result<Vec<u8>>>) {
    loop {
        let mut chunk = vec![0; CHUNK_BYTES];
        let outcome = match file.read(&mut chunk) {
            Ok(0) => return,
            Ok(bytes) => {
                chunk.truncate(bytes);
                Ok(chunk)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => Err(error),
        };
        let is_over = outcome.is_err();
        if sender.send(outcome).is_err() || is_over {
            return;
        }
    }
}

impl Read for Patient {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.taken == self.chunk.len() {
            self.chunk = self.next()?.unwrap_or_default();
            self.taken = 0;
        }
        let bytes = (&self.chunk[self.taken..]).read(buffer)?;
        self.taken += bytes;
        Ok(bytes)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::{ReadOptions, RequestBatch, open};
    use std::cell::Cell;
    use std::fs;
    use std::io::Write;
    use std::path::PathBuf;
    use std::process::Command;

    const HEAD: &str = "time_ns,op,volume,offset_bytes,length_bytes,hint\n";

    fn pipe(folder: &tempfile::TempDir) -> PathBuf {
        let path = folder.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        path
    }

    /// A file that both reads and writes a pipe is opened without waiting, and keeps it open.
    fn held(path: &Path) -> File {
        fs::OpenOptions::new().read(true).write(true).open(path).unwrap()
    }

    #[test]
    fn a_pipe_that_says_nothing_is_given_up_opened_or_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = pipe(&folder);
        for holds in [false, true] {
            let _held = holds.then(|| held(&path));
            let asked = Rc::new(Cell::new(0));
            let counted = asked.clone();
            let goes_on = move || {
                counted.set(counted.get() + 1);
                counted.get() < 3
            };
            let error = while_waiting(goes_on, || open(&path, &ReadOptions::default())).err().unwrap();
            assert!(error.to_string().contains("interrupted"), "{error}");
            assert_eq!(asked.get(), 3);
        }
    }

    #[test]
    fn what_a_pipe_says_is_read_to_its_end() {
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
        let requests = while_waiting(
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
    fn outside_of_the_work_nobody_is_asked_and_files_are_read_as_ever() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace.csv");
        fs::write(&path, format!("{HEAD}1,W,0,0,4096,0\n")).unwrap();
        while_waiting(
            || unreachable!("a file need not be waited for"),
            || {
                assert!(!is_needed(&path) && !is_needed(folder.path()));
                assert!(is_needed(Path::new("/dev/null")));
                assert!(open(&path, &ReadOptions::default()).is_ok());
                let error = open(folder.path().join("missing"), &ReadOptions::default()).err().unwrap();
                assert!(error.to_string().contains("No such file"), "{error}");
            },
        );
        assert!(!is_needed(Path::new("/dev/null")));
    }
}
