//! Comparison of the substitutes with the published figures, and with samples of the traces if they are available.

use super::*;
use crate::content::stats::ContentStats;
use crate::{ContentConfig, PageBatch, WorkloadConfig};
use wearwell_base::content::ContentId;
use wearwell_trace::{Op, ReadOptions, RequestBatch, page_digest};

const LOGICAL_PAGES: u32 = 50_000;

/// Share of the overwritten pages in the samples that were rewritten with the same content.
const SAME_CONTENT_SHARES: [(&str, f64); 3] = [("homes", 0.17), ("web_vm", 0.69), ("mail", 0.33)];

/// Counts six drive writes of the substitute, after six drive writes that are not counted.
fn measure(name: &str, change: impl FnOnce(&mut ContentConfig)) -> ContentStats {
    let workload: WorkloadConfig = toml::from_str(&format!("kind = 'fiu'\ntrace = '{name}'")).unwrap();
    let mut workload = workload.build(LOGICAL_PAGES, Seed(1)).unwrap();
    let mut content = ContentConfig::preset(name).unwrap();
    change(&mut content);
    let mut contents = content.build(LOGICAL_PAGES, Seed(1)).unwrap();
    let (mut stats, mut batch) = (ContentStats::default(), PageBatch::default());
    for measured in [false, true] {
        if measured {
            stats.reset_counts();
        }
        while stats.written < 6 * u64::from(LOGICAL_PAGES) {
            batch.clear();
            workload.fill(&mut batch, 4096);
            contents.add_contents(&mut batch);
            stats.add(&batch);
        }
    }
    stats
}

#[test]
fn substitutes_match_published_figures() {
    for trace in FIU_TRACES {
        let name = trace.entry.name;
        let stats = measure(name, |_| ());
        let write_ratio = stats.writes as f64 / stats.requests as f64;
        let kib = stats.pages as f64 / stats.requests as f64 * 4.0;
        let counts = stats.reference_counts();
        let referenced: u32 = counts.iter().sum();
        println!(
            "{name}: writes {write_ratio:.4}, {kib:.2} KiB, duplicates {:.4}, same {:.4}, dead with one reference \
             {:.4}, with three or more {:.4}; {} contents of {referenced} pages, the top ones {:?}",
            stats.dedup_ratio(),
            stats.same_content as f64 / stats.written as f64,
            1.0 - stats.unreferenced_share(2),
            stats.unreferenced_share(3),
            counts.len(),
            &counts[..4],
        );
        assert!((write_ratio - trace.write_ratio).abs() < 0.005, "{name}: {write_ratio}");
        assert!((kib / trace.mean_request_kib - 1.0).abs() < 0.03, "{name}: {kib}");
        assert!((stats.dedup_ratio() - trace.content.dedup_ratio).abs() < 0.005, "{name}");
        let same_share = stats.same_content as f64 / stats.overwritten as f64;
        let (_, sampled) = SAME_CONTENT_SHARES.into_iter().find(|(of, _)| *of == name).unwrap();
        match trace.content.dedup_ratio > sampled {
            true => assert!((same_share - sampled).abs() < 0.015, "{name}: {same_share}"),
            // A page that is rewritten with the same content is a duplicate.
            false => assert!(
                same_share > 0.5 * trace.content.dedup_ratio && same_share < sampled,
                "{name}: {same_share}"
            ),
        }
        // Figure 6 of CAGC.
        assert!(stats.unreferenced_share(2) < 0.2, "{name}: {}", stats.unreferenced_share(2));
        assert!(stats.unreferenced_share(3) < 0.01, "{name}: {}", stats.unreferenced_share(3));
    }
}

