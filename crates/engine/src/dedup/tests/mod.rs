//! Tests of the whole module: lists, decisions while cleaning, power cuts, and the layer on a small drive.

mod cuts;
mod drive;
mod ftls;
mod layer;
mod lists;
mod log_writes;
mod migration;
mod recover;
mod settings;
