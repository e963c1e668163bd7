//! How many cuts a test made, told when its thread ends if `WEARWELL_CUTS` asks for more than usual.

use std::cell::RefCell;
use std::thread;

thread_local! {
    /// A test has a thread of its own, or all of them have one, where only one runs at a time.
    static TALLY: RefCell<Option<Tally>> = const { RefCell::new(None) };
}

struct Tally {
    /// Of the test.
    name: String,
    cuts: u64,
    /// What the cuts may have left, each of which was mounted and looked at.
    images: u64,
}

impl Drop for Tally {
    fn drop(&mut self) {
        if std::env::var_os("WEARWELL_CUTS").is_none() {
            return;
        }
        println!("{}: {} cuts, {} images after them", self.name, self.cuts, self.images);
    }
}

/// Counts a cut that may have left `images`.
pub fn count(images: usize) {
    TALLY.with_borrow_mut(|tally| {
        let tally = tally.get_or_insert_with(|| {
            let name = thread::current().name().unwrap_or("?").to_owned();
            Tally { name, cuts: 0, images: 0 }
        });
        tally.cuts += 1;
        tally.images += images as u64;
    });
}
