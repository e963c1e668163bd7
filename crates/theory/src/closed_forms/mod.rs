//! Write amplification in closed form, or as the root of a scalar equation.
//!
//! All formulas are limits for very many blocks (`N` to infinity). `b` is the number of pages per block, `rho` the
//! load, `S_f = 1 - rho` the spare factor, and `E` the number of host writes between two victims. The write
//! amplification is always `b / E`.
//!
//! | formula | cleaning | writes | blocks |
//! |---|---|---|---|
//! | [`random`] | a random victim | any | any size |
//! | [`fifo`] | in the order of writing | classes | any size |
//! | [`greedy`] | fewest valid pages | uniform | any size |
//! | [`greedy_smooth`] | fewest valid pages, smoothed over levels | uniform | large |
//! | [`greedy_large_blocks`] | fewest valid pages, at `b` to infinity | uniform | infinite |
//! | [`windowed`] | fewest valid pages among the oldest | uniform | any size |
//! | [`separated`] | any of these, applied to each class separately | classes | any size |
//! | [`offline_bound`] | any policy, even with knowledge of the future: a lower bound | classes | large |

mod excess;
mod fifo;
mod foresight;
mod greedy;
mod greedy_smooth;
mod lambert;
mod random;
mod separated;
mod windowed;

pub use fifo::{fifo, fifo_copied_shares};
pub use foresight::{OfflineBound, offline_bound};
pub use greedy::greedy;
pub use greedy_smooth::{greedy_large_blocks, greedy_smooth};
pub use random::random;
pub use separated::{ClassCleaning, ClassShare, SeparatedResult, separated};
pub use windowed::windowed;
