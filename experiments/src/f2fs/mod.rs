//! F2FS of Linux with 2, 4 and 6 logs: recorded writes in User-mode Linux, and the writes of its model.

pub mod cases;
pub mod model;
pub mod record;
pub mod replay;
pub mod shipped;
