//! Weighted choice among many alternatives with one random number (alias method: Walker 1977; Vose's set-up, 1991).

/// Alias table that turns a uniform 64-bit number into an index with the given weights.
///
/// Replaces `rand`'s `WeightedAliasIndex`, which draws twice and branches: a choice here is one multiplication
/// without a branch, which accounts for most of the speed of the Zipf sampler.
#[derive(Clone, Debug)]
pub(super) struct Alias {
    slots: Vec<Slot>,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    /// Draws below this threshold select the slot itself.
    threshold: u64,
    /// Index selected by the other draws.
    other: u32,
}

impl Alias {
    /// Builds the table for weights that are finite, not negative and not all zero.
    pub fn new(weights: &[f64]) -> Self {
        let scale = weights.len() as f64 / weights.iter().sum::<f64>();
        let mut left: Vec<f64> = weights.iter().map(|weight| weight * scale).collect();
        let mut slots: Vec<Slot> =
            (0..weights.len() as u32).map(|own| Slot { threshold: u64::MAX, other: own }).collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) = (0..left.len()).partition(|&i| left[i] < 1.0);
        // Fill each small slot from a large one. Slots left over because of rounding select themselves.
        while let (Some(&donor), Some(short)) = (large.last(), small.pop()) {
            slots[short] = Slot { threshold: threshold(left[short]), other: donor as u32 };
            left[donor] -= 1.0 - left[short];
            if left[donor] < 1.0 {
                large.pop();
                small.push(donor);
            }
        }
        Alias { slots }
    }

    /// Returns the index for the uniform number `draw`.
    #[inline(always)]
    pub fn pick(&self, draw: u64) -> usize {
        let product = u128::from(draw) * self.slots.len() as u128;
        let own = (product >> 64) as usize;
        let slot = self.slots[own];
        // Written as a mask, because the compiler turns an `if` into a branch, which is mispredicted every few draws.
        let keeps_own = usize::from((product as u64) < slot.threshold).wrapping_neg();
        let other = slot.other as usize;
        other ^ ((own ^ other) & keeps_own)
    }
}

/// Returns the bound below which a uniform 64-bit number falls with the given probability.
///
/// For probability 1 it misses one number in 2^64.
pub(super) fn threshold(probability: f64) -> u64 {
    // A cast of a float too large for the integer saturates.
    (probability * 2f64.powi(64)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Adds up the share of each alternative over the slots, and compares it with its weight.
        #[test]
        fn slots_add_up_to_the_weights(weights in prop::collection::vec(0.0..10.0f64, 1..60)) {
            let sum: f64 = weights.iter().sum();
            prop_assume!(sum > 0.0);
            let alias = Alias::new(&weights);
            let mut share = vec![0.0; weights.len()];
            for (own, slot) in alias.slots.iter().enumerate() {
                let kept = slot.threshold as f64 / 2f64.powi(64);
                share[own] += kept / weights.len() as f64;
                share[slot.other as usize] += (1.0 - kept) / weights.len() as f64;
            }
            for (share, weight) in share.iter().zip(&weights) {
                prop_assert!((share - weight / sum).abs() < 1e-9, "{share} for {weight} of {sum}");
            }
        }
    }

    #[test]
    fn the_ends_of_the_range_stay_inside() {
        let alias = Alias::new(&[1.0, 0.0, 3.0]);
        assert!(alias.pick(0) < 3 && alias.pick(u64::MAX) < 3);
        assert_eq!(Alias::new(&[5.0]).pick(u64::MAX), 0);
    }
}
