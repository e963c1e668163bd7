//! Map from the numbers of inode pages to their locations.

use crate::layout::PageId;
use std::collections::BTreeSet;

/// Inode pages by number.
#[derive(Debug, Default)]
pub(super) struct InodePages {
    pages: Vec<Option<PageId>>,
    /// Unused numbers below the largest used number.
    missing: BTreeSet<u32>,
}

impl InodePages {
    /// Returns the inode page with this number, if it exists.
    pub fn page(&self, number: u32) -> Option<PageId> {
        self.pages.get(number as usize).copied().flatten()
    }

    /// Assigns a number to an inode page.
    pub fn put(&mut self, number: u32, page: PageId) {
        while self.end() <= number {
            self.missing.insert(self.end());
            self.pages.push(None);
        }
        self.missing.remove(&number);
        self.pages[number as usize] = Some(page);
    }

    /// Releases the number of an inode page.
    pub fn take(&mut self, number: u32) {
        self.pages[number as usize] = None;
        self.missing.insert(number);
        while self.pages.last() == Some(&None) {
            self.pages.pop();
            self.missing.remove(&self.end());
        }
    }

    /// Returns the lowest unused number.
    pub fn first_missing(&self) -> u32 {
        self.missing.first().copied().unwrap_or(self.end())
    }

    /// Returns the number after the largest used number.
    pub fn end(&self) -> u32 {
        self.pages.len() as u32
    }

    /// Returns the used numbers.
    pub fn numbers(&self) -> impl Iterator<Item = u32> {
        (0..).zip(&self.pages).filter(|(_, page)| page.is_some()).map(|(number, _)| number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn pages_keep_assigned_numbers(puts: Vec<(u8, bool)>) {
            let (mut pages, mut plain) = (InodePages::default(), BTreeMap::new());
            for (number, is_put) in puts {
                let number = u32::from(number) % 70;
                if is_put {
                    let page = PageId(number + 1000);
                    pages.put(number, page);
                    plain.insert(number, page);
                } else if plain.remove(&number).is_some() {
                    pages.take(number);
                }
                prop_assert!((0..80).all(|number| pages.page(number) == plain.get(&number).copied()));
                let first = (0..).find(|number| !plain.contains_key(number));
                prop_assert_eq!(Some(pages.first_missing()), first);
                prop_assert_eq!(pages.end(), plain.last_key_value().map_or(0, |(number, _)| number + 1));
                prop_assert!(pages.numbers().eq(plain.keys().copied()));
            }
        }
    }
}
