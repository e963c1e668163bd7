//! A batch of operations, done by a layer.

use super::payload::RunPayload;
use super::traffic::Traffic;
use wearwell_engine::layer::{Layer, LayerError, LayerExt};
use wearwell_trace::Op;
use wearwell_workload::PageBatch;

/// Applies a batch to a layer and counts what was done.
pub(super) fn apply<P: RunPayload>(
    layer: &mut dyn Layer<P>,
    batch: &PageBatch,
    first_hint: u16,
    sent: &mut Traffic,
) -> Result<(), LayerError> {
    let mut read = Vec::new();
    let by_request = layer.wants_requests();
    for (run, pages) in batch.iter() {
        let hint = run.hint.saturating_add(first_hint);
        let request = if by_request { run.request_pages.max(1) as usize } else { usize::MAX };
        match run.op {
            Op::Write => {
                let data = P::of(batch, run.end as usize - pages.len()..run.end as usize);
                if (1..=request).contains(&pages.len()) {
                    layer.write(pages, data, hint)?;
                    sent.written += pages.len() as u64;
                    continue;
                }
                for (pages, data) in pages.chunks(request).zip(data.chunks(request)) {
                    layer.write(pages, data, hint)?;
                    sent.written += pages.len() as u64;
                }
            }
            Op::Read => {
                read.clear();
                layer.read(pages, &mut read)?;
                sent.read += pages.len() as u64;
            }
            Op::Trim => pages.chunks(request).try_for_each(|pages| -> Result<(), LayerError> {
                layer.trim(pages)?;
                sent.trimmed += pages.len() as u64;
                Ok(())
            })?,
            Op::Flush => layer.flush()?,
        }
    }
    Ok(())
}
