//! What stands on what: layers and tenants by name, and the partition that each has of the layer below.

use super::device::ResolvedDevice;
use super::metadata_config;
use super::scenario::{LogConfig, Scenario};
use super::size::ByteSize;
use super::structure::{self, Ground};
use super::trim_config::TrimConfig;
use wearwell_base::config::ConfigError;

/// Shares that add up to 1 but for rounding.
const ROUNDING: f64 = 1e-9;

/// A resolved tree.
#[derive(Clone, Debug)]
pub struct Tree {
    /// The logs in the order of the scenario, then the FTL.
    pub layers: Vec<Node>,
    /// The tenants in the order of the scenario; one without a name where there is a single source of writes.
    pub tenants: Vec<Seat>,
}

/// A layer in the tree.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its name in the scenario, or what it is called without one.
    pub name: String,
    /// Where its settings stand in the scenario.
    pub key: String,
    /// What it stands on; `None` for the FTL, which stands on flash.
    pub seat: Option<Seat>,
    /// Pages that it shows above.
    pub logical_pages: u32,
    /// Pages that it has below, those beyond the last whole segment left out.
    pub physical_pages: u64,
    /// What stands on it, logs first, each in the order of the scenario.
    pub users: Vec<User>,
    /// Pages of its block or segment.
    pub block: u32,
    /// Pages of each user's partition, if the layer is divided.
    pub sizes: Option<Vec<u32>>,
}

/// Where a log or a tenant stands.
#[derive(Clone, Debug)]
pub struct Seat {
    /// Its own name.
    pub name: String,
    /// The layer below.
    pub on: usize,
    /// Its partition of that layer, if the layer is divided.
    pub partition: Option<usize>,
    /// The pages that it has there.
    pub pages: u32,
}

/// What stands on a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum User {
    /// The log of this number.
    Log(usize),
    /// The tenant of this number.
    Tenant(usize),
}

impl Node {
    /// Whether a log stands on it, alone or beside others.
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
    /// The FTL.
    pub fn ftl(&self) -> usize {
        self.layers.len() - 1
    }

