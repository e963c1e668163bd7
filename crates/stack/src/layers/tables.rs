//! Tables of kinds: all FTLs, and all layers on another layer.

use super::kinds::{self, Base, FtlProperties, Kind, Kinds, OnFlash, OnLayer, kinds};
use super::{
    bast, dftl, fast, gecko, hybrid, ib_ftl, lazyftl, log, lsm, mu_ftl, objects, page, paged, pass_through,
    silt, sparse, zones,
};
use super::{keys, payload, spec, table};
use wearwell_base::config::Entry;

kinds! {
    /// Kind of an FTL.
    enum FtlKind, resolved ResolvedFtl, on OnFlash, list FTLS, aliases FTL_ALIASES;
    #[alias("page")] Log: page::Page;
    Zones: zones::Zones;
    Dftl: paged::Paged<dftl::Dftl>;
    Lazyftl: paged::Paged<lazyftl::LazyFtl>;
    #[alias("mu-ftl")] MuFtl: paged::Paged<mu_ftl::MuFtl>;
    #[alias("ib-ftl")] IbFtl: paged::Paged<ib_ftl::IbFtl>;
    #[alias("geckoftl")] Gecko: paged::Paged<gecko::Gecko>;
    Fast: hybrid::Hybrid<fast::Fast>;
    Bast: hybrid::Hybrid<bast::Bast>;
}

kinds! {
    /// Kind of a layer on another layer.
    enum LayerKind, resolved ResolvedLayer, on OnLayer, list LAYERS, aliases LAYER_ALIASES;
    #[alias("page")] Log: log::Log;
    Lsm: lsm::Lsm;
    Silt: silt::Silt;
    PassThrough: pass_through::PassThrough;
    Sparse: sparse::Sparse;
    Objects: objects::Objects;
}

/// Returns every FTL with its properties.
pub fn ftls() -> impl Iterator<Item = (&'static Entry, FtlProperties)> {
    FTLS.iter().zip(FtlKind::properties())
}

/// Returns every kind of layer by its name; layers on another layer come first.
pub fn structures() -> impl Iterator<Item = &'static Entry> {
    let is_new = |entry: &&Entry| !LAYERS.iter().any(|other| other.name == entry.name);
    LAYERS.iter().chain(FTLS.iter().filter(is_new))
}
