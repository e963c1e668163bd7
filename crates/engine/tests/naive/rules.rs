//! Rules for the victims that each policy may take.

use wearwell_base::seed::{Random, Seed, random_below};

/// A victim policy as a rule over the candidates and their valid pages.
pub enum Rule {
    /// Any block with the fewest valid pages.
    Fewest,
    /// The block closed longest ago.
    Oldest,
    /// The first block with the fewest valid pages among `d` blocks drawn with replacement from all blocks. The draw
    /// is repeated if none is a candidate.
    DChoices(u32, Random),
    /// The first candidate drawn.
    RandomCandidate(Random),
}

impl Rule {
    /// Returns the rule of the policy called `name` in scenarios.
    pub fn for_policy(name: &str, choices: u32, store: Seed) -> Rule {
        let random = store.derive("victim").random();
        match name {
            "greedy" => Rule::Fewest,
            "fifo" => Rule::Oldest,
            "d_choices" => Rule::DChoices(choices, random),
            "random" => Rule::RandomCandidate(random),
            _ => panic!("the model knows no policy called {name}"),
        }
    }

    /// Asserts that `victim` may be taken. `candidates` are (block, valid pages), the block closed first in front.
    pub fn admit(&mut self, victim: usize, candidates: &[(usize, usize)], blocks: usize) {
        let valid =
            |number: usize| candidates.iter().find(|(block, _)| *block == number).map(|(_, valid)| *valid);
        let victim_valid_pages = valid(victim).unwrap_or_else(|| panic!("block {victim} is no candidate"));
        match self {
            Rule::Fewest => {
                let fewest = candidates.iter().map(|(_, valid)| *valid).min();
                assert_eq!(
                    Some(victim_valid_pages),
                    fewest,
                    "valid pages of the victim, and the fewest of all"
                );
            }
            Rule::Oldest => {
                assert_eq!(victim, candidates[0].0, "the victim, and the block closed longest ago")
            }
            Rule::DChoices(choices, random) => loop {
                let drawn: Vec<usize> =
                    (0..*choices).map(|_| random_below(random, blocks as u64) as usize).collect();
                // `min_by_key` returns the first of several minima, like the policy.
                let drawn_candidates = drawn.into_iter().filter_map(|block| Some((block, valid(block)?)));
                if let Some((best, _)) = drawn_candidates.min_by_key(|(_, valid)| *valid) {
                    assert_eq!(victim, best, "the victim, and the best of the {choices} drawn");
                    break;
                }
            },
            Rule::RandomCandidate(random) => {
                let drawn = loop {
                    let block = random_below(random, blocks as u64) as usize;
                    if valid(block).is_some() {
                        break block;
                    }
                };
                assert_eq!(victim, drawn, "the victim, and the candidate drawn");
            }
        }
    }
}
