//! Requests that may have to wait for the SSD. They begin on the thread that received them and, if they wait,
//! continue on another thread.

use super::Mountable;
use super::convert::RequestResult;
use super::privileges::drop_privileges;
use super::trees::with_file;
use super::wait_pool::WaitPool;
use super::worker::{Attempt, Shared};
use std::cell::RefCell;
use std::io;
use std::sync::Arc;
use wearwell_fuse::fuser::{INodeNo, ReplyData, ReplyWrite};
use wearwell_nvmfs::api::{Caller, Ino, Result};

thread_local! {
    /// Read buffer of each thread, which is reused so that requests need not clear a new one.
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Handler of requests that may wait.
pub struct RequestHandler<F> {
    shared: Arc<Shared<F>>,
    wait_pool: WaitPool,
}

impl<F: Mountable + Send + 'static> RequestHandler<F> {
    /// Creates the handler for the file system that is in `shared`.
    pub fn new(shared: Arc<Shared<F>>) -> io::Result<Self> {
        Ok(RequestHandler { shared, wait_pool: WaitPool::start()? })
    }

    /// Handles a request and replies; if the request has to wait, this happens on another thread.
    pub fn serve<T>(
        &self,
        mut handle: impl FnMut(&mut F) -> Result<T> + Send + 'static,
        reply: impl FnOnce(RequestResult<T>) + Send + 'static,
    ) {
        match self.shared.begin(&mut handle) {
            Attempt::Complete(it) => reply(it),
            Attempt::Waiting(wait) => {
                let shared = Arc::clone(&self.shared);
                self.wait_pool.spawn(move || reply(shared.resume(wait, handle)));
            }
        }
    }

    /// Does what `serve` does, for a request that depends on free space: first waits until the space of deleted files
    /// is free.
    pub fn serve_after_release<T>(
        &self,
        mut handle: impl FnMut(&mut F) -> Result<T> + Send + 'static,
        reply: impl FnOnce(RequestResult<T>) + Send + 'static,
    ) {
        if !self.shared.may_free_space() {
            return reply(self.shared.request(handle));
        }
        let shared = Arc::clone(&self.shared);
        self.wait_pool.spawn(move || {
            shared.wait_for_space();
            reply(shared.request(&mut handle));
        });
    }

    /// Removes a name and replies.
    pub fn remove_name(
        &self,
        (directory, name): (INodeNo, Vec<u8>),
        mut remove: impl FnMut(&mut F, Ino, &[u8]) -> Result<()> + Send + 'static,
        reply: impl FnOnce(RequestResult<()>) + Send + 'static,
    ) {
        let shared = Arc::clone(&self.shared);
        let take = move |fs: &mut F| {
            shared.remove_name(fs, (directory, &name), |fs, directory| remove(fs, directory, &name))
        };
        self.serve(take, reply);
    }

    /// Reads from a file and replies.
    pub fn read(&self, node_id: INodeNo, offset: u64, size: u32, caller: Caller, reply: ReplyData) {
        let read = |buffer: &mut Vec<u8>| {
            let buffer = buffer_of(buffer, size);
            self.shared.begin(|fs| with_file(fs, node_id, |fs, ino| fs.read(ino, offset, buffer, &caller)))
        };
        let attempt = BUFFER.with_borrow_mut(read);
        match attempt {
            Attempt::Complete(answer) => reply_data(reply, answer),
            Attempt::Waiting(wait) => {
                let shared = Arc::clone(&self.shared);
                self.wait_pool.spawn(move || {
                    let answer = BUFFER.with_borrow_mut(|buffer| {
                        let buffer = buffer_of(buffer, size);
                        let mut read = |fs: &mut F| {
                            with_file(fs, node_id, |fs, ino| fs.read(ino, offset, buffer, &caller))
                        };
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
        ino: Ino,
        offset: u64,
        data: &[u8],
        privileges_end: bool,
        caller: Caller,
        reply: ReplyWrite,
    ) {
        let write = move |fs: &mut F, data: &[u8]| {
            if privileges_end {
                drop_privileges(fs, ino, &caller)?;
            }
            fs.write(ino, offset, data, &caller)
        };
        match self.shared.begin(|fs| write(fs, data)) {
            Attempt::Complete(answer) => reply_written(reply, answer),
            Attempt::Waiting(wait) => {
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
fn reply_data(reply: ReplyData, answer: RequestResult<usize>) {
    match answer {
        Ok(bytes) => BUFFER.with_borrow(|buffer| reply.data(&buffer[..bytes])),
        Err(error) => reply.error(error),
    }
}

fn reply_written(reply: ReplyWrite, answer: RequestResult<usize>) {
    match answer {
        Ok(bytes) => reply.written(bytes as u32),
        Err(error) => reply.error(error),
    }
}
