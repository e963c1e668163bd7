//! Thread pool for requests that wait for the SSD, so that the request threads stay free.
//!
//! Many request threads that wait themselves would be simpler. But the kernel wakes idle threads in turn, on one processor after
//! the other, which costs a single user more than all the work of the file system.

use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{Builder, JoinHandle};

/// Number of threads: most requests that wait at the same time.
const THREADS: usize = 16;

type Task = Box<dyn FnOnce() + Send>;

/// Thread pool. Dropping it waits until all tasks are done.
pub struct WaitPool {
    /// Sender of tasks, or `None` while the pool is being dropped.
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
        // A task that panics does so outside the lock.
        let task = receiver.lock().ok().and_then(|receiver| receiver.recv().ok());
        let Some(task) = task else { return };
        task();
    }
}

impl Drop for WaitPool {
    fn drop(&mut self) {
        self.tasks = None;
        for thread in self.threads.drain(..) {
            // A panic was already reported.
            let _ = thread.join();
        }
    }
}
