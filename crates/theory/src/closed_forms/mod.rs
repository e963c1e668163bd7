//! Write amplification in closed form, or as the root of a scalar equation.
//!
//! All are limits for very many blocks (`N` to infinity). `b` is the pages of a block, `rho` the load, `S_f = 1 - rho`
//! the spare factor, `E` the host writes between two victims; in all cases the write amplification is `b / E`.
//!
//! | form | cleaning | writes | blocks |
//! |---|---|---|---|
//! | [`random`] | a random victim | any | any size |
//! | [`fifo`] | in the order of writing | classes | any size |
//! | [`greedy`] | fewest valid pages | uniform | any size |
//! | [`greedy_smooth`] | the same, smoothed over levels | uniform | large |
//! | [`greedy_large_blocks`] | the same, at `b` to infinity | uniform | infinite |
//! | [`windowed`] | fewest valid pages among the oldest | uniform | any size |
//! | [`separated`] | any of these, class by class | classes | any size |
//! | [`foresight`] | anything that knows the future: a lower bound | classes | large |

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
pub use foresight::{Foresight, foresight};
pub use greedy::greedy;
pub use greedy_smooth::{greedy_large_blocks, greedy_smooth};
pub use random::random;
pub use separated::{ClassShare, OneClass, Separated, separated};
pub use windowed::windowed;
