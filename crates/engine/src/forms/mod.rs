//! Layers with their types filled in.
//!
//! Generic code is compiled wherever it is given its types, in every crate, program and test anew, and layers are most
//! of what there is to compile. Whoever builds them through functions of this module, which are not generic, takes them as
//! they were compiled here, once, with the optimisation that this crate has.

mod equal_pages;
mod ftl;
mod kept;
mod log;
mod upper;

pub use equal_pages::{EqualPages, ftl_with_dedup};
pub use ftl::{BuiltFtl, FtlPlan, PowerPlan, ftl_on_supply};
pub use kept::{CameBack, KeptMedium, ftl_on_kept};
pub use log::{BoxedLog, CountingLog, boxed_log_on_nand, log_on_nand, log_on_segments};
pub use upper::UpperPlan;

use crate::checked::Checked;
use crate::config::ConfigError;
use crate::layer::{Bytes, Content, Payload};
use crate::log::{BoxedLayer, Observed, Segments, Shared, Zones, ZonesConfig};
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

    /// A zoned drive.
    fn zones_on_nand(flash: Nand<Self>, config: ZonesConfig) -> Result<BoxedLayer<Self>, ConfigError>;

    /// The same on flash that writes down what it does.
    fn zones_on_timed(flash: Timed<Self>, config: ZonesConfig) -> Result<BoxedLayer<Self>, ConfigError>;

    /// A layer on another.
    fn upper(lower: BoxedLayer<Self>, plan: UpperPlan) -> Result<BoxedLayer<Self>, ConfigError>;

    /// A layer that tells what stands on it what it moves.
    fn observed(layer: BoxedLayer<Self>) -> BoxedLayer<Self>;

    /// A layer whose every answer is looked at.
    fn checked(layer: BoxedLayer<Self>) -> BoxedLayer<Self>;

    /// A layer that several stand on, cut into parts of so many pages, and the part of each.
    fn shared(lower: BoxedLayer<Self>, sizes: &[u32]) -> (Shared<Self>, Vec<BoxedLayer<Self>>);
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

            fn zones_on_nand(
                flash: Nand<Self>,
                config: ZonesConfig,
            ) -> Result<BoxedLayer<Self>, ConfigError> {
                Ok(Box::new(Zones::new(flash, config)?))
            }

            fn zones_on_timed(
                flash: Timed<Self>,
                config: ZonesConfig,
            ) -> Result<BoxedLayer<Self>, ConfigError> {
                Ok(Box::new(Zones::new(flash, config)?))
            }

            fn upper(lower: BoxedLayer<Self>, plan: UpperPlan) -> Result<BoxedLayer<Self>, ConfigError> {
                plan.on(lower)
            }

            fn observed(layer: BoxedLayer<Self>) -> BoxedLayer<Self> {
                Box::new(Observed::new(layer))
            }

            fn checked(layer: BoxedLayer<Self>) -> BoxedLayer<Self> {
                Box::new(Checked::new(layer))
            }

            fn shared(lower: BoxedLayer<Self>, sizes: &[u32]) -> (Shared<Self>, Vec<BoxedLayer<Self>>) {
                upper::shared(lower, sizes)
            }
        }
    )*};
}

compiled! {
    [] ();
    [] Content;
    [const N: usize] Bytes<N>;
}
