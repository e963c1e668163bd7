//! Tests of damaged traces in every format: invalid fields, truncation, other formats, other encodings, broken
//! compression.

use super::{Case, CaseRandom};
use crate::common::repository;
use std::io::Write;
use wearwell_trace::{FORMATS, Format};

/// Number of requests of a sample that are used.
const SAMPLE_LINES: usize = 8;

/// Number of bytes of a binary sample that are used.
const SAMPLE_BYTES: usize = 480;

/// Replacements for fields.
const FIELDS: &[&str] = &[
    "",
    "-1",
    "x",
    "NaN",
    "inf",
    "1e309",
    "18446744073709551616",
    "9223372036854775808",
    "-9223372036854775809",
    "0x",
    "1.5.2",
    "\"",
    "\0",
    "é",
    "99999999999999999999999999",
    " ",
    "1e18",
    "4294967297",
];

/// Returns the first requests of the sample of a format.
fn sample(format: &Format) -> Vec<u8> {
    let folder = std::fs::read_dir(repository().join("traces/samples")).expect("samples");
    let mut paths: Vec<_> = folder.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    let path = paths.iter().find(|path| path.file_stem().is_some_and(|stem| stem == format.name));
    let bytes =
        std::fs::read(path.unwrap_or_else(|| panic!("no sample of {}", format.name))).expect("a sample");
    match std::str::from_utf8(&bytes).ok().filter(|text| !text.contains('\0')) {
        Some(text) => text
            .lines()
            .take(SAMPLE_LINES + 4)
            .map(|line| format!("{line}\n"))
            .collect::<String>()
            .into_bytes(),
        None => bytes[..SAMPLE_BYTES.min(bytes.len())].to_vec(),
    }
}

/// Returns the options that a format requires.
fn options(format: &Format) -> Vec<String> {
    let needed = format.options.iter().filter(|option| option.default.is_none());
    let value = |option: &wearwell_trace::OptionSpec| match option.text {
        Some(text) => text.example,
        None => option.choices.last().expect("a choice"),
    };
    let columns = "columns=time=ts:ns,op=type,offset=lba:512,size=len:512";
    let words = needed.map(|option| format!("{}={}", option.name, value(option)));
    let words = words.map(|word| if word.starts_with("columns=") { columns.to_owned() } else { word });
    words.flat_map(|word| ["--trace-option".to_owned(), word]).collect()
}

/// Generator of cases that read a trace with alternating commands.
struct ReadCases<'a> {
    format: &'a Format,
    cases: Vec<Case>,
}