    /// The layers, each after the one that it stands on.
    pub fn upwards(&self) -> Vec<usize> {
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

    /// The layer and those below it, as far as nobody else stands on them.
    ///
    /// The last one is divided, or is the FTL.
    pub fn alone_from(&self, layer: usize) -> Vec<usize> {
        let mut chain = vec![layer];
        let mut at = layer;
        while let Some(seat) = &self.layers[at].seat {
            at = seat.on;
            if self.layers[at].sizes.is_some() {
                break;
            }
            chain.push(at);
        }
        chain
    }

    /// Where a log or a tenant stands.
    pub fn seat(&self, user: User) -> &Seat {
        match user {
            User::Log(at) => self.layers[at].seat.as_ref().expect("a log stands on a layer"),
            User::Tenant(at) => &self.tenants[at],
        }
    }

    /// What the log `at` stands on.
    pub fn ground(&self, at: usize, page_bytes: u32) -> Ground {
        let seat = self.layers[at].seat.as_ref().expect("a log stands on a layer");
        Ground { pages: seat.pages, block: self.layers[seat.on].block, page_bytes }
    }

    /// The layer below the log `at`, if the log has a partition of it.
    pub fn lower(&self, at: usize, log: &LogConfig) -> Option<Lower> {
        let seat = self.layers[at].seat.as_ref().filter(|seat| seat.partition.is_some())?;
        let Node { logical_pages, block, .. } = self.layers[seat.on];
        Some(Lower { pages: logical_pages, block: if log.align == Some(false) { 1 } else { block } })
    }

    fn seat_mut(&mut self, user: User) -> &mut Seat {
        match user {
            User::Log(at) => self.layers[at].seat.as_mut().expect("a log stands on a layer"),
            User::Tenant(at) => &mut self.tenants[at],
        }
    }

    /// The share of the layer below that a log or a tenant has.
    pub fn share(&self, seat: &Seat) -> f64 {
        f64::from(seat.pages) / f64::from(self.layers[seat.on].logical_pages)
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

/// Fills in names, `on` and the sizes of all layers, and says where everything stands.
pub fn resolve(scenario: &mut Scenario, device: &ResolvedDevice) -> Result<Tree, ConfigError> {
    let mut tree = named(scenario)?;
    seat_logs(scenario, &mut tree)?;
    refuse_circles(&tree)?;
    seat_tenants(scenario, &mut tree)?;
    for at in 0..tree.layers.len() {
        let stands_here = |user: &User| tree.seat(*user).on == at;
        let logs = (0..scenario.log.len()).map(User::Log).filter(stands_here);
        let tenants = (0..tree.tenants.len()).map(User::Tenant).filter(stands_here);
        let users: Vec<User> = logs.chain(tenants).collect();
        if users.is_empty() {
            let Node { name, key, .. } = &tree.layers[at];
            return Err(ConfigError::new(
                key,
                format!("nothing writes to it; remove it, or give a tenant or a log `on = \"{name}\"`"),
            ));
        }
        tree.layers[at].users = users;
    }
    let ftl = tree.ftl();
    tree.layers[ftl].logical_pages = device.logical_pages;
    tree.layers[ftl].physical_pages = device.geometry.pages();
    let page_bytes = device.geometry.page_bytes;
    for at in tree.upwards() {
        if at == ftl {
            let zone_blocks = scenario.ftl.zones().map_or(1, |zones| zones.zone_blocks);
            tree.layers[at].block = device.geometry.pages_per_block.saturating_mul(zone_blocks);
        } else {
            size(&mut scenario.log[at], &mut tree, at, page_bytes)
                .map_err(|error| error.within(&tree.layers[at].key))?;
        }
        divide(scenario, &mut tree, at)?;
    }
    Ok(tree)
}

/// The layers by their names.
fn named(scenario: &mut Scenario) -> Result<Tree, ConfigError> {
    let ftl = scenario.ftl.name.get_or_insert_with(|| "ftl".into()).clone();
    let mut names = Vec::new();
    for (at, log) in scenario.log.iter_mut().enumerate() {
        names.push((log.name.get_or_insert_with(|| format!("log{at}")).clone(), format!("log[{at}]")));
    }
    names.push((ftl, "ftl".to_owned()));
    let node = |(name, key): &(String, String)| Node {
        name: name.clone(),
        key: key.clone(),
        seat: None,
        logical_pages: 0,
        physical_pages: 0,
        users: Vec::new(),
        block: 1,
        sizes: None,
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

fn seat_logs(scenario: &mut Scenario, tree: &mut Tree) -> Result<(), ConfigError> {
    for (at, log) in scenario.log.iter_mut().enumerate() {
        let on = log.on.get_or_insert_with(|| tree.layers[at + 1].name.clone()).clone();
        let on = tree.find(&on, &format!("log[{at}]"))?;
        let name = tree.layers[at].name.clone();
        tree.layers[at].seat = Some(Seat { name, on, partition: None, pages: 0 });
    }
    Ok(())
}

fn refuse_circles(tree: &Tree) -> Result<(), ConfigError> {
    for at in 0..tree.ftl() {
        let below = |layer: &usize| tree.layers[*layer].seat.as_ref().map(|seat| seat.on);
        let path: Vec<usize> = std::iter::successors(Some(at), below).take(tree.layers.len() + 1).collect();
        if let Some(back) = path.iter().skip(1).position(|&layer| layer == at) {
            let names: Vec<&str> =
                path[..=back + 1].iter().map(|&at| tree.layers[at].name.as_str()).collect();
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

fn seat_tenants(scenario: &mut Scenario, tree: &mut Tree) -> Result<(), ConfigError> {
    let carries_log =
        |at: usize| tree.layers.iter().any(|layer| layer.seat.as_ref().is_some_and(|seat| seat.on == at));
    let topmost: Vec<usize> = (0..tree.layers.len()).filter(|&at| !carries_log(at)).collect();
    let names: Vec<&str> = topmost.iter().map(|&at| tree.layers[at].name.as_str()).collect();
    let mut seats = Vec::new();
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
        seats.push(Seat { name, on, partition: None, pages: 0 });
    }
    if seats.is_empty() {
        let [top] = topmost[..] else {
            let problem = format!(
                "cannot be on several layers ({}); write `[[tenant]]` tables, one or more for each",
                names.join(", ")
            );
            let key = if scenario.trace.is_some() { "trace" } else { "workload" };
            return Err(ConfigError::new(key, problem));
        };
        seats.push(Seat { name: String::new(), on: top, partition: None, pages: 0 });
    }
    tree.tenants = seats;
    Ok(())
}

/// Works out what a layer shows above, by its structure and by what it has below.
fn size(log: &mut LogConfig, tree: &mut Tree, at: usize, page_bytes: u32) -> Result<(), ConfigError> {
    let ground = tree.ground(at, page_bytes);
    if log.other_structure().is_some() {
        let shown = structure::size(log, &ground)?;
        let node = &mut tree.layers[at];
        (node.logical_pages, node.physical_pages) = (shown.logical_pages, u64::from(ground.pages));
        node.block = shown.block;
        return Ok(());
    }
    match_segments(log, ground.block, page_bytes)?;
    let lower = tree.lower(at, log);
    let (logical, physical) = resolve_segments(log, ground.pages, lower, page_bytes)?;
    let segment = log.segment_size.expect("resolved just now");
    let node = &mut tree.layers[at];
    (node.logical_pages, node.physical_pages) = (logical, physical);
    node.block = (segment.0 / u64::from(page_bytes)) as u32;
    Ok(())
}

/// Turns a segment size in blocks of the layer below into bytes.
fn match_segments(log: &mut LogConfig, block: u32, page_bytes: u32) -> Result<(), ConfigError> {
    let Some(blocks) = log.segment_blocks.take() else { return Ok(()) };
    let bytes = u64::from(block) * u64::from(page_bytes) * u64::from(blocks);
    match log.segment_size {
        _ if blocks == 0 => Err(ConfigError::new("segment_blocks", "is 0; at least 1 makes a segment")),
        Some(_) => Err(ConfigError::new("segment_blocks", "stands beside `segment_size`; give one of them")),
        None => {
            log.segment_size = Some(ByteSize(bytes));
            Ok(())
        }
    }
}

/// Logical and physical pages of a log on `pages_below` pages, a partition of `lower` if there is one.
fn resolve_segments(
    log: &mut LogConfig,
    pages_below: u32,
    lower: Option<Lower>,
    page_bytes: u32,
) -> Result<(u32, u64), ConfigError> {
    let segment = log.segment_size.ok_or_else(|| {
        ConfigError::new("segment_size", "is missing; a stacked log needs it, for example \"2 MiB\"")
    })?;
    let page_bytes = u64::from(page_bytes);
    let segment_pages = segment.0 / page_bytes;
    if segment_pages == 0 || segment.0 % page_bytes != 0 || segment_pages > u64::from(pages_below) {
        let below = ByteSize(u64::from(pages_below) * page_bytes);
        let mut problem = format!(
            "is {segment}; it must be a multiple of the page of {page_bytes} bytes and fit into the {below} below"
        );
        let share = lower.map(|lower| lower.least_share(segment_pages)).filter(|share| *share <= 1.0);
        if let Some(share) = share.filter(|_| segment_pages > u64::from(pages_below)) {
            problem += &format!(", or `share` must be at least {share}");
        }
        return Err(ConfigError::new("segment_size", problem));
    }
    let spare = *log.spare_factor.get_or_insert(0.1);
    if !(spare > 0.0 && spare < 1.0) {
        return Err(ConfigError::new("spare_factor", format!("is {spare}; it must be above 0 and below 1")));
    }
    log.trim.get_or_insert(TrimConfig::Plain(true));
    if let Some(plan) = metadata_config::plan(log, segment_pages as u32, pages_below, page_bytes as u32)? {
        return Ok((metadata_config::logical_pages(&plan, spare), u64::from(plan.capacity())));
    }
    let pages = u64::from(pages_below) / segment_pages * segment_pages;
    Ok(((pages as f64 * (1.0 - spare)).round() as u32, pages))
}

/// The layer of which another has a partition.
#[derive(Clone, Copy, Debug)]
pub struct Lower {
    pages: u32,
    /// Pages of which partitions have a whole number.
    block: u32,
}

impl Lower {
    /// The smallest share that holds `pages`, to four digits.
    pub fn least_share(self, pages: u64) -> f64 {
        let whole = pages.next_multiple_of(u64::from(self.block));
        (whole as f64 / f64::from(self.pages) * 1e4).ceil() / 1e4
    }
}

/// Gives each user of the layer its pages.
///
/// A partition ends on a whole block (segment) of the layer if it is at least as large as one; the last one of shares
/// that add up to 1 ends with the layer.
fn divide(scenario: &Scenario, tree: &mut Tree, at: usize) -> Result<(), ConfigError> {
    let Node { name, users, logical_pages, block, .. } = tree.layers[at].clone();
    let wishes: Vec<(Option<f64>, Option<bool>)> = users
        .iter()
        .map(|user| match user {
            User::Log(at) => (scenario.log[*at].share, scenario.log[*at].align),
            User::Tenant(at) => scenario.tenant.get(*at).map_or((None, None), |it| (it.share, it.align)),
        })
        .collect();
    let shares = shares(&name, &users, &wishes)?;
    if shares[..] == [1.0] {
        tree.seat_mut(users[0]).pages = logical_pages;
        return Ok(());
    }
    let (mut sizes, mut start, mut sum) = (Vec::new(), 0, 0.0);
    for ((index, &user), &share) in users.iter().enumerate().zip(&shares) {
        sum += share;
        let mut end = (sum * f64::from(logical_pages)).round() as u32;
        if sum >= 1.0 - ROUNDING {
            end = logical_pages;
        } else if wishes[index].1 != Some(false) && end.saturating_sub(start) >= block {
            end -= end % block;
        }
        if end <= start {
            let problem = format!(
                "is {share}, less than a page of {name}; it must be at least {}",
                Lower { pages: logical_pages, block: 1 }.least_share(1)
            );
            return Err(ConfigError::new(format!("{}.share", user.key()), problem));
        }
        let seat = tree.seat_mut(user);
        (seat.partition, seat.pages) = (Some(index), end - start);
        sizes.push(end - start);
        start = end;
    }
    tree.layers[at].sizes = Some(sizes);
    Ok(())
}

/// The share of each user of the layer `name`.
fn shares(
    name: &str,
    users: &[User],
    wishes: &[(Option<f64>, Option<bool>)],
) -> Result<Vec<f64>, ConfigError> {
    let refuse =
        |user: User, problem: String| Err(ConfigError::new(format!("{}.share", user.key()), problem));
    // Sums of decimal fractions are shown as they were meant.
    let shown = |share: f64| (share * 1e6).round() / 1e6;
    let mut given = 0.0;
    for (&user, (share, _)) in users.iter().zip(wishes) {
        let Some(share) = *share else { continue };
        if !(share > 0.0 && share <= 1.0) {
            return refuse(user, format!("is {share}; it must be above 0 and at most 1"));
        }
        if given + share > 1.0 + ROUNDING {
            let left = shown(1.0 - given);
            let advice =
                if left > 0.0 { format!("at most {left} is left") } else { "nothing is left".into() };
            return refuse(
                user,
                format!("is {share}, which makes {} of {name}; {advice}", shown(given + share)),
            );
        }
        given += share;
    }
    let missing = users.iter().zip(wishes).find(|(_, (share, _))| share.is_none());
    match missing {
        Some(_) if users.len() == 1 => Ok(vec![1.0]),
        Some((&user, _)) => {
            let left = shown(1.0 - given);
            let advice = if left > 0.0 {
                format!("{left} of it is left")
            } else {
                "nothing of it is left, so the others must have less".into()
            };
            refuse(user, format!("is missing; {} stand on {name}, and {advice}", users.len()))
        }
        None => Ok(wishes.iter().filter_map(|(share, _)| *share).collect()),
    }
}
