//! Tree of layers and tenants by name, and the partition that each has of the layer below.

use super::types::Scenario;
use crate::layers::{LayerPlan, LowerLayer, WholeLayer};
use wearwell_base::config::ConfigError;

/// Tolerance for shares that add up to 1.
const SHARE_TOLERANCE: f64 = 1e-9;

/// A resolved tree.
#[derive(Clone, Debug)]
pub struct Tree {
    /// The logs in the order of the scenario, then the FTL.
    pub layers: Vec<TreeLayer>,
    /// The tenants in the order of the scenario; a single tenant without a name if there is a single source of writes.
    pub tenants: Vec<Attachment>,
}

/// A layer in the tree.
#[derive(Clone, Debug)]
pub struct TreeLayer {
    /// Name in the scenario, or the default name.
    pub name: String,
    /// Key of the layer's settings in the scenario.
    pub key: String,
    /// Attachment to the layer below; `None` for the FTL, which is on flash.
    pub below: Option<Attachment>,
    /// Pages that the layer shows above.
    pub logical_pages: u32,
    /// Pages that the layer has below, without those beyond the last whole segment.
    pub physical_pages: u64,
    /// Pages that the layer keeps for itself, in addition to those it shows.
    pub internal_pages: u32,
    /// Users of the layer: logs first, then tenants, each in scenario order.
    pub users: Vec<User>,
    /// Pages of a block or segment of the layer.
    pub block_pages: u32,
    /// Pages of each user's partition, if the layer is divided.
    pub partitions: Option<Vec<u32>>,
}

/// Position of a log or a tenant in the tree: the layer below, and the pages of that layer that it has.
#[derive(Clone, Debug)]
pub struct Attachment {
    /// Name of the log or tenant.
    pub name: String,
    /// The layer below.
    pub layer_index: usize,
    /// Number of the partition of that layer, if the layer is divided.
    pub partition: Option<usize>,
    /// Pages of that layer that the log or tenant has.
    pub pages: u32,
}

/// User of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum User {
    /// The log of this number.
    Log(usize),
    /// The tenant of this number.
    Tenant(usize),
}

impl TreeLayer {
    /// True if a log is among the layer's users.
    pub fn has_log_above(&self) -> bool {
        self.users.iter().any(|user| matches!(user, User::Log(_)))
    }
}

impl User {
    fn key(self) -> String {
        match self {
            User::Log(at) => format!("log[{at}]"),
            User::Tenant(at) => format!("tenant[{at}]"),
        }
    }
}

impl Tree {
    /// Returns the index of the FTL.
    pub fn ftl(&self) -> usize {
        self.layers.len() - 1
    }

    /// Returns the layers, each after the layer that it is on.
    pub fn bottom_up(&self) -> Vec<usize> {
        let mut order = vec![self.ftl()];
        let mut next = 0;
        while next < order.len() {
            let users = &self.layers[order[next]].users;
            order.extend(users.iter().filter_map(|user| match user {
                User::Log(at) => Some(*at),
                User::Tenant(_) => None,
            }));
            next += 1;
        }
        order
    }

    /// Returns the layer and the layers below it, down to the first layer with several users.
    ///
    /// The last of these layers is divided, or is the FTL.
    pub fn exclusive_chain(&self, layer: usize) -> Vec<usize> {
        let mut chain = vec![layer];
        let mut at = layer;
        while let Some(below) = &self.layers[at].below {
            at = below.layer_index;
            if self.layers[at].partitions.is_some() {
                break;
            }
            chain.push(at);
        }
        chain
    }

    /// Returns the attachment of a log or a tenant.
    pub fn attachment(&self, user: User) -> &Attachment {
        match user {
            User::Log(at) => self.layers[at].below.as_ref().expect("a log stands on a layer"),
            User::Tenant(at) => &self.tenants[at],
        }
    }

    /// Returns the layer below the log `at`. If the log has a partition of that layer, `align` determines if it ends on
    /// a whole block.
    pub(crate) fn lower_layer(&self, at: usize, align: Option<bool>, page_bytes: u32) -> LowerLayer {
        let below = self.layers[at].below.as_ref().expect("a log stands on a layer");
        let TreeLayer { logical_pages, block_pages, .. } = self.layers[below.layer_index];
        let unit = if align == Some(false) { 1 } else { block_pages };
        let whole = WholeLayer { pages: logical_pages, block_pages: unit };
        LowerLayer {
            pages: below.pages,
            block_pages,
            page_bytes,
            is_zoned: false,
            whole: below.partition.map(|_| whole),
        }
    }

    fn attachment_mut(&mut self, user: User) -> &mut Attachment {
        match user {
            User::Log(at) => self.layers[at].below.as_mut().expect("a log stands on a layer"),
            User::Tenant(at) => &mut self.tenants[at],
        }
    }

    /// Returns the fraction of the layer below that a log or a tenant has.
    pub fn share(&self, attachment: &Attachment) -> f64 {
        f64::from(attachment.pages) / f64::from(self.layers[attachment.layer_index].logical_pages)
    }

