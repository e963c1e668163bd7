//! Comparison of the substitutes with the published figures, and with samples of the traces if they are available.

use super::*;
use crate::content::census::Census;
use crate::{ContentConfig, PageBatch, WorkloadConfig};
use wearwell_base::content::Content;
use wearwell_trace::{Op, ReadOptions, RequestBatch, page_digest};

const LOGICAL_PAGES: u32 = 50_000;

/// Share of the overwritten pages in the samples that were rewritten with the same content.
const OVERWRITTEN_ALIKE: [(&str, f64); 3] = [("homes", 0.17), ("web_vm", 0.69), ("mail", 0.33)];

/// Counts six drive writes of the substitute, after six drive writes that are not counted.
fn census(name: &str, change: impl FnOnce(&mut ContentConfig)) -> Census {
    let workload: WorkloadConfig = toml::from_str(&format!("kind = 'fiu'\ntrace = '{name}'")).unwrap();
    let mut workload = workload.build(LOGICAL_PAGES, Seed(1)).unwrap();
    let mut content = ContentConfig::preset(name).unwrap();
    change(&mut content);
    let mut contents = content.build(LOGICAL_PAGES, Seed(1)).unwrap();
    let (mut census, mut batch) = (Census::default(), PageBatch::default());
    for measured in [false, true] {
        if measured {
            census.restart();
        }
        while census.written < 6 * u64::from(LOGICAL_PAGES) {
            batch.clear();
            workload.fill(&mut batch, 4096);
            contents.dress(&mut batch);
            census.add(&batch);
        }
    }
    census
}

#[test]
fn the_published_figures_are_met() {
    for trace in FIU_TRACES {
        let name = trace.entry.name;
        let census = census(name, |_| ());
        let write_ratio = census.writes as f64 / census.requests as f64;
        let kib = census.pages as f64 / census.requests as f64 * 4.0;
        let counts = census.reference_counts();
        let referenced: u32 = counts.iter().sum();
        println!(
            "{name}: writes {write_ratio:.4}, {kib:.2} KiB, duplicates {:.4}, same {:.4}, dead with one reference \
             {:.4}, with three or more {:.4}; {} contents of {referenced} pages, the top ones {:?}",
            census.dedup_ratio(),
            census.same as f64 / census.written as f64,
            1.0 - census.dead_share(2),
            census.dead_share(3),
            counts.len(),
            &counts[..4],
        );
        assert!((write_ratio - trace.write_ratio).abs() < 0.005, "{name}: {write_ratio}");
        assert!((kib / trace.mean_request_kib - 1.0).abs() < 0.03, "{name}: {kib}");
        assert!((census.dedup_ratio() - trace.content.dedup_ratio).abs() < 0.005, "{name}");
        let alike = census.same as f64 / census.overwritten as f64;
        let (_, sampled) = OVERWRITTEN_ALIKE.into_iter().find(|(of, _)| *of == name).unwrap();
        match trace.content.dedup_ratio > sampled {
            true => assert!((alike - sampled).abs() < 0.015, "{name}: {alike}"),
            // A page that is rewritten with the same content is a duplicate.
            false => assert!(alike > 0.5 * trace.content.dedup_ratio && alike < sampled, "{name}: {alike}"),
        }
        // Figure 6 of CAGC.
        assert!(census.dead_share(2) < 0.2, "{name}: {}", census.dead_share(2));
        assert!(census.dead_share(3) < 0.01, "{name}: {}", census.dead_share(3));
    }
}

#[test]
fn every_figure_has_a_source() {
    for trace in FIU_TRACES {
        let mut fields = vec!["write_ratio", "mean_request_kib", "request_pages", "hot_writes", "hot_space"];
        let content = toml::Table::try_from(&trace.content).unwrap();
        let content: Vec<String> = content.keys().map(|key| format!("content.{key}")).collect();
        fields.extend(content.iter().map(String::as_str));
        let mut noted: Vec<&str> = trace.notes.iter().map(|(field, _)| *field).collect();
        fields.sort_unstable();
        noted.sort_unstable();
        assert_eq!(noted, fields, "{}", trace.entry.name);
        assert!(trace.notes.iter().all(|(_, source)| !source.is_empty()));
    }
}

#[test]
fn given_settings_replace_those_of_the_trace() {
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
    let refusal = |text: &str| toml::from_str::<WorkloadConfig>(text).unwrap_err().to_string();
    assert!(refusal("kind = 'fiu'").contains("missing field `trace`, one of homes, web_vm, mail"));
    assert!(refusal("kind = 'fiu'\ntrace = 'web'").contains("is called \"web\"; one of homes, web_vm, mail"));
    assert!(refusal("kind = 'fiu'\ntrace = 'mail'\nhot_space = 'x'").contains("must be a number"));
    assert!(refusal("kind = 'fiu'\ntrace = 'mail'\nread_ration = 1").contains("no key `read_ration`"));
}

/// Compares with samples of the traces, which are not part of the repository. The samples are short, so duplicates of
/// older contents are missed.
#[test]
fn samples_agree_with_noted_rewrites_and_deaths() {
    let Some(folder) = std::env::var_os("WEARWELL_TRACES").map(std::path::PathBuf::from) else {
        return eprintln!("skipped: WEARWELL_TRACES does not name a directory of traces");
    };
    let files = ["fiu-homes", "fiu-webvm", "fiu-mail-a"];
    for (file, (_, overwritten_alike)) in files.into_iter().zip(OVERWRITTEN_ALIKE) {
        let path = folder.join(format!("{file}.blkparse.zst"));
        if !path.exists() {
            continue;
        }
        let mut reader = wearwell_trace::open(&path, &ReadOptions::default()).unwrap();
        let (mut census, mut requests) = (Census::default(), RequestBatch::default());
        while reader.read_batch(&mut requests, 1000).unwrap() > 0 {
            for at in (0..requests.len()).filter(|&at| requests.op[at] == Op::Write) {
                assert_eq!(requests.length_bytes[at], 4096, "{file}: a page a line");
                let digest = u128::from_be_bytes(page_digest(requests.digests_of(at)));
                census.write(requests.offset_bytes[at], Content((digest >> 64) as u64));
            }
        }
        let alike = census.same as f64 / census.overwritten as f64;
        println!(
            "{file}: {} pages written, duplicates {:.3}, rewritten alike {alike:.3}, dead by references {:?}",
            census.written,
            census.dedup_ratio(),
            census.dead
        );
        assert!((alike - overwritten_alike).abs() < 0.005, "{file}: {alike}");
        assert!(census.dead_share(2) < 0.2, "{file}: {:?}", census.dead);
    }
}
