//! Logs and FTLs with their types filled in.
//!
//! Generic code is compiled wherever it is given its types, in every crate, program and test anew, and logs and FTLs are most
//! of what there is to compile. Whoever builds them through functions of this module, which are not generic, takes them as
//! they were compiled here, once, with the optimisation that this crate has.

mod ftl;
mod log;

pub use ftl::{BuiltFtl, FtlPlan, ftl_on_supply};
pub use log::{BoxedLog, CountingLog, boxed_log_on_nand, log_on_nand, log_on_segments};

use crate::config::ConfigError;
use crate::layer::{Bytes, Content, Payload};
use crate::log::{BoxedLayer, Segments};
use crate::nand::Nand;
use crate::timing::Timed;

/// A payload for which logs and FTLs are compiled here; those of [`Bytes`] where their size is known.
pub trait CompiledPayload: Payload {
    /// A log on flash that writes down what it does.
    fn boxed_log_on_timed(flash: Timed<Self>, log: BoxedLog<Self>) -> Result<BoxedLayer<Self>, ConfigError>;

    /// A log on the segments of a layer.
    fn boxed_log_on_segments(
        segments: Segments<Self>,
        log: BoxedLog<Self>,
    ) -> Result<BoxedLayer<Self>, ConfigError>;

    /// An FTL on flash with spare areas, with a switch for its power if it is to be cut.
    fn ftl_on_nand(flash: Nand<Self>, plan: FtlPlan, switched: bool) -> Result<BuiltFtl<Self>, ConfigError>;

    /// The same on flash that writes down what it does.
    fn ftl_on_timed(flash: Timed<Self>, plan: FtlPlan, switched: bool)
    -> Result<BuiltFtl<Self>, ConfigError>;
}

macro_rules! compiled {
    ($([$($parameter:tt)*] $Payload:ty;)*) => {$(
        impl<$($parameter)*> CompiledPayload for $Payload {
            fn boxed_log_on_timed(
                flash: Timed<Self>,
                log: BoxedLog<Self>,
            ) -> Result<BoxedLayer<Self>, ConfigError> {
                log.on(flash)
            }

            fn boxed_log_on_segments(
                segments: Segments<Self>,
                log: BoxedLog<Self>,
            ) -> Result<BoxedLayer<Self>, ConfigError> {
                log.on(segments)
            }

            fn ftl_on_nand(
                flash: Nand<Self>,
                plan: FtlPlan,
                switched: bool,
            ) -> Result<BuiltFtl<Self>, ConfigError> {
                plan.on(flash, ftl::AsItIs { switched })
            }

            fn ftl_on_timed(
                flash: Timed<Self>,
                plan: FtlPlan,
                switched: bool,
            ) -> Result<BuiltFtl<Self>, ConfigError> {
                plan.on(flash, ftl::AsItIs { switched })
            }
        }
    )*};
}

compiled! {
    [] ();
    [] Content;
    [const N: usize] Bytes<N>;
}
