//! Tests of FTLs with tables in flash, hybrid FTLs, and their recovery from power cuts.

mod hybrid;
mod interrupted;
mod paged;
mod plain_gecko;
mod power;
mod volatile_buffer;
mod wear_levelling;