    fn find(&self, name: &str, key: &str) -> Result<usize, ConfigError> {
        self.layers.iter().position(|layer| layer.name == name).ok_or_else(|| {
            let names: Vec<&str> = self.layers.iter().map(|layer| layer.name.as_str()).collect();
            ConfigError::new(
                format!("{key}.on"),
                format!("\"{name}\" is no layer; one of {}", names.join(", ")),
            )
        })
    }
}

impl Tree {
    /// Fills in names and `layer_index`, and builds the tree; sizes are still open.
    pub(crate) fn of(scenario: &mut Scenario) -> Result<Tree, ConfigError> {
        let mut tree = unconnected_tree(scenario)?;
        attach_layers(scenario, &mut tree)?;
        refuse_cycles(&tree)?;
        attach_tenants(scenario, &mut tree)?;
        for at in 0..tree.layers.len() {
            let is_user = |user: &User| tree.attachment(*user).layer_index == at;
            let logs = (0..scenario.log.len()).map(User::Log).filter(is_user);
            let tenants = (0..tree.tenants.len()).map(User::Tenant).filter(is_user);
            let users: Vec<User> = logs.chain(tenants).collect();
            if users.is_empty() {
                let TreeLayer { name, key, .. } = &tree.layers[at];
                return Err(ConfigError::new(
                    key,
                    format!("nothing writes to it; remove it, or give a tenant or a log `on = \"{name}\"`"),
                ));
            }
            tree.layers[at].users = users;
        }
        Ok(tree)
    }

    /// Sets the sizes of layer `at`, and the pages of each of its users.
    pub(crate) fn set_size<S>(
        &mut self,
        scenario: &Scenario,
        at: usize,
        plan: &LayerPlan<S>,
    ) -> Result<(), ConfigError> {
        let layer = &mut self.layers[at];
        (layer.logical_pages, layer.physical_pages) = (plan.logical_pages, plan.physical_pages);
        (layer.block_pages, layer.internal_pages) = (plan.block_pages, plan.internal_pages);
        divide_layer(scenario, self, at)
    }
}

/// Fills in the names of the layers and returns a tree without connections.
fn unconnected_tree(scenario: &mut Scenario) -> Result<Tree, ConfigError> {
    let ftl = scenario.ftl.common.name.get_or_insert_with(|| "ftl".into()).clone();
    let mut names = Vec::new();
    for (at, log) in scenario.log.iter_mut().enumerate() {
        names.push((log.common.name.get_or_insert_with(|| format!("log{at}")).clone(), format!("log[{at}]")));
    }
    names.push((ftl, "ftl".to_owned()));
    let node = |(name, key): &(String, String)| TreeLayer {
        name: name.clone(),
        key: key.clone(),
        below: None,
        logical_pages: 0,
        physical_pages: 0,
        internal_pages: 0,
        users: Vec::new(),
        block_pages: 1,
        partitions: None,
    };
    let layers = names.iter().map(node).collect();
    for (at, tenant) in scenario.tenant.iter_mut().enumerate() {
        let name = tenant.name.get_or_insert_with(|| format!("tenant{at}")).clone();
        names.push((name, format!("tenant[{at}]")));
    }
    for (at, (name, key)) in names.iter().enumerate() {
        if let Some((_, other)) = names[..at].iter().find(|(other, _)| other == name) {
            let problem = format!("\"{name}\" is also the name of {other}; give one of them another");
            return Err(ConfigError::new(format!("{key}.name"), problem));
        }
    }
    Ok(Tree { layers, tenants: Vec::new() })
}

fn attach_layers(scenario: &mut Scenario, tree: &mut Tree) -> Result<(), ConfigError> {
    for (at, log) in scenario.log.iter_mut().enumerate() {
        let on = log.common.on.get_or_insert_with(|| tree.layers[at + 1].name.clone()).clone();
        let on = tree.find(&on, &format!("log[{at}]"))?;
        let name = tree.layers[at].name.clone();
        tree.layers[at].below = Some(Attachment { name, layer_index: on, partition: None, pages: 0 });
    }
    Ok(())
}

fn refuse_cycles(tree: &Tree) -> Result<(), ConfigError> {
    for at in 0..tree.ftl() {
        let below = |layer: &usize| tree.layers[*layer].below.as_ref().map(|below| below.layer_index);
        let path: Vec<usize> = std::iter::successors(Some(at), below).take(tree.layers.len() + 1).collect();
        if let Some(cycle_end) = path.iter().skip(1).position(|&layer| layer == at) {
            let names: Vec<&str> =
                path[..=cycle_end + 1].iter().map(|&at| tree.layers[at].name.as_str()).collect();
            let problem = format!(
                "makes a circle: {}; one of them must stand on {}",
                names.join(" on "),
                tree.layers[tree.ftl()].name
            );
            return Err(ConfigError::new(format!("log[{at}].on"), problem));
        }
    }
    Ok(())
}

