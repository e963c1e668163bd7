//! A root seed from which components derive their own seeds by name, so that a new component does
//! not change the random numbers of existing ones.

use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Generator of all random components (Blackman and Vigna, 2021).
pub type Random = Xoshiro256PlusPlus;

/// A seed from which components derive their own seeds by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seed(pub u64);

impl Seed {
    /// Returns the seed of the component called `name`: FNV-1a over the name, started from this seed.
    ///
    /// Xoshiro's own seeding (SplitMix64) spreads nearby seeds, so a simple hash is enough here.
    pub fn derive(self, name: &str) -> Seed {
        let begin = 0xcbf2_9ce4_8422_2325 ^ self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Seed(
            name.bytes()
                .fold(begin, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)),
        )
    }

    /// Returns a generator started from this seed.
    pub fn random(self) -> Random {
        Random::seed_from_u64(self.0)
    }
}

/// Draws an integer uniformly from `0..bound`: the high half of a 128-bit product.
///
/// The bias is below `bound / 2^64`, far too small to affect a run, and there is no branch.
#[inline(always)]
pub fn random_below(random: &mut impl rand::RngCore, bound: u64) -> u64 {
    ((u128::from(random.next_u64()) * u128::from(bound)) >> 64) as u64
}
