//! Compares replays of random traces with a naive mapping, one request after another.

use super::*;
use crate::scenario::{AddressRule, TraceConfig, VolumeRule};
use proptest::prelude::*;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use wearwell_base::units::Lpn;
use wearwell_trace::Op;
use wearwell_workload::PageRun;

/// A request of a random trace.
#[derive(Clone, Copy, Debug)]
struct Request {
    op: Op,
    volume: u32,
    offset: u64,
    length: u64,
    hint: u16,
}

/// A random trace and drive.
#[derive(Clone, Debug)]
struct Case {
    requests: Vec<Request>,
    rule: AddressRule,
    volume_rule: VolumeRule,
    trim: bool,
    by_request: bool,
    logical_pages: u32,
    page_bytes: u32,
    /// Pages requested by successive fills.
    fill_pages: Vec<usize>,
}

/// Pages of the drive that a request touches, in runs.
type Runs = Vec<(u32, u32)>;

/// Naive mapping: a page at a time, with a hash table.
struct NaiveMapping<'a> {
    case: &'a Case,
    bases: BTreeMap<u32, u64>,
    span_pages: u64,
    numbers: HashMap<u64, u32>,
    unnumbered_trims: u64,
    first_volume: Option<u32>,
}

impl<'a> NaiveMapping<'a> {
    fn new(case: &'a Case) -> Self {
        let page_bytes = u64::from(case.page_bytes);
        let mut ends: BTreeMap<u32, u64> = BTreeMap::new();
        for request in &case.requests {
            let end = ends.entry(request.volume).or_default();
            *end = (request.offset + request.length).max(*end);
        }
        let (mut bases, mut next, mut highest) = (BTreeMap::new(), 0, 0);
        for (volume, end) in ends {
            let whole = end.div_ceil(page_bytes) * page_bytes;
            bases.insert(volume, next);
            next += whole;
            highest = whole.max(highest);
        }
        let needs_extent = case.rule == AddressRule::Scale || case.volume_rule == VolumeRule::SideBySide;
        let span_bytes = if case.volume_rule == VolumeRule::SideBySide { next } else { highest };
        NaiveMapping {
            case,
            bases,
            // The extent of the trace is read only for rules that need it.
            span_pages: if needs_extent { (span_bytes / page_bytes).max(1) } else { 1 },
            numbers: HashMap::new(),
            unnumbered_trims: 0,
            first_volume: None,
        }
    }

    /// Returns the runs of a request that reaches the drive, or words of the error message.
    fn map(&mut self, request: &Request) -> Result<Option<Runs>, &'static str> {
        let case = self.case;
        if request.op == Op::Flush {
            return Ok(Some(vec![(0, 0)]));
        }
        if request.op == Op::Trim && !case.trim {
            return Ok(None);
        }
        let first_volume = *self.first_volume.get_or_insert(request.volume);
        let base = match case.volume_rule {
            VolumeRule::Single if first_volume != request.volume => return Err("earlier ones for volume"),
            VolumeRule::SideBySide => self.bases[&request.volume],
            VolumeRule::Single | VolumeRule::Overlay => 0,
        };
        let page_bytes = u64::from(case.page_bytes);
        let (start, end) = (base + request.offset, base + request.offset + request.length);
        let pages: Vec<u64> = match request.op {
            Op::Trim => (start.div_ceil(page_bytes)..end / page_bytes).collect(),
            _ => (start / page_bytes..end.div_ceil(page_bytes)).collect(),
        };
        let logical_pages = u64::from(case.logical_pages);
        let mut mapped = Vec::new();
        for (at, page) in pages.into_iter().enumerate() {
            let is_repeat = at as u64 >= self.span_pages.max(logical_pages);
            let drive_page = match case.rule {
                AddressRule::Direct if page >= logical_pages => return Err("ends at byte"),
                AddressRule::Direct => page,
                AddressRule::Wrap | AddressRule::Scale if is_repeat => break,
                AddressRule::Wrap => page % logical_pages,
                AddressRule::Scale => (page * logical_pages / self.span_pages).min(logical_pages - 1),
                AddressRule::Compact => match self.numbers.get(&page) {
                    Some(&number) => number.into(),
                    None if request.op == Op::Trim => {
                        self.unnumbered_trims += 1;
                        continue;
                    }
                    None if self.numbers.len() as u64 == logical_pages => return Err("touches more than"),
                    None => {
                        let number = self.numbers.len() as u32;
                        self.numbers.insert(page, number);
                        number.into()
                    }
                },
            };
            mapped.push(drive_page as u32);
        }
        // Neighbours that map to the same page of the drive are touched once.
        mapped.dedup();
        let runs = mapped.chunk_by(|page, next| page + 1 == *next);
        Ok(Some(runs.map(|run| (run[0], run.len() as u32)).collect()))
    }
}

/// Returns the batch of a fill of `pages` pages, request by request, and advances `next`.
fn naive_fill(case: &Case, pass: &[Option<Runs>], next: &mut usize, pages: usize) -> PageBatch {
    let mut batch = PageBatch::default();
    while batch.pages.len() < pages && *next < pass.len() {
        let Request { op, hint, .. } = case.requests[*next];
        for &(first, length) in pass[*next].iter().flatten() {
            match case.by_request || [Op::Trim, Op::Flush].contains(&op) {
                true => batch.push_request(op, hint, Lpn(first), length),
                false => batch.extend_single(op, hint, (first..first + length).map(Lpn)),
            }
        }
        *next += 1;
        if pages == 1 && !batch.is_empty() {
            break;
        }
    }
    batch
}