#[test]
fn every_figure_has_source() {
    for trace in FIU_TRACES {
        let mut fields = vec!["write_ratio", "mean_request_kib", "request_pages", "hot_writes", "hot_space"];
        let content = toml::Table::try_from(&trace.content).unwrap();
        let content: Vec<String> = content.keys().map(|key| format!("content.{key}")).collect();
        fields.extend(content.iter().map(String::as_str));
        let mut documented: Vec<&str> = trace.notes.iter().map(|(field, _)| *field).collect();
        fields.sort_unstable();
        documented.sort_unstable();
        assert_eq!(documented, fields, "{}", trace.entry.name);
        assert!(trace.notes.iter().all(|(_, source)| !source.is_empty()));
    }
}

#[test]
fn explicit_settings_override_trace_settings() {
    let read = |text: &str| toml::from_str::<WorkloadConfig>(text).unwrap();
    let WorkloadConfig::Fiu(fiu) = read("kind = 'fiu'\ntrace = 'homes'") else { unreachable!() };
    assert_eq!((fiu.requests.read_ratio, fiu.hot_writes), (0.195, 0.8));
    let WorkloadConfig::Fiu(fiu) =
        read("kind = 'fiu'\ntrace = 'homes'\nread_ratio = 0\nhot_space = 1\nhot_writes = 1")
    else {
        unreachable!()
    };
    assert_eq!((fiu.requests.read_ratio, fiu.hot_space), (0.0, 1.0));
    assert!(matches!(fiu.requests.request_pages, RequestPages::Mix(_)), "the rest stays");
    let error_of = |text: &str| toml::from_str::<WorkloadConfig>(text).unwrap_err().to_string();
    assert!(error_of("kind = 'fiu'").contains("missing field `trace`, one of homes, web_vm, mail"));
    assert!(
        error_of("kind = 'fiu'\ntrace = 'web'").contains("is called \"web\"; one of homes, web_vm, mail")
    );
    assert!(error_of("kind = 'fiu'\ntrace = 'mail'\nhot_space = 'x'").contains("must be a number"));
    assert!(error_of("kind = 'fiu'\ntrace = 'mail'\nread_ration = 1").contains("no key `read_ration`"));
}

/// Compares the substitutes with samples of the traces, which are not part of the repository: the share of overwrites
/// with the same content, and the numbers of references of contents that lost their last reference. The samples are
/// short, so duplicates of older contents are missed.
#[test]
fn trace_samples_match_same_content_and_reference_figures() {
    let Some(folder) = std::env::var_os("WEARWELL_TRACES").map(std::path::PathBuf::from) else {
        return eprintln!("skipped: WEARWELL_TRACES does not name a directory of traces");
    };
    let files = ["fiu-homes", "fiu-webvm", "fiu-mail-a"];
    for (file, (_, expected_share)) in files.into_iter().zip(SAME_CONTENT_SHARES) {
        let path = folder.join(format!("{file}.blkparse.zst"));
        if !path.exists() {
            continue;
        }
        let mut reader = wearwell_trace::open(&path, &ReadOptions::default()).unwrap();
        let (mut stats, mut requests) = (ContentStats::default(), RequestBatch::default());
        while reader.read_batch(&mut requests, 1000).unwrap() > 0 {
            for at in (0..requests.len()).filter(|&at| requests.op[at] == Op::Write) {
                assert_eq!(requests.length_bytes[at], 4096, "{file}: a page a line");
                let digest = u128::from_be_bytes(page_digest(requests.digests_of(at)));
                stats.write(requests.offset_bytes[at], ContentId((digest >> 64) as u64));
            }
        }
        let same_share = stats.same_content as f64 / stats.overwritten as f64;
        println!(
            "{file}: {} pages written, duplicates {:.3}, rewritten alike {same_share:.3}, dead by references {:?}",
            stats.written,
            stats.dedup_ratio(),
            stats.unreferenced
        );
        assert!((same_share - expected_share).abs() < 0.005, "{file}: {same_share}");
        assert!(stats.unreferenced_share(2) < 0.2, "{file}: {:?}", stats.unreferenced);
    }
}
