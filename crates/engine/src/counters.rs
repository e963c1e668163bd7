//! Counts of a layer's operations, by cause; write amplification is defined here and only here.

use serde::{Deserialize, Serialize};

/// Cause of an operation that a layer sends to the layer below.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// Request of the layer's own user.
    Host = 0,
    /// Move or erase by cleaning (garbage collection).
    Cleaning = 1,
    /// Access to a mapping table stored below.
    Translation = 2,
    /// Access to page-validity metadata stored below.
    Validity = 3,
    /// Segment summaries, checkpoints and maps of a log.
    LogMetadata = 4,
    /// Move by wear levelling.
    WearLevelling = 5,
    /// Deduplication metadata or verification.
    Dedup = 6,
}

impl Cause {
    /// All causes, in the order of their numbers.
    pub const ALL: [Cause; 7] = [
        Cause::Host,
        Cause::Cleaning,
        Cause::Translation,
        Cause::Validity,
        Cause::LogMetadata,
        Cause::WearLevelling,
        Cause::Dedup,
    ];

    /// Returns the name used in results.
    pub fn name(self) -> &'static str {
        ["host", "cleaning", "translation", "validity", "log_metadata", "wear_levelling", "dedup"]
            [self as usize]
    }
}

/// Operation on a number of pages (or, for an erase, of blocks).
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// Pages read.
    Read = 0,
    /// Pages written (programmed, on flash).
    Write = 1,
    /// Pages trimmed.
    Trim = 2,
    /// Blocks erased (segments freed, on a log over another layer).
    Erase = 3,
    /// Flushes.
    Flush = 4,
}

impl Operation {
    /// All operations, in the order of their numbers.
    pub const ALL: [Operation; 5] =
        [Operation::Read, Operation::Write, Operation::Trim, Operation::Erase, Operation::Flush];

    /// Returns the name used in results.
    pub fn name(self) -> &'static str {
        ["read", "write", "trim", "erase", "flush"][self as usize]
    }
}

const CAUSES: usize = Cause::ALL.len();
const OPERATIONS: usize = Operation::ALL.len();

/// Traffic of one layer: operations received from above, and operations sent below, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    incoming: [u64; OPERATIONS],
    outgoing: [[u64; OPERATIONS]; CAUSES],
}

impl Counters {
    /// Counts `amount` pages (blocks, flushes) of `operation` arriving from above.
    #[inline]
    pub fn add_incoming(&mut self, operation: Operation, amount: u64) {
        self.incoming[operation as usize] += amount;
    }

    /// Counts `amount` pages (blocks, flushes) of `operation` sent below because of `cause`.
    #[inline]
    pub fn add_outgoing(&mut self, cause: Cause, operation: Operation, amount: u64) {
        self.outgoing[cause as usize][operation as usize] += amount;
    }

    /// Returns the number of operations received from above.
    pub fn incoming(&self, operation: Operation) -> u64 {
        self.incoming[operation as usize]
    }

    /// Returns the number of operations sent below because of `cause`.
    pub fn outgoing(&self, cause: Cause, operation: Operation) -> u64 {
        self.outgoing[cause as usize][operation as usize]
    }

    /// Returns the number of operations sent below, over all causes.
    pub fn outgoing_total(&self, operation: Operation) -> u64 {
        Cause::ALL.iter().map(|&cause| self.outgoing(cause, operation)).sum()
    }

    /// Counts `amount` of the operations sent below under cause `to` instead of cause `from`.
    pub fn reassign(&mut self, from: Cause, to: Cause, operation: Operation, amount: u64) {
        self.outgoing[from as usize][operation as usize] -= amount;
        self.outgoing[to as usize][operation as usize] += amount;
    }

    /// Replaces the incoming operations by those of `front`, the layer between this layer and its user.
    pub fn replace_incoming(&mut self, front: &Counters) {
        self.incoming = front.incoming;
    }

    /// Returns the write amplification of this layer, outgoing over incoming page writes; `None` before the first
    /// incoming write.
    ///
    /// The write amplification of a stack is the product over its layers. It equals the lowest layer's outgoing writes
    /// over the highest layer's incoming writes, because the outgoing writes of each layer are the incoming writes of
    /// the next.
    pub fn write_amplification(&self) -> Option<f64> {
        let incoming = self.incoming(Operation::Write);
        (incoming > 0).then(|| self.outgoing_total(Operation::Write) as f64 / incoming as f64)
    }

    /// Returns the traffic since `earlier`, an older copy of the same layer's counters.
    pub fn since(&self, earlier: &Counters) -> Counters {
        let mut difference = *self;
        for operation in 0..OPERATIONS {
            difference.incoming[operation] -= earlier.incoming[operation];
            for cause in 0..CAUSES {
                difference.outgoing[cause][operation] -= earlier.outgoing[cause][operation];
            }
        }
        difference
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amplification_is_outgoing_over_incoming_writes() {
        let mut counters = Counters::default();
        assert_eq!(counters.write_amplification(), None);
        counters.add_incoming(Operation::Write, 4);
        counters.add_outgoing(Cause::Host, Operation::Write, 4);
        counters.add_outgoing(Cause::Cleaning, Operation::Write, 2);
        counters.add_outgoing(Cause::Cleaning, Operation::Read, 9);
        assert_eq!(counters.write_amplification(), Some(1.5));
        let earlier = counters;
        counters.add_incoming(Operation::Write, 1);
        counters.add_outgoing(Cause::Host, Operation::Write, 1);
        assert_eq!(counters.since(&earlier).write_amplification(), Some(1.0));
        counters.reassign(Cause::Host, Cause::Dedup, Operation::Write, 2);
        counters.replace_incoming(&earlier);
        assert_eq!(counters.incoming(Operation::Write), 4);
        assert_eq!(counters.outgoing(Cause::Host, Operation::Write), 3);
        assert_eq!(counters.outgoing(Cause::Dedup, Operation::Write), 2);
    }

    #[test]
    fn names_and_numbers_agree() {
        for (number, cause) in Cause::ALL.iter().enumerate() {
            assert_eq!(*cause as usize, number);
            assert_eq!(serde_json::to_value(cause).unwrap(), cause.name());
        }
        for (number, operation) in Operation::ALL.iter().enumerate() {
            assert_eq!(*operation as usize, number);
            assert_eq!(serde_json::to_value(operation).unwrap(), operation.name());
        }
    }
}
