//! Block traces: named formats, read as streams of requests.

mod request;

pub use request::{Digest, Op, Request, RequestBatch};
