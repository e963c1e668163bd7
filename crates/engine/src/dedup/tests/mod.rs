//! Tests of the whole module: lists, decisions while cleaning, power cuts, and the layer on a small drive.

mod cleaner;
mod cuts;
mod drive;
mod durable;
mod ftls;
mod layer;
mod lists;
mod recover;
mod settings;
