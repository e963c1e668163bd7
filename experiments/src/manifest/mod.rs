//! Manifests: one per paper, as shipped in `manifest/`.

mod costs;
mod types;

pub use costs::Costs;
pub use types::{Claim, Item, Kind, Manifest, Numbers, Tolerance, Verdict};

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
pub fn all() -> Result<Vec<Manifest>, Failure> {
    let read = |(file, text): (&str, &str)| {
        toml::from_str(text).map_err(|error| format!("manifest/{file}: {error}").into())
    };
    MANIFESTS.into_iter().map(read).collect()
}

/// An item together with its manifest.
#[derive(Clone, Copy, Debug)]
pub struct Found<'a> {
    /// Manifest of the paper.
    pub manifest: &'a Manifest,
    /// The item.
    pub item: &'a Item,
}

impl Found<'_> {
    /// Returns the name: paper, slash, item.
    pub fn name(&self) -> String {
        format!("{}/{}", self.manifest.name, self.item.name)
    }
}

/// Returns every item of `manifests`.
pub fn items(manifests: &[Manifest]) -> impl Iterator<Item = Found<'_>> {
    manifests.iter().flat_map(|manifest| manifest.items.iter().map(move |item| Found { manifest, item }))
}

/// Returns the item called `name`, as `paper/item`.
///
/// # Errors
///
/// Returns an error for an unknown name, which lists the items of the paper, or the papers.
pub fn find<'a>(manifests: &'a [Manifest], name: &str) -> Result<Found<'a>, Failure> {
    let named = named(manifests, name)?;
    match named[..] {
        [found] if name.contains('/') => Ok(found),
        _ => Err(format!("`{name}` is a paper; an item of it is named {name}/ITEM").into()),
    }
}

/// Returns the items that `name` selects: one, all of a paper, or `all`.
///
/// # Errors
///
/// As for [`find`].
pub fn named<'a>(manifests: &'a [Manifest], name: &str) -> Result<Vec<Found<'a>>, Failure> {
    if name == "all" {
        return Ok(items(manifests).collect());
    }
    let (paper, wanted) = name.split_once('/').map_or((name, None), |(paper, item)| (paper, Some(item)));
    let manifest = manifests.iter().find(|manifest| manifest.name == paper).ok_or_else(|| {
        let papers: Vec<&str> = manifests.iter().map(|manifest| manifest.name.as_str()).collect();
        format!("there is no paper `{paper}`; there are {}, and `all`", papers.join(", "))
    })?;
    let all = || manifest.items.iter().map(|item| Found { manifest, item });
    let Some(wanted) = wanted else { return Ok(all().collect()) };
    let found: Vec<Found> = all().filter(|found| found.item.name == wanted).collect();
    if found.is_empty() {
        let names: Vec<&str> = manifest.items.iter().map(|item| item.name.as_str()).collect();
        return Err(format!("{paper} has no item `{wanted}`; it has {}", names.join(", ")).into());
    }
    Ok(found)
}

#[cfg(test)]
mod tests;
