//! Thread pool for requests that wait for the SSD, so that the request threads stay free.
//!
//! It would be simpler to have many request threads that wait themselves. But the kernel wakes idle threads in turn,
//! on one processor after the other. With a single user, that costs more than all the work of the file system.

use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{Builder, JoinHandle};

/// Number of threads, and thus the maximum number of requests that wait at the same time.
const THREADS: usize = 16;

type Task = Box<dyn FnOnce() + Send>;

/// Thread pool. Dropping it waits until all tasks are done.
pub struct WaitPool {
    /// Sender of tasks; `None` while the pool is being dropped.
    tasks: Option<Sender<Task>>,
    threads: Vec<JoinHandle<()>>,
}

impl WaitPool {
    /// Starts the threads.
    pub fn start() -> io::Result<Self> {
        let (tasks, receiver) = channel();
        let receiver = Arc::new(Mutex::new(receiver));
        let start = |number| {
            let receiver = Arc::clone(&receiver);
            Builder::new().name(format!("nvmfs-waiting-{number}")).spawn(move || work(&receiver))
        };
        Ok(WaitPool { tasks: Some(tasks), threads: (0..THREADS).map(start).collect::<io::Result<_>>()? })
    }

    /// Adds a task.
    pub fn spawn(&self, task: impl FnOnce() + Send + 'static) {
        let tasks = self.tasks.as_ref().expect("only dropping it takes this");
        // Sending fails only if all threads have panicked, after which the file system refuses requests.
        let _ = tasks.send(Box::new(task));
    }
}

fn work(receiver: &Mutex<Receiver<Task>>) {
    loop {
        // The lock is released before a task runs, so a task that panics does not poison it.
        let task = receiver.lock().ok().and_then(|receiver| receiver.recv().ok());
        let Some(task) = task else { return };
        task();
    }
}

impl Drop for WaitPool {
    fn drop(&mut self) {
        self.tasks = None;
        for thread in self.threads.drain(..) {
            // A panic of the thread was already reported.
            let _ = thread.join();
        }
    }
}
