//! Tests every option and argument of every command, read from the commands' definitions, with invalid values.

use super::{Case, CaseRandom};
use crate::common::SMALL;
use crate::fleet::FLEET;
use clap::Arg;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use wearwell_cli::Program;

/// A trace of a few requests, as a table.
const TRACE: &str = "time_us,op,sector,bytes\n0,W,0,4096\n5,W,8,8192\n9,R,8,4096\n12,W,400,512\n";
/// Columns of the trace.
const COLUMNS: &str = "time=time_us:us,op=op,offset=sector:512,size=bytes:bytes";

/// Base arguments of commands, with files that always exist. Other commands are tested from no arguments, so they must
/// require none; `every_command_has_cases` checks this.
const BASE_ARGUMENTS: &[(&str, &[&str])] = &[
    ("run", &["small.toml"]),
    ("sweep", &["small.toml", "--vary", "seed=1,2"]),
    ("results", &["no-store"]),
    ("compare", &["small.toml", "small.toml"]),
    ("report", &["small.toml", "--output", "new.html"]),
    ("plot", &["small.toml", "--figure", "course", "--output", "new.svg"]),
    ("play", &["small.toml", "--output", "new.html", "--steps", "20"]),
    ("drive", &["--capacity", "16 GiB", "--over-provisioning", "0.07"]),
    ("fleet", &["fleet.toml"]),
    ("power", &["power.toml"]),
    ("advise", &["small.toml", "--quick", "--only", "victim", "--replicas", "1"]),
    ("top", &["no-folder", "--once"]),
    ("reproduce", &["geckoftl/table-1", "--quick"]),
    ("image info", &["no-folder"]),
    ("image fsck", &["no-folder"]),
    ("image dump", &["no-folder"]),
    ("pull-plug", &["no-folder"]),
    ("limit", &["small.toml", "--placements", "none", "--victims", "none"]),
    ("theory", &["--scenario", "small.toml"]),
    ("theory windowed", &["--window-share", "0.1"]),
    ("theory optimal-choices", &["--pages-per-block", "8"]),
    ("theory solve-spare", &["--target-wa", "2.5", "--pages-per-block", "8"]),
    ("theory transient", &["--pages-per-block", "8", "--drive-writes", "1"]),
    ("nvmfs mkfs", &["--nvram", "nvram", "--ssd", "ssd", "--size", "4 MiB", "--ssd-size", "32 MiB"]),
    ("nvmfs mount", &["--nvram", "no-nvram", "--ssd", "no-ssd", "no-folder"]),
    ("nvmfs umount", &["no-folder"]),
    ("nvmfs fsck", &["--nvram", "no-nvram", "--ssd", "no-ssd"]),
    ("nvmfs stats", &["--nvram", "no-nvram", "--ssd", "no-ssd"]),
    ("nvmfs snapshot create", &["--nvram", "no-nvram", "--ssd", "no-ssd", "a"]),
    ("nvmfs snapshot delete", &["--nvram", "no-nvram", "--ssd", "no-ssd", "a"]),
    ("nvmfs snapshot list", &["--nvram", "no-nvram", "--ssd", "no-ssd"]),
    ("check theory", &["--points", "1", "--blocks", "100", "--runs", "2"]),
    ("trace describe", &["trace.csv", "--columns", COLUMNS]),
    ("trace convert", &["trace.csv", "new.csv", "--columns", COLUMNS, "--to", "wearwell-csv"]),
    ("trace cut", &["trace.csv", "new.csv", "--columns", COLUMNS, "--to", "wearwell-csv"]),
    ("trace generate", &["new.csv", "--to", "wearwell-csv", "--kind", "uniform", "--requests", "10"]),
    ("trace check", &["trace.csv", "--columns", COLUMNS]),
    ("trace columns", &["trace.csv"]),
    ("scenario check", &["small.toml"]),
    ("completions", &["bash"]),
    ("man", &["manual"]),
];

/// Replacements for values.
const VALUES: &[&str] = &[
    "",
    " ",
    "nonsense",
    "-",
    "--",
    "-1",
    "-0.0",
    "0",
    "1e-300",
    "1e300",
    "NaN",
    "inf",
    "-inf",
    "18446744073709551616",
    "4294967295",
    "0x10",
    "1,,2",
    "a=b",
    "=",
    "[0",
    "{ kind = 'x' }",
    "1..0",
    "0 B",
    "99 EiB",
    ".",
    "full",
    "no/folder/there.json",
    "\n",
    "😀\u{202e}",
];

