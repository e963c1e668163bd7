//! Number of power cuts in each test, printed when the thread of the test ends if `WEARWELL_CUTS` is set.

use std::cell::RefCell;
use std::thread;

thread_local! {
    /// Counts of the current test. Normally, each test has its own thread; if only one test runs at a time, the tests
    /// share a thread.
    static CUT_COUNTS: RefCell<Option<CutCounts>> = const { RefCell::new(None) };
}

struct CutCounts {
    /// Name of the test.
    name: String,
    cuts: u64,
    /// Number of images after the cuts that were mounted and checked.
    images: u64,
}

impl Drop for CutCounts {
    fn drop(&mut self) {
        if std::env::var_os("WEARWELL_CUTS").is_none() {
            return;
        }
        println!("{}: {} cuts, {} images after them", self.name, self.cuts, self.images);
    }
}

/// Counts a cut with `images` images.
pub fn count(images: usize) {
    CUT_COUNTS.with_borrow_mut(|counts| {
        let counts = counts.get_or_insert_with(|| {
            let name = thread::current().name().unwrap_or("?").to_owned();
            CutCounts { name, cuts: 0, images: 0 }
        });
        counts.cuts += 1;
        counts.images += images as u64;
    });
}
