//! Settings that need something of another layer: refused where it is missing, or said in the result where it is only
//! looked at.

use super::result::LayerResult;
use super::scenario::{LogConfig, Scenario};
use super::structure::StructureConfig;
use super::tree::{Tree, User};
use wearwell_base::config::ConfigError;
use wearwell_engine::layer::{Abilities, Ability};

/// A layer that a log stands on.
pub(super) struct Below<'a> {
    pub name: &'a str,
    /// What it can.
    pub can: Abilities,
    /// Whether it is a zoned drive.
    pub is_zoned: bool,
}

/// Refuses settings of `log` that need what the layer below has not.
pub(super) fn require_below(log: &LogConfig, below: &Below<'_>) -> Result<(), ConfigError> {
    let (named, can) = (format!("`{}`", below.name), below.can);
    if matches!(log.other_structure(), Some(StructureConfig::Sparse(_))) {
        can.require(Ability::AtomicGroups, &named, "structure")?;
    }
    if log.other_structure().is_none() && log.victim.looks_below() {
        can.require(Ability::LeftValid, &named, "victim.weight")?;
        if below.is_zoned {
            let problem = format!(
                "weighs what a trim leaves valid below, and {named} resets zones as a whole, so that nothing is left; use 0, or \
                 d_choices"
            );
            return Err(ConfigError::new("victim.weight", problem));
        }
    }
    Ok(())
}

/// Refuses to wait for logs above where none cleans.
pub(super) fn check_deferral(scenario: &Scenario, tree: &Tree) -> Result<(), ConfigError> {
    let config = |at: usize| scenario.log.get(at).unwrap_or(&scenario.ftl);
    let deaf = |&at: &usize| config(at).free_blocks_deferred.is_some() && !hears_cleaning(scenario, tree, at);
    match (0..tree.layers.len()).find(deaf) {
        Some(at) => {
            let key = format!("{}.free_blocks_deferred", tree.layers[at].key);
            let problem = "waits while a log above cleans, and above this layer is none that does: it needs a log or a merge \
                           tree that stands on it; leave it out";
            Err(ConfigError::new(key, problem))
        }
        None => Ok(()),
    }
}

/// Whether anything that stands on the layer tells it when it cleans: a log or a merge tree does, and what has no cleaning of its
/// own hands on what it hears.
fn hears_cleaning(scenario: &Scenario, tree: &Tree, at: usize) -> bool {
    tree.layers[at].users.iter().any(|user| match *user {
        User::Tenant(_) => false,
        User::Log(log) => match scenario.log[log].other_structure() {
            None | Some(StructureConfig::Lsm(_) | StructureConfig::Silt(_)) => true,
            Some(_) => hears_cleaning(scenario, tree, log),
        },
    })
}

/// What was asked for and cannot be here, said in the result.
pub(super) fn notes(scenario: &Scenario, layers: &[LayerResult]) -> Vec<String> {
    let mut notes: Vec<String> = missing_attribution(layers).collect();
    if scenario.ftl.victim.looks_below() {
        notes.push("ftl: `completing` weighs what would be left in a layer below, and below is flash: it is `d_choices` here".into());
    }
    notes
}

/// Says of each divided layer that does not tell whose pages are moved why it does not.
fn missing_attribution(layers: &[LayerResult]) -> impl Iterator<Item = String> + '_ {
    let silent =
        |layer: &&LayerResult| layer.partitions.iter().any(|partition| partition.moved_owned.is_none());
    layers.iter().filter(silent).map(|layer| {
        let why = match layer.dedup {
            Some(_) => "equal pages of several users are stored once, and moving one is nobody's alone",
            None => "it moves none itself, and the layer below knows it as one user among others",
        };
        format!("{}: whose pages cleaning moves is not told: {why}", layer.name)
    })
}
