//! Tests of all manifests.

use super::*;

#[test]
fn manifests_can_be_read_and_name_each_item_once() {
    let manifests = read_all().unwrap();
    let mut names: Vec<String> = entries(&manifests).map(|found| found.name()).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
}

#[test]
fn every_item_has_data_source_or_reason_for_none() {
    let manifests = read_all().unwrap();
    for found in entries(&manifests) {
        let Item { program, data_source: data_of, impossible, .. } = found.item;
        let sources = [program.is_some(), data_of.is_some(), impossible.is_some()];
        assert_eq!(sources.iter().filter(|there| **there).count(), 1, "{}", found.name());
        if let Some(other) = data_of {
            let other = find(&manifests, other).unwrap();
            assert!(
                other.item.program.is_some(),
                "{} takes its data from an item with a program",
                found.name()
            );
        }
    }
}

#[test]
fn claims_have_one_tolerance_and_differences_have_reasons() {
    for found in entries(&read_all().unwrap()) {
        assert!(found.item.impossible.is_some() || !found.item.claims.is_empty(), "{}", found.name());
        for claim in &found.item.claims {
            let case = format!("{}: {}", found.name(), claim.text);
            assert!(claim.statement.is_some() != claim.numbers.is_some(), "{case}");
            assert!(claim.why.is_some() || claim.verdict == Verdict::Reproduced, "{case}: why?");
            let Some(Numbers { printed, printed_column, tolerance, .. }) = &claim.numbers else { continue };
            assert!(printed.is_some() != printed_column.is_some(), "{case}");
            let Tolerance { within, percent, half_widths, at_least, at_most, .. } = tolerance;
            let rules = [within.is_some(), percent.is_some(), !half_widths.is_empty(), *at_least, *at_most];
            assert_eq!(rules.iter().filter(|there| **there).count(), 1, "{case}: one tolerance");
        }
    }
}

#[test]
fn costs_name_existing_items() {
    let (manifests, costs) = (read_all().unwrap(), Costs::shipped().unwrap());
    for (name, seconds) in costs.quick_core_seconds.iter().chain(&costs.full_core_seconds) {
        assert!(find(&manifests, name).unwrap().item.program.is_some(), "{name}");
        assert!(*seconds > 0.0 && seconds.is_finite(), "{name}");
    }
}

#[test]
fn unknown_name_error_lists_existing_names() {
    let manifests = read_all().unwrap();
    let error = |name: &str| select(&manifests, name).unwrap_err().to_string();
    assert!(error("gecko").contains("geckoftl"), "{}", error("gecko"));
    assert!(error("hot_cold/table-9").contains("table-1"), "{}", error("hot_cold/table-9"));
    assert!(find(&manifests, "cagc").unwrap_err().to_string().contains("cagc/ITEM"));
}

#[test]
fn combined_verdict_depends_on_all_parts() {
    use Verdict::{NotReproduced, Partly, Reproduced, Undecided};
    assert_eq!(Verdict::combine([Reproduced, Reproduced]), Some(Reproduced));
    assert_eq!(Verdict::combine([Reproduced, NotReproduced]), Some(Partly));
    assert_eq!(Verdict::combine([NotReproduced, NotReproduced]), Some(NotReproduced));
    assert_eq!(Verdict::combine([Partly, Reproduced]), Some(Partly));
    assert_eq!(Verdict::combine([Undecided, Reproduced]), Some(Reproduced));
    assert_eq!([Verdict::combine([]), Verdict::combine([Undecided])], [None, None]);
}
