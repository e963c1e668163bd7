//! The room as a whole: its lists, what cleaning is told, what a power cut leaves, and the layer on a small drive.

mod cleaner;
mod cuts;
mod drive;
mod durable;
mod ftls;
mod layer;
mod lists;
mod recover;
mod settings;
