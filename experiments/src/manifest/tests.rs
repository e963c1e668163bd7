//! Tests of all manifests.

use super::*;

#[test]
fn manifests_can_be_read_and_name_each_item_once() {
    let manifests = all().unwrap();
    let mut names: Vec<String> = items(&manifests).map(|found| found.name()).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
}

#[test]
fn every_item_has_a_source_of_its_data_or_a_reason_for_none() {
    let manifests = all().unwrap();
    for found in items(&manifests) {
        let Item { program, data_of, impossible, .. } = found.item;
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
fn claims_are_decided_in_one_way_and_differences_have_reasons() {
    for found in items(&all().unwrap()) {
        assert!(found.item.impossible.is_some() || !found.item.claims.is_empty(), "{}", found.name());
        for claim in &found.item.claims {
            let place = format!("{}: {}", found.name(), claim.says);
            assert!(claim.statement.is_some() != claim.numbers.is_some(), "{place}");
            assert!(claim.why.is_some() || claim.verdict == Verdict::Reproduced, "{place}: why?");
            let Some(Numbers { printed, printed_column, tolerance, .. }) = &claim.numbers else { continue };
            assert!(printed.is_some() != printed_column.is_some(), "{place}");
            let Tolerance { within, percent, half_widths, at_least, at_most, .. } = tolerance;
            let ways = [within.is_some(), percent.is_some(), !half_widths.is_empty(), *at_least, *at_most];
            assert_eq!(ways.iter().filter(|there| **there).count(), 1, "{place}: one tolerance");
        }
    }
}

#[test]
fn costs_are_those_of_items() {
    let (manifests, costs) = (all().unwrap(), Costs::shipped().unwrap());
    for (name, seconds) in costs.quick_core_seconds.iter().chain(&costs.full_core_seconds) {
        assert!(find(&manifests, name).unwrap().item.program.is_some(), "{name}");
        assert!(*seconds > 0.0 && seconds.is_finite(), "{name}");
    }
}

#[test]
fn unknown_names_are_refused_with_existing_ones() {
    let manifests = all().unwrap();
    let error = |name: &str| named(&manifests, name).unwrap_err().to_string();
    assert!(error("gecko").contains("geckoftl"), "{}", error("gecko"));
    assert!(error("hot_cold/table-9").contains("table-1"), "{}", error("hot_cold/table-9"));
    assert!(find(&manifests, "cagc").unwrap_err().to_string().contains("cagc/ITEM"));
}

#[test]
fn verdict_of_all_combines_those_of_the_parts() {
    use Verdict::{NotReproduced, Partly, Reproduced, Undecided};
    assert_eq!(Verdict::of_all([Reproduced, Reproduced]), Some(Reproduced));
    assert_eq!(Verdict::of_all([Reproduced, NotReproduced]), Some(Partly));
    assert_eq!(Verdict::of_all([NotReproduced, NotReproduced]), Some(NotReproduced));
    assert_eq!(Verdict::of_all([Partly, Reproduced]), Some(Partly));
    assert_eq!(Verdict::of_all([Undecided, Reproduced]), Some(Reproduced));
    assert_eq!([Verdict::of_all([]), Verdict::of_all([Undecided])], [None, None]);
}
