//! Requests that may have to wait for the SSD: they begin on the thread that received them and continue on another one if they
//! wait.

use super::Mountable;
use super::convert::Answer;
use super::privileges::drop_privileges;
use super::trees::look;
use super::wait_pool::WaitPool;
use super::worker::{Attempt, Shared};
use fuser::{INodeNo, ReplyData, ReplyWrite};
use std::cell::RefCell;
use std::io;
use std::sync::Arc;
use wearwell_nvmfs::api::{Caller, Ino, Result};

thread_local! {
    /// Read buffer of each thread, kept so that not every request clears a new one.
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Handler of requests that may wait.
pub struct Serving<F> {
    shared: Arc<Shared<F>>,
    wait_pool: WaitPool,
}

impl<F: Mountable + Send + 'static> Serving<F> {
    /// Creates the handler for the file system in `shared`.
    pub fn new(shared: Arc<Shared<F>>) -> io::Result<Self> {
        Ok(Serving { shared, wait_pool: WaitPool::start()? })
    }

    /// Handles a request and replies, on another thread if it has to wait.
    pub fn serve<T>(
        &self,
        mut handle: impl FnMut(&mut F) -> Result<T> + Send + 'static,
        answer: impl FnOnce(Answer<T>) + Send + 'static,
    ) {
        match self.shared.begin(&mut handle) {
            Attempt::Answered(it) => answer(it),
            Attempt::Waits(wait) => {
                let shared = Arc::clone(&self.shared);
                self.wait_pool.spawn(move || answer(shared.resume(wait, handle)));
            }
        }
    }

    /// Like `serve`, for a request that depends on free space: first waits for the space of deleted files.
    pub fn serve_after_release<T>(
        &self,
        mut handle: impl FnMut(&mut F) -> Result<T> + Send + 'static,
        answer: impl FnOnce(Answer<T>) + Send + 'static,
    ) {
        if !self.shared.space_may_come() {
            return answer(self.shared.request(handle));
        }
        let shared = Arc::clone(&self.shared);
        self.wait_pool.spawn(move || {
            shared.await_space();
            answer(shared.request(&mut handle));
        });
    }

    /// Removes a name and replies.
    pub fn remove_name(
        &self,
        (directory, name): (INodeNo, Vec<u8>),
        mut take: impl FnMut(&mut F, Ino, &[u8]) -> Result<()> + Send + 'static,
        answer: impl FnOnce(Answer<()>) + Send + 'static,
    ) {
        let shared = Arc::clone(&self.shared);
        let take = move |fs: &mut F| {
            shared.remove_name(fs, (directory, &name), |fs, directory| take(fs, directory, &name))
        };
        self.serve(take, answer);
    }

    /// Reads from a file and replies.
    pub fn read(&self, of: INodeNo, offset: u64, size: u32, caller: Caller, reply: ReplyData) {
        let read = |buffer: &mut Vec<u8>| {
            let buffer = buffer_of(buffer, size);
            self.shared.begin(|fs| look(fs, of, |fs, ino| fs.read(ino, offset, buffer, &caller)))
        };
        let attempt = BUFFER.with_borrow_mut(read);
        match attempt {
            Attempt::Answered(answer) => reply_data(reply, answer),
            Attempt::Waits(wait) => {
                let shared = Arc::clone(&self.shared);
                self.wait_pool.spawn(move || {
                    let answer = BUFFER.with_borrow_mut(|buffer| {
                        let buffer = buffer_of(buffer, size);
                        let mut read =
                            |fs: &mut F| look(fs, of, |fs, ino| fs.read(ino, offset, buffer, &caller));
                        shared.resume(wait, &mut read)
                    });
                    reply_data(reply, answer);
                });
            }
        }
    }

    /// Writes to a file and replies. Drops the file's privileges first if `privileges_end` is set.
    pub fn write(
        &self,
        of: Ino,
        offset: u64,
        data: &[u8],
        privileges_end: bool,
        caller: Caller,
        reply: ReplyWrite,
    ) {
        let write = move |fs: &mut F, data: &[u8]| {
            if privileges_end {
                drop_privileges(fs, of, &caller)?;
            }
            fs.write(of, offset, data, &caller)
        };
        match self.shared.begin(|fs| write(fs, data)) {
            Attempt::Answered(answer) => reply_written(reply, answer),
            Attempt::Waits(wait) => {
                let (shared, data) = (Arc::clone(&self.shared), data.to_vec());
                self.wait_pool
                    .spawn(move || reply_written(reply, shared.resume(wait, |fs| write(fs, &data))));
            }
        }
    }
}

/// Returns a slice of `size` bytes of the buffer.
fn buffer_of(buffer: &mut Vec<u8>, size: u32) -> &mut [u8] {
    if buffer.len() < size as usize {
        buffer.resize(size as usize, 0);
    }
    &mut buffer[..size as usize]
}

/// Replies with the first bytes of this thread's buffer.
fn reply_data(reply: ReplyData, answer: Answer<usize>) {
    match answer {
        Ok(bytes) => BUFFER.with_borrow(|buffer| reply.data(&buffer[..bytes])),
        Err(error) => reply.error(error),
    }
}

fn reply_written(reply: ReplyWrite, answer: Answer<usize>) {
    match answer {
        Ok(bytes) => reply.written(bytes as u32),
        Err(error) => reply.error(error),
    }
}