impl ReadCases<'_> {
    /// Adds a case that checks the trace. For some traces, also adds a case with another command.
    fn add(&mut self, what: &str, ending: &str, content: Vec<u8>) {
        let file = format!("bad{ending}");
        let name = self.format.name;
        let columns_command = [file.as_str(), "trace", "columns"];
        let read = ["--trace-format", name].map(str::to_owned).into_iter().chain(options(self.format));
        let words = |command: &[&str]| -> Vec<String> {
            command.iter().map(ToString::to_string).chain(read.clone()).collect()
        };
        let case = |command: &[&str]| {
            Case::new(format!("{name}: {what}"), words(command))
                .file(&file, content.clone())
                .expect_words(columns_command)
        };
        let number = self.cases.len();
        self.cases.push(match number % 2 {
            0 => case(&["trace", "check", &file]),
            _ => case(&["trace", "check", &file, "--skip-bad"]),
        });
        match number % 5 {
            0 => self.cases.push(case(&["trace", "describe", &file])),
            1 => self.cases.push(case(&["trace", "convert", &file, "new.csv", "--to", "wearwell-csv"])),
            2 => self.cases.push(
                Case::new(format!("{name}: {what}"), ["trace", "columns", &file])
                    .file(&file, content)
                    .expect_words(columns_command),
            ),
            _ => {}
        }
    }

    /// Adds cases with single fields of a text replaced.
    fn fields(&mut self, text: &str, draws: &mut CaseRandom) {
        let lines: Vec<&str> = text.lines().collect();
        for (at, line) in lines.iter().enumerate().skip(lines.len() / 2).take(2) {
            let separator = if line.contains(',') { ',' } else { ' ' };
            let fields: Vec<&str> = line.split(separator).collect();
            for position in 0..fields.len() {
                for _ in 0..3 {
                    let field = *draws.choose(FIELDS);
                    let changed = [&fields[..position], &[field], &fields[position + 1..]].concat();
                    let changed = changed.join(&separator.to_string());
                    let all = [&lines[..at], &[&changed], &lines[at + 1..]].concat().join("\n");
                    self.add(
                        &format!("field {position} of line {at} is {field:?}"),
                        ".txt",
                        all.into_bytes(),
                    );
                }
            }
        }
        let utf_16: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        self.add("UTF-16", ".txt", utf_16);
        self.add("carriage returns", ".txt", text.replace('\n', "\r").into_bytes());
        self.add("with a mark", ".txt", format!("\u{feff}{text}").into_bytes());
        self.add(
            "with long lines",
            ".txt",
            text.replace('\n', &format!("{}\n", " x".repeat(50_000))).into_bytes(),
        );
    }

    /// Adds cases with changed, missing and additional bytes.
    fn bytes(&mut self, sample: &[u8], draws: &mut CaseRandom) {
        for number in 0..12 {
            self.add(&format!("cut ({number})"), ".bin", sample[..draws.below(sample.len())].to_vec());
            let mut changed = sample.to_vec();
            for _ in 0..1 + draws.below(4) {
                let at = draws.below(changed.len());
                changed[at] = *draws.choose(&[0, 0xff, 0x80, b'9', b'\n', b'-', b',']);
            }
            self.add(&format!("damaged ({number})"), ".bin", changed);
        }
        self.add("empty", ".txt", Vec::new());
        self.add("zeros", ".bin", vec![0; 3000]);
        self.add("every byte", ".bin", (0..=255).cycle().take(2000).collect());
        self.add("one byte", ".bin", vec![b'1']);
        self.add("a long line", ".txt", vec![b'7'; 300_000]);
    }

    fn compressed(&mut self, sample: &[u8]) {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(sample).expect("memory");
        let gzip = gzip.finish().expect("memory");
        let mut corrupt = gzip.clone();
        let sum = corrupt.len() - 6;
        corrupt[sum] ^= 0xff;
        let zstd = zstd::encode_all(sample, 1).expect("memory");
        for (what, ending, bytes) in [("gzip", ".gz", &gzip), ("zstd", ".zst", &zstd)] {
            self.add(&format!("{what} cut at its end"), ending, bytes[..bytes.len() - 5].to_vec());
            self.add(&format!("{what} cut in the middle"), ending, bytes[..bytes.len() / 2].to_vec());
            self.add(&format!("{what} cut in its head"), ending, bytes[..3].to_vec());
            self.add(&format!("{what} with more behind"), ending, [bytes, &b"more"[..]].concat());
        }
        self.add("gzip with a wrong sum", ".gz", corrupt);
        self.add("xz that is none", ".xz", [&[0xfd, b'7', b'z', b'X', b'Z', 0], sample].concat());
        self.add("named gzip, and plain", ".gz", sample.to_vec());
    }
}

/// Returns all cases.
pub fn cases() -> Vec<Case> {
    let samples: Vec<Vec<u8>> = FORMATS.iter().map(|format| sample(format)).collect();
    let (mut cases, mut draws) = (Vec::new(), CaseRandom(11));
    for (format, sample) in FORMATS.iter().zip(&samples) {
        let mut reading = ReadCases { format, cases: Vec::new() };
        if let Ok(text) = std::str::from_utf8(sample) {
            reading.fields(text, &mut draws);
        }
        reading.bytes(sample, &mut draws);
        reading.compressed(sample);
        for (other_format, content) in
            FORMATS.iter().zip(&samples).filter(|(other, _)| other.name != format.name)
        {
            reading.add(&format!("it is {}", other_format.name), ".txt", content.clone());
        }
        cases.append(&mut reading.cases);
    }
    cases
}
