//! Consistency check of a cache, for tests and for runs with checks.

use super::cache::MapCache;
use super::lists::{DIRTY, NONE, Ring, follow};
use crate::units::Lpn;

/// Walks through a ring from its anchor. Returns its nodes, or an error if the ring does not close or its directions
/// disagree.
fn walk(ring: &impl Ring, anchor: u32, max_nodes: usize, name: &str) -> Result<Vec<u32>, String> {
    let mut found = Vec::new();
    let mut at = anchor;
    loop {
        let after = ring.neighbours(at).after;
        let back = ring.neighbours(after).before;
        if back != at {
            return Err(format!("{name}: {after} follows {at}, but {back} is before it"));
        }
        if after == anchor {
            return Ok(found);
        }
        found.push(after);
        if found.len() > max_nodes {
            return Err(format!("{name}: more than {max_nodes} nodes"));
        }
        at = after;
    }
}

fn check_equal(what: &str, counted: usize, recorded: usize) -> Result<(), String> {
    if counted == recorded { Ok(()) } else { Err(format!("{what}: {counted} counted, {recorded} kept")) }
}

impl MapCache {
    /// Checks lists, chains, index and counts; the error describes the disagreement. Takes time and memory
    /// proportional to the cache and the translation pages.
    pub fn check(&self) -> Result<(), String> {
        let (anchor, capacity) = (self.anchor(), self.capacity as usize);
        let mut used = walk(&self.queue, anchor, capacity, "the queue")?;
        check_equal("entries in the queue", used.len(), self.len as usize)?;
        check_equal("entries in the index", self.index.count(), self.len as usize)?;
        for &node in &used {
            let page = self.node(node).page;
            if self.index.find(page) != Some(node) {
                return Err(format!("page {page} of node {node} is found at {:?}", self.index.find(page)));
            }
        }
        used.sort_unstable();
        check_equal("entries in chains", self.count_chained(&used)?, used.len())?;
        let mut dirty: Vec<u32> =
            used.iter().copied().filter(|&node| self.node(node).flags & DIRTY != 0).collect();
        check_equal("dirty entries", dirty.len(), self.dirty as usize)?;
        let mut ordered = walk(&self.write_order, anchor, capacity, "the order of writes")?;
        ordered.sort_unstable();
        dirty.sort_unstable();
        if ordered != dirty {
            return Err("the order of writes has other entries than those that are dirty".to_owned());
        }
        let free =
            follow(self.first_free, NONE, |node| self.node(node).queue.after).take(capacity + 1).count();
        check_equal("free nodes", free, capacity - used.len())
    }

    /// Returns the number of entries in the chains of translation pages. All of them must be in `used` and in the
    /// right chain.
    fn count_chained(&self, used: &[u32]) -> Result<usize, String> {
        let (anchor, mut count) = (self.anchor(), 0);
        for translation_page in 0..self.chains.heads.len() as u32 {
            let mut before = anchor;
            for node in self.chains.nodes(&self.queue.0, translation_page).take(used.len() + 1) {
                let page = Lpn(self.node(node).page);
                let is_right = used.binary_search(&node).is_ok()
                    && self.translation_page_of(page.0) == translation_page
                    && self.node(node).chain.before == before;
                if !is_right {
                    return Err(format!("node {node} of page {} in chain {translation_page}", page.0));
                }
                before = node;
                count += 1;
            }
        }
        Ok(count)
    }
}