fn requests() -> impl Strategy<Value = Vec<Request>> {
    let op =
        prop_oneof![4 => Just(Op::Write), 2 => Just(Op::Read), 2 => Just(Op::Trim), 1 => Just(Op::Flush)];
    // Generates mostly whole sectors, some of them at distant addresses, and rarely a second volume.
    let volume = prop_oneof![6 => Just(0), 1 => 1u32..3];
    let offset = prop_oneof![6 => 0u64..400, 1 => 4000u64..4100];
    let request = (op, volume, offset, prop_oneof![1u64..40, 1u64..400], 0u16..2, 0u64..2);
    let request = request.prop_map(|(op, volume, sector, sectors, hint, odd)| match op {
        Op::Flush => Request { op, volume, offset: 0, length: 0, hint },
        _ => Request { op, volume, offset: sector * 512 + odd, length: sectors * 512, hint },
    });
    proptest::collection::vec(request, 1..60)
}

fn cases() -> impl Strategy<Value = Case> {
    const RULES: [AddressRule; 4] =
        [AddressRule::Direct, AddressRule::Wrap, AddressRule::Scale, AddressRule::Compact];
    const VOLUME_RULES: [VolumeRule; 3] = [VolumeRule::Single, VolumeRule::SideBySide, VolumeRule::Overlay];
    let drive = (
        prop::sample::select(&RULES[..]),
        prop::sample::select(&VOLUME_RULES[..]),
        prop_oneof![1u32..20, 20u32..1200],
        prop::sample::select(&[512u32, 1536, 4096][..]),
    );
    let fills = proptest::collection::vec(prop_oneof![Just(1usize), 1usize..200], 1..8);
    (requests(), drive, any::<bool>(), any::<bool>(), fills).prop_map(
        |(requests, (rule, volume_rule, logical_pages, page_bytes), trim, by_request, fills)| Case {
            requests,
            rule,
            volume_rule,
            trim,
            by_request,
            logical_pages,
            page_bytes,
            fill_pages: fills,
        },
    )
}

fn write_trace(requests: &[Request]) -> tempfile::NamedTempFile {
    let mut text = "time_ns,op,volume,offset_bytes,length_bytes,hint\n".to_owned();
    for Request { op, volume, offset, length, hint } in requests {
        let letter = match op {
            Op::Read => 'R',
            Op::Write => 'W',
            Op::Trim => 'T',
            Op::Flush => 'F',
        };
        writeln!(text, "0,{letter},{volume},{offset},{length},{hint}").unwrap();
    }
    let file = tempfile::Builder::new().suffix(".csv").tempfile().unwrap();
    std::fs::write(file.path(), text).unwrap();
    file
}

/// Passes compared: the first two are mapped, the later ones are copied from the stored operations.
const PASSES: u64 = 4;

fn compare(case: &Case) -> Result<(), TestCaseError> {
    let file = write_trace(&case.requests);
    let config = TraceConfig {
        address: case.rule,
        volume_rule: case.volume_rule,
        trim: case.trim,
        ..toml::from_str(&format!("path = '{}'", file.path().display())).unwrap()
    };
    let needs = SourceNeeds { requests: case.by_request, ..SourceNeeds::default() };
    let open = || TraceReplay::new(&config, case.logical_pages, case.page_bytes, &needs);
    // The second replay starts after the first has mapped a pass.
    let mut replays = [open().unwrap(), open().unwrap()];
    for replay in &mut replays {
        let mut naive = NaiveMapping::new(case);
        let mut fills = case.fill_pages.iter().copied().cycle();
        for passes in 0..PASSES {
            let pass: Result<Vec<_>, _> = case.requests.iter().map(|request| naive.map(request)).collect();
            let (mut next, mut batch) = (0, PageBatch::default());
            while replay.passes() == Some(passes) {
                let pages = fills.next().unwrap();
                batch.clear();
                let filled = replay.fill(&mut batch, pages);
                match (&pass, filled) {
                    (Err(word), Err(error)) => {
                        prop_assert!(error.to_string().contains(word), "{error}");
                        return Ok(());
                    }
                    (Ok(_), Err(SourceError::NoPages { .. })) => {
                        let has_pages = |request: &Request| match request.op {
                            Op::Flush => false,
                            Op::Trim => case.trim,
                            Op::Read | Op::Write => true,
                        };
                        prop_assert!(!case.requests.iter().any(has_pages));
                        return Ok(());
                    }
                    (_, Err(error)) => return Err(TestCaseError::fail(error.to_string())),
                    (Err(_), Ok(())) => continue,
                    (Ok(pass), Ok(())) => {
                        let expected = naive_fill(case, pass, &mut next, pages);
                        prop_assert_eq!(&batch.pages, &expected.pages);
                        let runs = |batch: &PageBatch| -> Vec<PageRun> { batch.runs.clone() };
                        prop_assert_eq!(runs(&batch), runs(&expected));
                    }
                }
            }
            prop_assert_eq!(next, case.requests.len(), "the whole pass was replayed");
            if passes == 0 {
                let unnumbered = replay.first_pass().unwrap().unnumbered_trims;
                prop_assert_eq!(unnumbered, naive.unnumbered_trims);
            }
        }
        prop_assert!(replay.copies_stored_passes(), "later passes are not mapped again");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn replays_agree_with_a_naive_mapping(case in cases()) {
        compare(&case)?;
    }
}
