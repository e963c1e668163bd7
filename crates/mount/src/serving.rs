//! Requests that may have to wait for the SSD: they are begun where they come, and go on elsewhere if they do.

use super::Mountable;
use super::convert::Answer;
use super::privileges::drop_privileges;
use super::trees::look;
use super::waiting::Waiting;
use super::worker::{Attempt, Shared};
use fuser::{INodeNo, ReplyData, ReplyWrite};
use std::cell::RefCell;
use std::io;
use std::sync::Arc;
use wearwell_nvmfs::api::{Caller, Ino, Result};

thread_local! {
    /// What a thread reads goes through here; kept, so that not every request clears a new one.
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Handles such requests.
pub struct Serving<F> {
    shared: Arc<Shared<F>>,
    waiting: Waiting,
}

impl<F: Mountable + Send + 'static> Serving<F> {
    /// Of the file system in `shared`.
    pub fn new(shared: Arc<Shared<F>>) -> io::Result<Self> {
        Ok(Serving { shared, waiting: Waiting::start()? })
    }

    /// Handles a request and answers it, elsewhere if it has to wait.
    pub fn serve<T>(
        &self,
        mut handle: impl FnMut(&mut F) -> Result<T> + Send + 'static,
        answer: impl FnOnce(Answer<T>) + Send + 'static,
    ) {
        match self.shared.begin(&mut handle) {
            Attempt::Answered(it) => answer(it),
            Attempt::Waits(wait) => {
                let shared = Arc::clone(&self.shared);
                self.waiting.take(move || answer(shared.go_on(wait, handle)));
            }
        }
    }

    /// The same of a request whose answer depends on how much room there is: files that are gone have left before.
    pub fn serve_settled<T>(
        &self,
        mut handle: impl FnMut(&mut F) -> Result<T> + Send + 'static,
        answer: impl FnOnce(Answer<T>) + Send + 'static,
    ) {
        if !self.shared.room_may_come() {
            return answer(self.shared.request(handle));
        }
        let shared = Arc::clone(&self.shared);
        self.waiting.take(move || {
            shared.await_room();
            answer(shared.request(&mut handle));
        });
    }

    /// Takes a name from a file and answers.
    pub fn take_name(
        &self,
        (directory, name): (INodeNo, Vec<u8>),
        mut take: impl FnMut(&mut F, Ino, &[u8]) -> Result<()> + Send + 'static,
        answer: impl FnOnce(Answer<()>) + Send + 'static,
    ) {
        let shared = Arc::clone(&self.shared);
        let take = move |fs: &mut F| {
            shared.take_name(fs, (directory, &name), |fs, directory| take(fs, directory, &name))
        };
        self.serve(take, answer);
    }

    /// Reads and answers.
    pub fn read(&self, of: INodeNo, offset: u64, size: u32, caller: Caller, reply: ReplyData) {
        let read = |buffer: &mut Vec<u8>| {
            let room = room_for(buffer, size);
            self.shared.begin(|fs| look(fs, of, |fs, ino| fs.read(ino, offset, room, &caller)))
        };
        let attempt = BUFFER.with_borrow_mut(read);
        match attempt {
            Attempt::Answered(answer) => answer_with(reply, answer),
            Attempt::Waits(wait) => {
                let shared = Arc::clone(&self.shared);
                self.waiting.take(move || {
                    let answer = BUFFER.with_borrow_mut(|buffer| {
                        let room = room_for(buffer, size);
                        let mut read =
                            |fs: &mut F| look(fs, of, |fs, ino| fs.read(ino, offset, room, &caller));
                        shared.go_on(wait, &mut read)
                    });
                    answer_with(reply, answer);
                });
            }
        }
    }

    /// Writes and answers; `privileges_end` if the file's are to be dropped before.
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
            Attempt::Answered(answer) => written(reply, answer),
            Attempt::Waits(wait) => {
                let (shared, data) = (Arc::clone(&self.shared), data.to_vec());
                self.waiting.take(move || written(reply, shared.go_on(wait, |fs| write(fs, &data))));
            }
        }
    }
}

/// Room for what is read.
fn room_for(buffer: &mut Vec<u8>, size: u32) -> &mut [u8] {
    if buffer.len() < size as usize {
        buffer.resize(size as usize, 0);
    }
    &mut buffer[..size as usize]
}

/// Answers with so many bytes, which this thread has read.
fn answer_with(reply: ReplyData, answer: Answer<usize>) {
    match answer {
        Ok(bytes) => BUFFER.with_borrow(|buffer| reply.data(&buffer[..bytes])),
        Err(error) => reply.error(error),
    }
}

fn written(reply: ReplyWrite, answer: Answer<usize>) {
    match answer {
        Ok(bytes) => reply.written(bytes as u32),
        Err(error) => reply.error(error),
    }
}
