//! Engine of all simple workloads: turns addresses of a distribution into requests.

use super::Workload;
use super::batch::{FillGoal, PageBatch};
use super::error::require;
use super::rank_map::{RankMap, Space};
use super::requests::{HintRule, RequestConfig, RequestMix};
use rand::RngCore;
use wearwell_base::config::ConfigError;
use wearwell_base::request::Op;
use wearwell_base::seed::{Random, Seed};
use wearwell_base::temperature::Temperature;
use wearwell_base::units::Lpn;

/// Distribution of the pages that a workload accesses.
pub(super) trait AddressDistribution: Send {
    /// True if a request longer than a page starts at a multiple of its own length. False for a
    /// distribution that gives exact starts, such as a sequential one.
    const ALIGNED: bool = true;

    /// Draws the rank of the next request, which is `length` pages long; rank 0 is the hottest page, at the start of
    /// the distribution.
    fn draw(&mut self, random: &mut Random, length: u32) -> u32;
}

/// A distribution whose ranks differ from page numbers.
struct MappedAddresses<A> {
    distribution: A,
    rank_map: RankMap,
}

impl<A: AddressDistribution> AddressDistribution for MappedAddresses<A> {
    const ALIGNED: bool = A::ALIGNED;

    #[inline(always)]
    fn draw(&mut self, random: &mut Random, length: u32) -> u32 {
        self.rank_map.page(self.distribution.draw(random, length))
    }
}

/// Stream of requests whose addresses follow a distribution. Addresses have a separate generator from operations and
/// lengths, so that a change of the read ratio does not change the addresses.
struct RequestStream<A> {
    distribution: A,
    address_random: Random,
    mix: RequestMix,
    request_random: Random,
    logical_pages: u32,
    hints: Option<Box<dyn Temperature>>,
}

/// Builds the workload of a distribution on `space` with the request settings of `config`.
///
/// `temperature` is the oracle of the distribution, if its pages differ in temperature. Errors: settings that are out
/// of range, or that need a temperature although all pages have equal temperatures.
pub(super) fn build_workload<A: AddressDistribution + 'static>(
    distribution: A,
    config: &RequestConfig,
    space: &Space,
    seed: Seed,
    temperature: Option<Box<dyn Temperature>>,
) -> Result<Box<dyn Workload>, ConfigError> {
    config.check(space.logical_pages)?;
    let has_hints = config.hint == HintRule::Temperature;
    let allowed = "must be \"none\": all pages of this kind of workload have the same temperature";
    require(!has_hints || temperature.is_some(), "hint", "\"temperature\"", allowed)?;
    let rank_map = RankMap::new(space, config.shift, config.scatter);
    let hints = temperature.filter(|_| has_hints);
    if rank_map.is_identity() {
        Ok(Box::new(RequestStream::new(distribution, config, space, seed, hints)))
    } else {
        Ok(Box::new(RequestStream::new(
            MappedAddresses { distribution, rank_map },
            config,
            space,
            seed,
            hints,
        )))
    }
}

impl<A: AddressDistribution> RequestStream<A> {
    fn new(
        distribution: A,
        config: &RequestConfig,
        space: &Space,
        seed: Seed,
        hints: Option<Box<dyn Temperature>>,
    ) -> Self {
        RequestStream {
            distribution,
            address_random: seed.derive("addresses").random(),
            mix: RequestMix::new(config),
            request_random: seed.derive("choices").random(),
            logical_pages: space.logical_pages,
            hints,
        }
    }

    fn fill_requests(&mut self, batch: &mut PageBatch, pages: usize) {
        let goal = FillGoal::new(batch, pages);
        while !goal.is_met(batch) {
            let (op, length) = self.mix.draw(&mut self.request_random);
            if op == Op::Flush {
                batch.push_request(op, 0, Lpn(0), 0);
                continue;
            }
            let drawn = self.distribution.draw(&mut self.address_random, length);
            let first = if A::ALIGNED && length > 1 { drawn - drawn % length } else { drawn };
            let length = length.min(self.logical_pages - first);
            let first = Lpn(first);
            let hint = self.hints.as_ref().map_or(0, |hints| 1 + u16::from(hints.class_of(first)));
            batch.push_request(op, hint, first, length);
        }
    }
}

impl<A: AddressDistribution> Workload for RequestStream<A> {
    fn fill(&mut self, batch: &mut PageBatch, pages: usize) {
        if !self.has_only_single_writes() {
            return self.fill_requests(batch, pages);
        }
        // A generator in a local variable stays in registers.
        let mut addresses = self.address_random.clone();
        batch.extend_single(Op::Write, 0, (0..pages).map(|_| Lpn(self.distribution.draw(&mut addresses, 1))));
        self.address_random = addresses;
    }

    fn has_only_single_writes(&self) -> bool {
        self.mix.is_single_writes() && self.hints.is_none()
    }

    fn final_draw(&mut self) -> u64 {
        self.address_random.next_u64() ^ self.request_random.next_u64().rotate_left(32)
    }
}
