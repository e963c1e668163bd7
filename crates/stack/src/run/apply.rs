//! Application of a batch of operations to a layer.

use super::payload::RunPayload;
use super::traffic::Traffic;
use std::ops::Range;
use wearwell_engine::layer::{Layer, LayerError, LayerExt};
use wearwell_trace::Op;
use wearwell_workload::{PageBatch, PageRun};

/// Applies a batch to a layer and counts the pages. The layer gets the writes of consecutive runs in one call if
/// `may_join_runs`, unless the layer needs the boundaries of requests. Each trim is a call, because layers count the
/// ranges that they are asked to trim.
pub(super) fn apply<P: RunPayload>(
    layer: &mut dyn Layer<P>,
    batch: &PageBatch,
    first_hint: u16,
    may_join_runs: bool,
    sent: &mut Traffic,
) -> Result<(), LayerError> {
    let mut read = Vec::new();
    let by_request = layer.needs_whole_requests();
    let (mut runs, mut start) = (&batch.runs[..], 0);
    while let [run, rest @ ..] = runs {
        let joined_runs = match may_join_runs && !by_request {
            true => rest.iter().take_while(|other| can_join(run, other)).count(),
            false => 0,
        };
        let end = runs[joined_runs].end as usize;
        runs = &rest[joined_runs..];
        let (range, hint) = (start..end, run.hint.saturating_add(first_hint));
        start = end;
        let request = if by_request { run.request_pages.max(1) as usize } else { usize::MAX };
        match run.op {
            Op::Write => write(layer, batch, range, (hint, request), sent)?,
            Op::Read => {
                let pages = &batch.pages[range];
                read.clear();
                layer.read(pages, &mut read)?;
                sent.read += pages.len() as u64;
            }
            Op::Trim => {
                let request = run.request_pages.max(1) as usize;
                batch.pages[range].chunks(request).try_for_each(|pages| -> Result<(), LayerError> {
                    layer.trim(pages)?;
                    sent.trimmed += pages.len() as u64;
                    Ok(())
                })?
            }
            Op::Flush => layer.flush()?,
        }
    }
    Ok(())
}

/// True if two runs are writes that a layer may get in one call.
fn can_join(run: &PageRun, other: &PageRun) -> bool {
    run.op == Op::Write && other.op == Op::Write && run.hint == other.hint
}

/// Writes the pages of a batch with these positions, at most `request` pages in a call.
fn write<P: RunPayload>(
    layer: &mut dyn Layer<P>,
    batch: &PageBatch,
    range: Range<usize>,
    (hint, request): (u16, usize),
    sent: &mut Traffic,
) -> Result<(), LayerError> {
    let (pages, data) = (&batch.pages[range.clone()], P::of(batch, range));
    if (1..=request).contains(&pages.len()) {
        layer.write(pages, data, hint)?;
        sent.written += pages.len() as u64;
        return Ok(());
    }
    for (pages, data) in pages.chunks(request).zip(data.chunks(request)) {
        layer.write(pages, data, hint)?;
        sent.written += pages.len() as u64;
    }
    Ok(())
}
