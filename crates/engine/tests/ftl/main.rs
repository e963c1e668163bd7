//! FTLs whose tables are in flash, hybrid FTLs, and what all of them find again when the power returns.

mod forgetful;
mod hybrid;
mod interrupted;
mod paged;
mod plain_gecko;
mod power;
mod wear_levelling;
