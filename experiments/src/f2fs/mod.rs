//! F2FS of Linux with 2, 4 and 6 logs: writes recorded in User-mode Linux, compared with the writes of a model.

pub mod cases;
pub mod model;
pub mod record;
pub mod replay;
pub mod shipped;
