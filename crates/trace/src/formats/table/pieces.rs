//! Requests that a table lists as one row for each piece.

use std::collections::VecDeque;

use crate::request::Request;

/// Maximum number of requests whose rows may be interleaved; more than any queue in the sources of such traces holds.
const OPEN_REQUESTS: usize = 256;

/// Turns the identical rows of a request into its pieces.
#[derive(Clone, Debug)]
pub struct PieceSplitter {
    bytes: u64,
    /// Requests with the bytes that their rows have covered so far.
    open: VecDeque<(Request, u64)>,
}

impl PieceSplitter {
    /// Expects rows of `bytes` bytes each.
    pub fn new(bytes: u64) -> Self {
        PieceSplitter { bytes, open: VecDeque::new() }
    }

    /// Returns the piece of `request` that this row stands for.
    pub fn next(&mut self, request: Request) -> Request {
        let at = self.open.iter().position(|(open, _)| *open == request);
        let covered = at.map_or(0, |at| self.open[at].1);
        let length_bytes = self.bytes.min(request.length_bytes - covered);
        let piece = Request {
            offset_bytes: request.offset_bytes.saturating_add(covered),
            length_bytes,
            ..request.clone()
        };
        let covered = covered + length_bytes;
        match at {
            Some(at) if covered >= request.length_bytes => drop(self.open.remove(at)),
            Some(at) => self.open[at].1 = covered,
            None if covered < request.length_bytes => {
                if self.open.len() == OPEN_REQUESTS {
                    self.open.pop_front();
                }
                self.open.push_back((request, covered));
            }
            None => {}
        }
        piece
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Op;

    #[test]
    fn repeated_rows_become_consecutive_pieces_of_request() {
        let request = |time_ns, length_bytes| Request {
            time_ns,
            op: Op::Write,
            volume: 0,
            offset_bytes: 8192,
            length_bytes,
            hint: 0,
        };
        let mut pieces = PieceSplitter::new(4096);
        let rows = [(1, 10_000), (2, 4096), (1, 10_000), (1, 10_000), (1, 10_000), (2, 4096)];
        let pieces_found = rows.map(|(time, length)| pieces.next(request(time, length)));
        let found = pieces_found.map(|piece| (piece.time_ns, piece.offset_bytes, piece.length_bytes));
        // The fourth row of the first request begins that request again.
        let expected = [
            (1, 8192, 4096),
            (2, 8192, 4096),
            (1, 12_288, 4096),
            (1, 16_384, 1808),
            (1, 8192, 4096),
            (2, 8192, 4096),
        ];
        assert_eq!(found, expected);
    }
}
