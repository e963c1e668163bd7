//! Manifests: one per paper, as shipped in `manifest/`.

mod costs;
mod types;

pub use costs::Costs;
pub use types::{Claim, Item, ItemKind, Manifest, Numbers, Tolerance, Verdict};

use crate::Failure;

/// File and text of each manifest, in the order of the list.
const MANIFESTS: [(&str, &str); 9] = [
    ("log_on_log.toml", include_str!("../../manifest/log_on_log.toml")),
    ("cagc.toml", include_str!("../../manifest/cagc.toml")),
    ("hot_cold.toml", include_str!("../../manifest/hot_cold.toml")),
    ("nvmfs.toml", include_str!("../../manifest/nvmfs.toml")),
    ("geckoftl.toml", include_str!("../../manifest/geckoftl.toml")),
    ("live.toml", include_str!("../../manifest/live.toml")),
    ("answers.toml", include_str!("../../manifest/answers.toml")),
    ("beyond.toml", include_str!("../../manifest/beyond.toml")),
    ("limit.toml", include_str!("../../manifest/limit.toml")),
];

/// Reads all manifests.
///
/// # Errors
///
/// Returns an error with file and line if a manifest cannot be read.
pub fn read_all() -> Result<Vec<Manifest>, Failure> {
    let read = |(file, text): (&str, &str)| {
        toml::from_str(text).map_err(|error| format!("manifest/{file}: {error}").into())
    };
    MANIFESTS.into_iter().map(read).collect()
}

/// An item together with its manifest.
#[derive(Clone, Copy, Debug)]
pub struct ManifestEntry<'a> {
    /// Manifest of the paper.
    pub manifest: &'a Manifest,
    /// The item.
    pub item: &'a Item,
}

impl ManifestEntry<'_> {
    /// Returns the name: paper, slash, item.
    pub fn name(&self) -> String {
        format!("{}/{}", self.manifest.name, self.item.name)
    }
}

/// Returns every item of `manifests`.
pub fn entries(manifests: &[Manifest]) -> impl Iterator<Item = ManifestEntry<'_>> {
    manifests
        .iter()
        .flat_map(|manifest| manifest.items.iter().map(move |item| ManifestEntry { manifest, item }))
}

/// Returns the item called `name`, as `paper/item`.
///
/// # Errors
///
/// Returns an error for an unknown name, which lists the items of the paper, or the papers.
pub fn find<'a>(manifests: &'a [Manifest], name: &str) -> Result<ManifestEntry<'a>, Failure> {
    let selected = select(manifests, name)?;
    match selected[..] {
        [found] if name.contains('/') => Ok(found),
        _ => Err(format!("`{name}` is a paper; an item of it is named {name}/ITEM").into()),
    }
}

/// Returns the items that `name` selects: one, all of a paper, or `all`.
///
/// # Errors
///
/// As for [`find`].
pub fn select<'a>(manifests: &'a [Manifest], name: &str) -> Result<Vec<ManifestEntry<'a>>, Failure> {
    if name == "all" {
        return Ok(entries(manifests).collect());
    }
    let (paper, item_name) = name.split_once('/').map_or((name, None), |(paper, item)| (paper, Some(item)));
    let manifest = manifests.iter().find(|manifest| manifest.name == paper).ok_or_else(|| {
        let papers: Vec<&str> = manifests.iter().map(|manifest| manifest.name.as_str()).collect();
        format!("there is no paper `{paper}`; there are {}, and `all`", papers.join(", "))
    })?;
    let all = || manifest.items.iter().map(|item| ManifestEntry { manifest, item });
    let Some(item_name) = item_name else { return Ok(all().collect()) };
    let selected: Vec<ManifestEntry> = all().filter(|found| found.item.name == item_name).collect();
    if selected.is_empty() {
        let names: Vec<&str> = manifest.items.iter().map(|item| item.name.as_str()).collect();
        return Err(format!("{paper} has no item `{item_name}`; it has {}", names.join(", ")).into());
    }
    Ok(selected)
}

#[cfg(test)]
mod tests;