/// Options whose large values only make the command take long.
const SLOW_OPTIONS: &[(&str, &str, &str)] = &[
    ("limit", "--drive-writes", "4294967295"),
    ("run", "--drive-writes", "4294967295"),
    ("sweep", "--drive-writes", "4294967295"),
    ("power", "--drive-writes", "4294967295"),
    ("trace generate", "--requests", "4294967295"),
];

/// Commands that take more than a moment without any argument.
const SLOW_COMMANDS: &[&str] = &["run", "limit", "power", "advise", "check theory"];

/// Commands that serve until they are ended. Their own options are tested elsewhere; the other options are those of
/// `run`.
const SERVING_COMMANDS: &[&str] = &["explore", "serve", "live demo"];

/// Returns the base arguments of a command. A command without a row has none, unless it requires arguments or serves
/// until it is ended.
fn base_arguments(path: &str, command: &clap::Command) -> Option<&'static [&'static str]> {
    let row = BASE_ARGUMENTS.iter().find(|(name, _)| *name == path).map(|(_, base)| *base);
    let runs_alone = !SERVING_COMMANDS.contains(&path) && !command.get_arguments().any(Arg::is_required_set);
    row.or(runs_alone.then_some(&[]))
}

/// Returns the words of a base without an option and its values.
fn without_option(base: &[&'static str], option: &str) -> Vec<&'static str> {
    let mut words = Vec::new();
    let mut is_value = false;
    for &word in base {
        if word.starts_with("--") {
            is_value = word == option;
        }
        if !is_value {
            words.push(word);
        }
        // An option has one value; the following words belong to the command.
        is_value &= word == option;
    }
    words
}

/// Collects all commands without subcommands, with their words.
fn leaf_commands<'a>(command: &'a clap::Command, path: &str, found: &mut Vec<(String, &'a clap::Command)>) {
    let mut below = command.get_subcommands().filter(|command| command.get_name() != "help").peekable();
    let is_leaf = below.peek().is_none();
    let runs = is_leaf || (!command.is_subcommand_required_set() && !path.is_empty());
    if runs {
        found.push((path.trim().to_owned(), command));
    }
    for command in below {
        leaf_commands(command, &format!("{path} {}", command.get_name()), found);
    }
}

/// Returns the words that an error about an argument may use: its names, and the scenario key that it sets.
fn names(arg: &Arg) -> Vec<String> {
    let long = arg.get_long().map(|long| format!("--{long}"));
    let values = arg.get_value_names().unwrap_or_default().iter().map(ToString::to_string);
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let keys = help.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
    // For a key: its last word, and the table that contains it.
    let parts = |key: &String| {
        let (table, name) = key.split_once('.')?;
        Some([format!("{table}:"), name.rsplit('.').next().unwrap_or(name).to_owned()])
    };
    let parts: Vec<_> = keys.iter().filter_map(parts).flatten().collect();
    let generic = [
        "UTF-8",
        "too long",
        "standard input",
        "small.toml",
        "trace",
        "(standard input)",
        "option",
        "spare",
        "a sweep of",
        "nobody serves",
        "nvram",
        "ssd",
    ]
    .map(str::to_owned);
    long.into_iter().chain(values).chain(keys).chain(parts).chain(generic).collect()
}

/// Returns a case of the command at `path`, with the common files.
fn case(path: &str, what: &str, words: Vec<OsString>) -> Case {
    let arguments = path.split(' ').map(OsString::from).chain(words);
    let power = SMALL.replace("name = \"small\"", "ftl = \"gecko\"").replace("load = 0.8", "load = 0.7");
    Case::new(format!("{path}: {what}"), arguments)
        .file("small.toml", SMALL)
        .file("fleet.toml", FLEET)
        .file("power.toml", power)
        .file("trace.csv", TRACE)
}

fn os_strings(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}

/// Adds cases with every kind of invalid value of an option.
fn add_option_cases(path: &str, base: &[&'static str], arg: &Arg, cases: &mut Vec<Case>) {
    let Some(long) = arg.get_long().map(|long| format!("--{long}")) else { return };
    let rest = without_option(base, &long);
    let add = |what: &str, words: Vec<OsString>| {
        let value = words.last().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
        let value = value.split_once('=').map(|(_, value)| value.trim().to_owned());
        // If the value is a setting `key=value`, the error may name its key instead.
        let key = value.as_ref().and_then(|value| Some(value.split_once('=')?.0.to_owned()));
        let value = value.into_iter().chain(key).filter(|value| !value.trim().is_empty());
        let words = os_strings(&rest).into_iter().chain(words).collect();
        let case = case(path, &format!("{long} {what}"), words);
        // Without a value, or with a repeated option, the message need not name the value.
        let is_named = value.clone().count() > 0 && !what.contains("twice");
        if is_named { case.expect_words(names(arg)).expect_words(value) } else { case }
    };
    if !arg.get_action().takes_values() {
        cases.push(add("with a value", vec![format!("{long}=nonsense").into()]).expect_failure());
        cases.push(add("given twice", vec![long.clone().into(), long.clone().into()]));
        return;
    }
    cases.push(add("without a value", vec![long.clone().into()]).expect_failure());
    for value in VALUES.iter().filter(|value| !SLOW_OPTIONS.contains(&(path, &long, value))) {
        cases.push(add(&format!("{value:?}"), vec![format!("{long}={value}").into()]));
    }
    let long_value = "9".repeat(600);
    cases.push(add("with 600 digits", vec![format!("{long}={long_value}").into()]));
    let bytes = [format!("{long}=").into_bytes(), vec![0xff, 0xfe]].concat();
    cases.push(add("that is no UTF-8", vec![OsString::from_vec(bytes)]));
    let twice = ["1", "2"].map(|value| format!("{long}={value}").into());
    cases.push(add("given twice", twice.into()));
}

/// Adds cases for the positional arguments.
fn add_positional_cases(path: &str, base: &[&'static str], command: &clap::Command, cases: &mut Vec<Case>) {
    let options = base.iter().position(|word| word.starts_with("--")).unwrap_or(base.len());
    let (options_part, rest) = base.split_at(options);
    let names: Vec<String> = command.get_positionals().flat_map(names).collect();
    for position in 0..options_part.len() {
        // `--` leaves no positional argument.
        for value in VALUES.iter().filter(|value| **value != "--") {
            let mut words = os_strings(options_part);
            words[position] = value.into();
            let words = words.into_iter().chain(os_strings(rest)).collect();
            let case = case(path, &format!("{value:?} at {position}"), words);
            let is_blank = value.trim().is_empty();
            cases.push(if is_blank {
                case
            } else {
                case.expect_words(names.clone()).expect_words([
                    "small.toml",
                    "(standard input)",
                    value.trim(),
                ])
            });
        }
        let bytes = OsString::from_vec(vec![b'a', 0xff, 0xfe]);
        let words = os_strings(&options_part[..position])
            .into_iter()
            .chain([bytes])
            .chain(os_strings(&options_part[position + 1..]));
        cases.push(case(path, "no UTF-8", words.chain(os_strings(rest)).collect()));
    }
}

/// Returns all cases.
pub fn cases() -> Vec<Case> {
    let program = Program::default();
    let (mut found, mut cases) = (Vec::new(), Vec::new());
    leaf_commands(program.commands(), "", &mut found);
    for (path, command) in &found {
        let Some(base) = base_arguments(path, command) else { continue };
        cases.push(case(path, "as it is", os_strings(base)));
        for arg in command.get_arguments().filter(|arg| !["help", "version"].contains(&arg.get_id().as_str()))
        {
            add_option_cases(path, base, arg, &mut cases);
        }
        add_positional_cases(path, base, command, &mut cases);
        let more =
            |words: &[&str]| base.iter().copied().chain(words.iter().copied()).map(Into::into).collect();
        cases.push(
            case(path, "an option too many", more(&["--no-such-option"]))
                .expect_words(["--no-such-option"])
                .expect_failure(),
        );
        cases.push(case(path, "arguments too many", more(&["x1", "x2", "x3", "x4", "x5"])));
        if !SLOW_COMMANDS.contains(&path.as_str()) {
            cases.push(case(path, "nothing", Vec::new()));
        }
        cases.push(case(path, "help", more(&["--help"])));
    }
    add_combined_cases(&mut cases);
    cases
}

/// Adds cases with several options at once, drawn at random.
fn add_combined_cases(cases: &mut Vec<Case>) {
    let mut draws = CaseRandom(15);
    let flags = [
        "--seed",
        "--capacity",
        "--spare-factor",
        "--victim",
        "--drive-writes",
        "--set",
        "--unset",
        "--placement",
    ];
    for number in 0..300 {
        let words = (0..2 + draws.below(4)).flat_map(|_| {
            let flag = *draws.choose(&flags);
            [format!("{flag}={}", draws.choose(VALUES)).into()]
        });
        let words = [OsString::from("small.toml")].into_iter().chain(words).collect();
        cases.push(case("run", &format!("drawn {number}"), words));
    }
}

#[test]
fn every_command_has_cases() {
    let program = Program::default();
    let mut found = Vec::new();
    leaf_commands(program.commands(), "", &mut found);
    for (path, command) in found {
        let is_tried = base_arguments(&path, command).is_some() || SERVING_COMMANDS.contains(&path.as_str());
        assert!(is_tried, "hostile/options.rs: say what `{path}` needs");
    }
}
