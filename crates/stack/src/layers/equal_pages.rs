//! Deduplication in front of an FTL: what it asks of the FTL, and how the two are put together.

use super::features::{Features, Used};
use super::flash::{AsItIs, BuildOnSpareAreas, Cutting, Finish, FlashParts, PowerPlan};
use super::spec::{BuiltLayer, LayerSpec};
use wearwell_base::config::ConfigError;
use wearwell_engine::dedup::{Dedup, DedupConfig, DedupSettings, Detect, Sharing, SpareNotes};
use wearwell_engine::ftl::Restart;
use wearwell_engine::layer::{Content, Medium};
use wearwell_engine::log::BoxedLayer;
use wearwell_engine::nand::{Flash, Fragile, Supply};
use wearwell_engine::placement::PlacementConfig;
use wearwell_engine::timing::{Journal, Timed};

/// Bits of a fingerprint by which no two contents are taken for equal.
const ALL_BITS: u32 = 64;

/// How pages that hold the same are stored once.
#[derive(Clone, Debug, Default)]
pub struct EqualPages {
    /// How they are found.
    pub config: DedupConfig,
    /// Pages shown above.
    pub logical_pages: u32,
    /// Whether the placement is to be told how many share a page.
    pub wants_references: bool,
}

impl EqualPages {
    /// Of an FTL that is built from `spec`.
    pub fn of(spec: &LayerSpec) -> Self {
        EqualPages {
            config: spec.dedup.clone(),
            logical_pages: spec.logical_pages,
            wants_references: spec.features.has("references"),
        }
    }

    /// The tables of the layer in front.
    pub(super) fn sharing(&self) -> Result<Sharing, ConfigError> {
        Sharing::new(&self.config, self.logical_pages, 0).map_err(|error| error.within("dedup"))
    }
}

/// Adds what `dedup` asks of an FTL that cleans by a policy and places pages; or the setting of both that must be one.
pub(super) fn add_features(
    dedup: &DedupConfig,
    placement: &PlacementConfig,
    features: &mut Features,
) -> Result<(), ConfigError> {
    let cold_above = placement.reference_threshold();
    if let (Some(own), Some(theirs)) = (dedup.threshold(), cold_above)
        && own != theirs
    {
        let problem = format!(
            "is {own}, but the {theirs} of the placement says which pages are cold; they must be equal"
        );
        return Err(ConfigError::new("dedup.threshold", problem));
    }
    if !dedup.is_none() && cold_above.is_some() {
        features.add(Used::new("dedup_cleaning", "dedup"));
    }
    Ok(())
}

/// What `dedup` asks of any FTL.
pub(crate) fn features_of(dedup: &DedupConfig) -> Vec<Used> {
    let index = dedup.index();
    let given = [
        (true, "dedup", "dedup"),
        (matches!(dedup.detect(), Detect::Cleaning { .. }), "dedup_cleaning", "dedup"),
        (dedup.map_log_page_records().is_none(), "volatile_map", "dedup.map_log"),
        (index.fingerprint_bits < ALL_BITS && !index.verify, "unverified", "dedup.index.verify"),
    ];
    let given = given.into_iter().filter(|(given, ..)| *given && !dedup.is_none());
    given.map(|(_, feature, key)| Used::new(feature, key)).collect()
}

/// The layer on an FTL whose power stays on.
pub(super) struct InFront {
    pub sharing: Sharing,
    pub wants_references: bool,
    pub journal: Option<Journal>,
}

impl InFront {
    /// Has the FTL ask when it cleans.
    fn ask<T>(&self, ftl: &mut T) -> Result<(), ConfigError>
    where
        T: Restart,
        T::Flash: Medium<Payload = Content>,
    {
        let migration = self.sharing.migration(self.journal.clone(), self.wants_references);
        migration.map_or(Ok(()), |migration| ftl.ask(migration))
    }
}

impl<F: Flash<Payload = Content>> Finish<F> for InFront {
    type Payload = Content;

    fn finish<T>(self, mut ftl: T, _settings: T::Settings) -> Result<BuiltLayer<Content>, ConfigError>
    where
        T: Restart<Flash = F> + 'static,
        T::Settings: Send,
    {
        self.ask(&mut ftl)?;
        let ftl: BoxedLayer<Content> = Box::new(ftl);
        let layer: BoxedLayer<Content> = Box::new(Dedup::new(self.sharing, ftl, self.journal)?);
        Ok(BuiltLayer::from(layer))
    }
}

/// The layer on an FTL whose power is cut: both come back together, and `finish` says who cuts.
pub(super) struct InFrontCut<X> {
    pub front: InFront,
    pub equal: EqualPages,
    pub notes: SpareNotes,
    pub finish: X,
}

impl<F: Flash<Payload = Content>, X: Finish<F, Payload = Content>> Finish<F> for InFrontCut<X> {
    type Payload = Content;

    fn finish<T>(self, mut ftl: T, settings: T::Settings) -> Result<BuiltLayer<Content>, ConfigError>
    where
        T: Restart<Flash = F> + 'static,
        T::Settings: Send,
    {
        let InFrontCut { front, equal, notes, finish } = self;
        front.ask(&mut ftl)?;
        notes.follow(Some(&front.sharing));
        let InFront { sharing, wants_references, journal } = front;
        let EqualPages { config, logical_pages, .. } = equal;
        let settings = DedupSettings {
            ftl: settings,
            config,
            logical_pages,
            wants_references,
            notes,
            journal: journal.clone(),
        };
        finish.finish(Dedup::new(sharing, ftl, journal)?, settings)
    }
}

impl FlashParts {
    /// An FTL, and deduplication in front of it.
    pub(super) fn with_dedup(
        &self,
        builder: impl BuildOnSpareAreas,
        equal: EqualPages,
    ) -> Result<BuiltLayer<Content>, ConfigError> {
        let sharing = equal.sharing()?;
        let builder = builder.storing(sharing.store_pages());
        let (wants_references, journal) = (equal.wants_references, self.journal.clone());
        let front = InFront { sharing, wants_references, journal };
        let nand = self.nand::<Content>().with_spare_area();
        if !self.power.cuts() {
            return builder.build(self.journaled(nand), front);
        }
        let geometry = &self.device.geometry;
        let notes = SpareNotes::new(geometry.blocks(), geometry.pages_per_block);
        let nand = nand.with_spare_keeper(Box::new(notes.clone()));
        match &self.power {
            PowerPlan::AtWork(cut) => {
                let supply = Supply::new(builder.has_battery());
                let journal = self.journal.clone().unwrap_or_else(Journal::paused);
                let timed = Timed::new(nand, journal.clone());
                let finish = Cutting::<Content>::new(supply.clone(), cut.clone(), journal);
                builder.build(Fragile::new(timed, supply), InFrontCut { front, equal, notes, finish })
            }
            _ => {
                let finish = AsItIs { switched: true };
                builder.build(self.journaled(nand), InFrontCut { front, equal, notes, finish })
            }
        }
    }
}
