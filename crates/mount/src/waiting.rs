//! Requests that wait for the SSD do so in threads of their own, so that those to which requests come are free for others.
//!
//! They could be many instead, each waiting itself. But the kernel wakes one after the other of those that are idle, on one processor after
//! the other, which costs a single user more than all that the file system does.

use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{Builder, JoinHandle};

/// Requests that wait at the same time; others wait for them.
const THREADS: usize = 16;

type Task = Box<dyn FnOnce() + Send>;

/// The threads. Dropping it waits until they have done what they were given.
pub struct Waiting {
    /// None once it ends.
    tasks: Option<Sender<Task>>,
    threads: Vec<JoinHandle<()>>,
}

impl Waiting {
    /// Starts them.
    pub fn start() -> io::Result<Self> {
        let (tasks, given) = channel();
        let given = Arc::new(Mutex::new(given));
        let start = |number| {
            let given = Arc::clone(&given);
            Builder::new().name(format!("nvmfs-waiting-{number}")).spawn(move || work(&given))
        };
        Ok(Waiting { tasks: Some(tasks), threads: (0..THREADS).map(start).collect::<io::Result<_>>()? })
    }

    /// Gives one of them something to do.
    pub fn take(&self, task: impl FnOnce() + Send + 'static) {
        let tasks = self.tasks.as_ref().expect("only dropping it takes this");
        // Nobody is there once all of them have panicked, each of which has ended the file system.
        let _ = tasks.send(Box::new(task));
    }
}

fn work(given: &Mutex<Receiver<Task>>) {
    loop {
        // Whoever panics does so outside the lock.
        let task = given.lock().ok().and_then(|given| given.recv().ok());
        let Some(task) = task else { return };
        task();
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.tasks = None;
        for thread in self.threads.drain(..) {
            // A panic has told of itself.
            let _ = thread.join();
        }
    }
}
