//! Reading of files that may block forever, such as pipes, with a wait that can be ended.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::rc::Rc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

/// Interval between two checks of the callback.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// Bytes read at a time: as many as a pipe holds.
const CHUNK_BYTES: usize = 64 << 10;

type ContinueCallback = Rc<dyn Fn() -> bool>;

thread_local! {
    /// Callback of this thread that returns true to continue waiting.
    static CONTINUE_CALLBACK: RefCell<Option<ContinueCallback>> = const { RefCell::new(None) };
}

/// Runs `work`. While this thread waits in `work` for a trace from a pipe, it calls `should_continue` repeatedly; once
/// `should_continue` returns false, reading the trace fails.
///
/// The blocked read itself cannot be interrupted: the thread that reads the pipe is abandoned.
pub fn with_wait_callback<T>(should_continue: impl Fn() -> bool + 'static, work: impl FnOnce() -> T) -> T {
    /// Restores the previous callback, even if the work panics.
    struct RestoreCallback(Option<ContinueCallback>);
    impl Drop for RestoreCallback {
        fn drop(&mut self) {
            CONTINUE_CALLBACK.set(self.0.take());
        }
    }
    let _restore = RestoreCallback(CONTINUE_CALLBACK.replace(Some(Rc::new(should_continue))));
    work()
}

/// True if the file at `path` has to be read with [`ThreadedReader`]: this thread has a callback, and the file may
/// block.
pub fn needs_thread(path: &Path) -> bool {
    let may_wait = || path.metadata().is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir());
    CONTINUE_CALLBACK.with_borrow(Option::is_some) && may_wait()
}

/// A file that another thread opens and reads.
pub struct ThreadedReader {
    chunks: Receiver<io::Result<Vec<u8>>>,
    chunk: Vec<u8>,
    /// Bytes of the chunk that were returned.
    consumed: usize,
}

impl ThreadedReader {
    pub fn open(path: &Path) -> Self {
        let path = path.to_owned();
        let (sender, chunks) = sync_channel(1);
        thread::spawn(move || match File::open(path) {
            Ok(file) => send_all(file, &sender),
            // After the wait has ended, the receiver no longer exists.
            Err(error) => drop(sender.send(Err(error))),
        });
        ThreadedReader { chunks, chunk: Vec::new(), consumed: 0 }
    }

    /// Returns the next chunk, or `None` at the end.
    fn next(&self) -> io::Result<Option<Vec<u8>>> {
        loop {
            match self.chunks.recv_timeout(CHECK_INTERVAL) {
                Ok(chunk) => return chunk.map(Some),
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
                Err(RecvTimeoutError::Timeout) => {}
            }
            let should_continue = CONTINUE_CALLBACK.with_borrow(Clone::clone);
            if should_continue.is_some_and(|should_continue| !should_continue()) {
                return Err(io::Error::other("interrupted"));
            }
        }
    }
}

/// Sends the whole file, until the receiver no longer exists.
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
        let is_last = outcome.is_err();
        if sender.send(outcome).is_err() || is_last {
            return;
        }
    }
}

impl Read for ThreadedReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.consumed == self.chunk.len() {
            self.chunk = self.next()?.unwrap_or_default();
            self.consumed = 0;
        }
        let bytes = (&self.chunk[self.consumed..]).read(buffer)?;
        self.consumed += bytes;
        Ok(bytes)
    }
}
