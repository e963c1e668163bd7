//! F2FS of Linux with 2, 4 and 6 logs: what it wrote in User-mode Linux, and what its model writes.

pub mod cases;
pub mod model;
pub mod record;
pub mod replayed;
pub mod shipped;
