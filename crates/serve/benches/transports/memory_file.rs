//! Minimal FUSE file as a baseline: its content is in memory under a lock.

use std::io;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;
use wearwell_fuse::fuser::{Errno, InitFlags};
use wearwell_fuse::{Folder, Options, Session, SingleFile, SingleFileFolder};

pub struct MemoryFile(Mutex<Vec<u8>>);

impl MemoryFile {
    /// Mounts a file `disk` of `bytes` bytes.
    pub fn mount(bytes: u64, at: &Path) -> io::Result<Session> {
        let file = MemoryFile(Mutex::new(vec![1; bytes as usize]));
        Session::start(Folder(SingleFileFolder::new(file)), at, &Options::new("memory"))
    }
}

impl SingleFile for MemoryFile {
    const CACHE_TIME: Duration = Duration::from_secs(3600);
    const CAPABILITIES: InitFlags = InitFlags::FUSE_ASYNC_DIO;

    fn bytes(&self) -> u64 {
        self.0.lock().unwrap().len() as u64
    }

    fn page_bytes(&self) -> u32 {
        4096
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), Errno> {
        out.copy_from_slice(&self.0.lock().unwrap()[offset as usize..][..out.len()]);
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<(), Errno> {
        self.0.lock().unwrap()[offset as usize..][..data.len()].copy_from_slice(data);
        Ok(())
    }

    fn flush(&self) -> Result<(), Errno> {
        Ok(())
    }
}
