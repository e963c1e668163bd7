//! The device and its doors.

mod agreement;
mod client;
mod clients;
mod common;
mod device;
mod hostile;
mod images;
