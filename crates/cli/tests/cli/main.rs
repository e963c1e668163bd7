//! Tests of the command line, which call the program as its users do.

mod advise;
mod browser;
mod common;
mod documents;
mod drive;
#[cfg(feature = "explore")]
mod explore;
mod fleet;
mod hostile;
mod house;
#[cfg(feature = "serve")]
mod images;
mod limit;
#[cfg(feature = "serve")]
mod live;
mod model;
mod nvmfs;
#[cfg(feature = "play")]
mod play;
mod power;
mod report;
#[cfg(feature = "reproduce")]
mod reproduce;
mod run;
#[cfg(feature = "serve")]
mod serve;
mod sweep;
mod tables;
mod theory;
mod top;
mod trace;
