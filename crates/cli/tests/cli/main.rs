//! The command line as its users call it.

mod advise;
mod common;
mod drive;
mod house;
mod model;
mod nvmfs;
mod power;
mod run;
mod sweep;
mod tables;
mod theory;
mod top;
mod trace;
