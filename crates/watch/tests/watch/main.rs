//! A drive that is watched over its control address, by those who may and by those who may not.

mod answers;
mod common;
mod hostile;
mod prometheus;