fn attach_tenants(scenario: &mut Scenario, tree: &mut Tree) -> Result<(), ConfigError> {
    let has_layer_above = |at: usize| {
        tree.layers.iter().any(|layer| layer.below.as_ref().is_some_and(|below| below.layer_index == at))
    };
    let topmost: Vec<usize> = (0..tree.layers.len()).filter(|&at| !has_layer_above(at)).collect();
    let names: Vec<&str> = topmost.iter().map(|&at| tree.layers[at].name.as_str()).collect();
    let mut attachments = Vec::new();
    for (at, tenant) in scenario.tenant.iter_mut().enumerate() {
        let key = format!("tenant[{at}]");
        let on = match (&tenant.on, &topmost[..]) {
            (Some(on), _) => tree.find(on, &key)?,
            (None, [top]) => *top,
            (None, _) => {
                let problem = format!("is missing; several layers are topmost: {}", names.join(", "));
                return Err(ConfigError::new(format!("{key}.on"), problem));
            }
        };
        tenant.on = Some(tree.layers[on].name.clone());
        let name = tenant.name.clone().expect("named before");
        attachments.push(Attachment { name, layer_index: on, partition: None, pages: 0 });
    }
    if attachments.is_empty() {
        let [top] = topmost[..] else {
            let problem = format!(
                "cannot be on several layers ({}); write `[[tenant]]` tables, one or more for each",
                names.join(", ")
            );
            let key = if scenario.trace.is_some() { "trace" } else { "workload" };
            return Err(ConfigError::new(key, problem));
        };
        attachments.push(Attachment { name: String::new(), layer_index: top, partition: None, pages: 0 });
    }
    tree.tenants = attachments;
    Ok(())
}

/// Sets the pages of each user of the layer.
///
/// A partition ends on a whole block (segment) of the layer if the partition is at least as large as a block. If the
/// shares add up to 1, the last partition ends with the layer.
fn divide_layer(scenario: &Scenario, tree: &mut Tree, at: usize) -> Result<(), ConfigError> {
    let TreeLayer { name, users, logical_pages, block_pages, .. } = tree.layers[at].clone();
    let requested: Vec<(Option<f64>, Option<bool>)> = users
        .iter()
        .map(|user| match user {
            User::Log(at) => (scenario.log[*at].common.share, scenario.log[*at].common.align),
            User::Tenant(at) => scenario.tenant.get(*at).map_or((None, None), |it| (it.share, it.align)),
        })
        .collect();
    let shares = resolve_shares(&name, &users, &requested)?;
    if shares[..] == [1.0] {
        tree.attachment_mut(users[0]).pages = logical_pages;
        return Ok(());
    }
    let (mut sizes, mut start, mut sum) = (Vec::new(), 0, 0.0);
    for ((index, &user), &share) in users.iter().enumerate().zip(&shares) {
        sum += share;
        let mut end = (sum * f64::from(logical_pages)).round() as u32;
        if sum >= 1.0 - SHARE_TOLERANCE {
            end = logical_pages;
        } else if requested[index].1 != Some(false) && end.saturating_sub(start) >= block_pages {
            end -= end % block_pages;
        }
        if end <= start {
            let problem = format!(
                "is {share}, less than a page of {name}; it must be at least {}",
                WholeLayer { pages: logical_pages, block_pages: 1 }.min_share(1)
            );
            return Err(ConfigError::new(format!("{}.share", user.key()), problem));
        }
        let attachment = tree.attachment_mut(user);
        (attachment.partition, attachment.pages) = (Some(index), end - start);
        sizes.push(end - start);
        start = end;
    }
    tree.layers[at].partitions = Some(sizes);
    Ok(())
}

/// Returns the share of each user of the layer `name`.
fn resolve_shares(
    name: &str,
    users: &[User],
    requested: &[(Option<f64>, Option<bool>)],
) -> Result<Vec<f64>, ConfigError> {
    let refuse =
        |user: User, problem: String| Err(ConfigError::new(format!("{}.share", user.key()), problem));
    // Rounds sums of decimal fractions for display.
    let rounded = |share: f64| (share * 1e6).round() / 1e6;
    let mut given = 0.0;
    for (&user, (share, _)) in users.iter().zip(requested) {
        let Some(share) = *share else { continue };
        if !(share > 0.0 && share <= 1.0) {
            return refuse(user, format!("is {share}; it must be above 0 and at most 1"));
        }
        if given + share > 1.0 + SHARE_TOLERANCE {
            let remaining = rounded(1.0 - given);
            let advice = if remaining > 0.0 {
                format!("at most {remaining} is left")
            } else {
                "nothing is left".into()
            };
            return refuse(
                user,
                format!("is {share}, which makes {} of {name}; {advice}", rounded(given + share)),
            );
        }
        given += share;
    }
    let missing = users.iter().zip(requested).find(|(_, (share, _))| share.is_none());
    match missing {
        Some(_) if users.len() == 1 => Ok(vec![1.0]),
        Some((&user, _)) => {
            let remaining = rounded(1.0 - given);
            let advice = if remaining > 0.0 {
                format!("{remaining} of it is left")
            } else {
                "nothing of it is left, so the others must have less".into()
            };
            refuse(user, format!("is missing; {} stand on {name}, and {advice}", users.len()))
        }
        None => Ok(requested.iter().filter_map(|(share, _)| *share).collect()),
    }
}
