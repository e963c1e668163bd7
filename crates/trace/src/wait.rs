//! Files that may block forever, such as pipes: reading with a wait that can be given up.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::rc::Rc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

/// Interval between two checks of the callback.
const LOOK: Duration = Duration::from_millis(50);

/// Bytes read at a time: as many as a pipe holds.
const CHUNK_BYTES: usize = 64 << 10;

type GoesOn = Rc<dyn Fn() -> bool>;

thread_local! {
    /// Callback of this thread that returns true to continue waiting.
    static GOES_ON: RefCell<Option<GoesOn>> = const { RefCell::new(None) };
}

/// Runs `work`. While this thread waits in `work` for a trace from a pipe, it calls `goes_on` repeatedly; once `goes_on`
/// returns false, reading the trace fails.
///
/// The blocked read itself cannot be interrupted: the thread that reads the pipe is abandoned.
pub fn while_waiting<T>(goes_on: impl Fn() -> bool + 'static, work: impl FnOnce() -> T) -> T {
    /// Restores the previous callback, even if the work panics.
    struct Before(Option<GoesOn>);
    impl Drop for Before {
        fn drop(&mut self) {
            GOES_ON.set(self.0.take());
        }
    }
    let _before = Before(GOES_ON.replace(Some(Rc::new(goes_on))));
    work()
}

/// True if the file at `path` has to be read with [`Patient`]: this thread has a callback, and the file may block.
pub fn is_needed(path: &Path) -> bool {
    let may_wait = || path.metadata().is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir());
    GOES_ON.with_borrow(Option::is_some) && may_wait()
}

/// A file that another thread opens and reads.
pub struct Patient {
    chunks: Receiver<io::Result<Vec<u8>>>,
    chunk: Vec<u8>,
    /// Bytes of the chunk that were returned.
    taken: usize,
}

impl Patient {
    pub fn open(path: &Path) -> Self {
        let path = path.to_owned();
        let (sender, chunks) = sync_channel(1);
        thread::spawn(move || match File::open(path) {
            Ok(file) => send_all(file, &sender),
            // After the wait was given up, the receiver is gone.
            Err(error) => drop(sender.send(Err(error))),
        });
        Patient { chunks, chunk: Vec::new(), taken: 0 }
    }

    /// Returns the next chunk, or `None` at the end.
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

/// Sends the whole file, until the receiver is gone.
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
