//! Tests of FTLs with tables in flash, hybrid FTLs, and their recovery from power cuts.

mod forgetful;
mod hybrid;
mod interrupted;
mod paged;
mod plain_gecko;
mod power;
mod wear_levelling;
