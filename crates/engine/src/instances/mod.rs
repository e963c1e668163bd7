//! Monomorphised instances of the generic layers.
//!
//! Generic code is compiled again in every crate, program and test that instantiates it, and layers are most of the
//! code. The functions of this module are not generic: callers use the instances compiled here once, with this
//! crate's optimisation level.

mod dedup;
mod ftl;
mod log;
mod stored;
mod upper;

pub use dedup::{DedupPlan, ftl_with_dedup};
pub use ftl::{BuiltFtl, FtlPlan, PowerPlan, ftl_on_power_source};
pub use log::{BoxedLog, CountingLog, boxed_log_on_nand, log_on_nand, log_on_segments};
pub use stored::{RestartResult, StoredMedium, ftl_on_stored_flash};
pub use upper::UpperPlan;

use crate::checked::CheckedLayer;
use crate::config::ConfigError;
use crate::layer::{Bytes, ContentId, Payload};
use crate::log::{ArrivalObserver, BoxedLayer, Segments, SharedLayer, ZonedDrive, ZonedDriveConfig};
use crate::nand::Nand;
use crate::timing::RecordingNand;

/// A payload for which logs and FTLs are compiled here; for [`Bytes`] this happens where their size is known.
pub trait CompiledPayload: Payload {
    /// Builds a log on flash that records its operations.
    fn boxed_log_on_recording_nand(
        flash: RecordingNand<Self>,
        log: BoxedLog<Self>,
    ) -> Result<BoxedLayer<Self>, ConfigError>;

    /// Builds a log on the segments of a layer.
    fn boxed_log_on_segments(
        segments: Segments<Self>,
        log: BoxedLog<Self>,
    ) -> Result<BoxedLayer<Self>, ConfigError>;

    /// Builds an FTL on flash with spare areas, with a power switch if `has_power_switch`.
    fn ftl_on_nand(
        flash: Nand<Self>,
        plan: FtlPlan,
        has_power_switch: bool,
    ) -> Result<BuiltFtl<Self>, ConfigError>;

    /// Builds an FTL on flash that records its operations.
    fn ftl_on_recording_nand(
        flash: RecordingNand<Self>,
        plan: FtlPlan,
        has_power_switch: bool,
    ) -> Result<BuiltFtl<Self>, ConfigError>;

    /// Builds a zoned drive.
    fn zones_on_nand(flash: Nand<Self>, config: ZonedDriveConfig) -> Result<BoxedLayer<Self>, ConfigError>;

    /// Builds a zoned drive on flash that records its operations.
    fn zones_on_recording_nand(
        flash: RecordingNand<Self>,
        config: ZonedDriveConfig,
    ) -> Result<BoxedLayer<Self>, ConfigError>;

    /// Builds a layer on another layer.
    fn upper(lower: BoxedLayer<Self>, plan: UpperPlan) -> Result<BoxedLayer<Self>, ConfigError>;

    /// Wraps a layer so that it reports moved pages to the layer above.
    fn observed(layer: BoxedLayer<Self>) -> BoxedLayer<Self>;

    /// Wraps a layer so that all its answers are checked.
    fn checked(layer: BoxedLayer<Self>) -> BoxedLayer<Self>;

    /// Splits a layer into partitions of these numbers of pages; returns the shared layer and its partitions.
    fn partition(lower: BoxedLayer<Self>, sizes: &[u32]) -> (SharedLayer<Self>, Vec<BoxedLayer<Self>>);
}

macro_rules! compiled {
    ($([$($parameter:tt)*] $Payload:ty;)*) => {$(
        impl<$($parameter)*> CompiledPayload for $Payload {
            fn boxed_log_on_recording_nand(
                flash: RecordingNand<Self>,
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
                has_power_switch: bool,
            ) -> Result<BuiltFtl<Self>, ConfigError> {
                plan.on(flash, ftl::PlainFinish { has_power_switch })
            }

            fn ftl_on_recording_nand(
                flash: RecordingNand<Self>,
                plan: FtlPlan,
                has_power_switch: bool,
            ) -> Result<BuiltFtl<Self>, ConfigError> {
                plan.on(flash, ftl::PlainFinish { has_power_switch })
            }

            fn zones_on_nand(
                flash: Nand<Self>,
                config: ZonedDriveConfig,
            ) -> Result<BoxedLayer<Self>, ConfigError> {
                Ok(Box::new(ZonedDrive::new(flash, config)?))
            }

            fn zones_on_recording_nand(
                flash: RecordingNand<Self>,
                config: ZonedDriveConfig,
            ) -> Result<BoxedLayer<Self>, ConfigError> {
                Ok(Box::new(ZonedDrive::new(flash, config)?))
            }

            fn upper(lower: BoxedLayer<Self>, plan: UpperPlan) -> Result<BoxedLayer<Self>, ConfigError> {
                plan.on(lower)
            }

            fn observed(layer: BoxedLayer<Self>) -> BoxedLayer<Self> {
                Box::new(ArrivalObserver::new(layer))
            }

            fn checked(layer: BoxedLayer<Self>) -> BoxedLayer<Self> {
                Box::new(CheckedLayer::new(layer))
            }

            fn partition(lower: BoxedLayer<Self>, sizes: &[u32]) -> (SharedLayer<Self>, Vec<BoxedLayer<Self>>) {
                upper::partition(lower, sizes)
            }
        }
    )*};
}

compiled! {
    [] ();
    [] ContentId;
    [const N: usize] Bytes<N>;
}
