//! Invalid files: each is refused with the place and the key of the error.

use super::*;

const VALID_FLEET: &str = "\
[[group]]
name = \"g\"
drives = 10
price = 100
device = { blocks_per_plane = 1000, pages_per_block = 8, spare_factor = 0.2, endurance_cycles = 1000 }

[[tenant]]
name = \"t\"
share = 1
drive_writes_per_day = 1
workload = { kind = \"uniform\" }
";

fn refusal(text: &str) -> String {
    let draft = Draft::from_toml(text, "fleet.toml");
    let refused = draft.map_err(FleetError::from).and_then(|draft| of_draft(&draft, Path::new("/nowhere")));
    match refused {
        Ok(_) => panic!("it is not refused:\n{text}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn invalid_fleet_is_refused_with_line_and_key() {
    assert!(of_draft(&Draft::from_toml(VALID_FLEET, "fleet.toml").unwrap(), Path::new("")).is_ok());
    let cases = [
        ("drives = 10", "drives = 0", "fleet.toml:3:", "group[0].drives: is 0"),
        ("drives = 10", "drives = -1", "fleet.toml:3:", "group[0].drives"),
        ("drives = 10", "drvies = 10", "fleet.toml:", "unknown field `drvies`"),
        ("drives = 10\n", "", "fleet.toml:", "group[0].drives: is missing"),
        ("drives = 10", "smart = \"none.csv\"", "fleet.toml:3:", "/nowhere/none.csv"),
        ("drives = 10", "drives = 4294967295", "fleet.toml:", "at most 10000000"),
        ("price = 100", "price = -1", "fleet.toml:4:", "group[0].price: is -1"),
        ("price = 100", "price = inf", "fleet.toml:4:", "settings are finite numbers"),
        (
            "price = 100",
            "price = 1\nage_years = -1",
            "fleet.toml:5:",
            "group[0].age_years: may come out as -1",
        ),
        (
            "price = 100",
            "price = 1\nage_years = 1\nage_drive_writes = 1",
            "fleet.toml:6:",
            "given beside `age_years`",
        ),
        ("price = 100", "price = 1\nendurance_factor = 0", "fleet.toml:5:", "group[0].endurance_factor"),
        ("pages_per_block = 8", "pages_per_block = 0", "fleet.toml:5:", "group[0].device"),
        ("pages_per_block = 8", "pages = 8", "fleet.toml:5:", "unknown field `pages`"),
        ("blocks_per_plane = 1000", "preset = \"plc\"", "fleet.toml:5:", "group[0].device.preset"),
        (", endurance_cycles = 1000", "", "fleet.toml:5:", "endurance_cycles: is missing"),
        ("share = 1", "share = 0", "fleet.toml:9:", "tenant[0].share: is 0"),
        ("share = 1", "drives = 11", "fleet.toml:9:", "tenant[0].drives: the tenants' drives are 11, and 10"),
        ("share = 1", "drives = 9", "fleet.toml:9:", "who has the others"),
        ("share = 1", "share = 1\ndrives = 1", "fleet.toml:9:", "tenant[0].share"),
        ("share = 1\n", "", "fleet.toml:", "tenant[0].share: is missing"),
        ("_day = 1", "_day = \"often\"", "fleet.toml:10:", "a number, or a table with a `law`"),
        ("_day = 1", "_day = { law = \"uniform\", low = 2, high = 1 }", "fleet.toml:10:", "above `high`"),
        (
            "_day = 1",
            "_day = { law = \"normal\", mean = 1, deviation = 1 }",
            "fleet.toml:10:",
            "`low` can see to",
        ),
        ("\"uniform\"", "\"uniforn\"", "fleet.toml:11:", "uniforn"),
        ("{ kind", "{ exponent = 1, kind", "fleet.toml:11:", "exponent"),
        (
            "\"uniform\"",
            "\"zipf\", exponent = { law = \"exponential\", mean = 1 }",
            "fleet.toml:11:",
            "give it bounds",
        ),
        (
            "\"uniform\"",
            "\"hot_cold\", hot_space = 0.2, hot_writes = { law = \"uniform\", low = 0.5, high = 1.5 }",
            "fleet.toml:11:",
            "tenant[0].workload.hot_writes",
        ),
        ("[[tenant]]", "[tenant]", "fleet.toml:", "tenant"),
        ("name = \"t\"", "name = \" \"", "fleet.toml:8:", "tenant[0].name: is empty"),
    ];
    for (old, new, location, problem) in cases {
        assert!(VALID_FLEET.contains(old), "{old}");
        let refusal_text = refusal(&VALID_FLEET.replacen(old, new, 1));
        assert!(
            refusal_text.starts_with(location) && refusal_text.contains(problem),
            "{old} -> {new}: {refusal_text}"
        );
    }
}

#[test]
fn invalid_what_ifs_are_refused_with_their_key() {
    let cases = [
        ("set = { \"ftl.victim\" = \"greedyy\" }", "what_if[0].set: in group \"g\": "),
        ("set = { \"tenant.share\" = 2 }", "what_if[0].set: \"tenant.share\" is not in `device` or `ftl`"),
        ("set = { \"device.spare_factor\" = 1.5 }", "what_if[0].set: in group \"g\": "),
        ("set = {}", "what_if[0].set: is empty"),
        (
            "set = { \"ftl.victim\" = \"fifo\" }\ngroups = [\"x\"]",
            "what_if[0].groups: \"x\" is no group; there are g",
        ),
        ("set = { \"ftl.victim\" = \"fifo\" }\nprice = -1", "what_if[0].price: is -1"),
    ];
    for (set, problem) in cases {
        let refusal_text = refusal(&format!("{VALID_FLEET}\n[[what_if]]\nname = \"w\"\n{set}\n"));
        assert!(
            refusal_text.starts_with("fleet.toml:") && refusal_text.contains(problem),
            "{set}: {refusal_text}"
        );
    }
    for (head, problem) in [
        ("years = 0", "years: is 0; it must be between 1 and 100"),
        ("draws = 1", "draws: is 1"),
        ("simulation = { blocks = 1 }", "simulation.blocks: is 1"),
    ] {
        let refusal_text = refusal(&format!("{head}\n{VALID_FLEET}"));
        assert!(
            refusal_text.starts_with("fleet.toml:") && refusal_text.contains(problem),
            "{head}: {refusal_text}"
        );
    }
    for text in ["", "seed = 1", "group = 3\ntenant = []", "group = []\ntenant = []", "[[group]]"] {
        assert!(refusal(text).starts_with("fleet.toml"), "{text}");
    }
}
