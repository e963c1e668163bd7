//! Usual names of columns.

/// Returns the words of a name in lower case without its unit, and the unit.
pub fn words_of(name: &str) -> (String, Option<&'static str>) {
    const UNITS: [(&str, &[&str]); 9] = [
        ("ns", &["ns", "nsec", "nanoseconds", "nanosecond"]),
        ("us", &["us", "usec", "usecs", "µs", "microseconds", "microsecond"]),
        ("ms", &["ms", "msec", "msecs", "milliseconds", "millisecond"]),
        ("s", &["s", "sec", "secs", "second", "seconds"]),
        ("filetime", &["filetime"]),
        ("bytes", &["b", "byte", "bytes"]),
        ("sectors", &["sector", "sectors"]),
        ("pages", &["page", "pages"]),
        ("KiB", &["kb", "kib"]),
    ];
    let mut spaced = String::new();
    let letters: Vec<char> = name.chars().collect();
    for (at, &letter) in letters.iter().enumerate() {
        let after = letters.get(at + 1).is_some_and(|next| next.is_lowercase());
        let before = at.checked_sub(1).map(|at| letters[at]);
        let begins = letter.is_uppercase() && before.is_some_and(|before| before.is_lowercase() || after);
        if begins || !letter.is_alphanumeric() {
            spaced.push(' ');
        }
        spaced.extend(letter.to_lowercase().filter(|letter| letter.is_alphanumeric()));
    }
    let mut unit = None;
    let mut words: Vec<&str> = Vec::new();
    for word in spaced.split_whitespace() {
        match UNITS.iter().find(|(_, names)| names.contains(&word)) {
            Some((found, _)) => unit = Some(*found),
            None => words.push(word),
        }
    }
    (words.join(" "), unit)
}

/// Usual names of columns, without units, by field.
pub const FIELDS: [(&str, &[&str]); 5] = [
    (
        "time",
        &[
            "time",
            "timestamp",
            "ts",
            "arrival",
            "arrival time",
            "start time",
            "issue time",
            "submit time",
            "request time",
            "t",
            "clock",
            "time stamp",
            "epoch",
        ],
    ),
    (
        "op",
        &[
            "op",
            "type",
            "opcode",
            "operation",
            "io type",
            "iotype",
            "rw",
            "r w",
            "rwbs",
            "cmd",
            "command",
            "request type",
            "req type",
            "op type",
            "optype",
            "is write",
            "iswrite",
            "io op",
            "kind",
            "direction",
            "dir",
            "access",
        ],
    ),
    (
        "offset",
        &[
            "offset",
            "lba",
            "lbn",
            "address",
            "addr",
            "start lba",
            "slba",
            "blkno",
            "block",
            "block number",
            "blk",
            "start",
            "start address",
            "pos",
            "position",
            "byte offset",
            "logical block",
        ],
    ),
    (
        "size",
        &[
            "size",
            "length",
            "len",
            "count",
            "nlb",
            "nblocks",
            "nr",
            "num",
            "n",
            "io size",
            "request size",
            "req size",
            "transfer size",
            "xfer size",
            "nr blocks",
            "block count",
            "blocks",
            "amount",
        ],
    ),
    (
        "volume",
        &[
            "volume",
            "vol",
            "dev",
            "device",
            "disk",
            "disk id",
            "diskid",
            "disk number",
            "device id",
            "dev id",
            "volume id",
            "lun",
            "asu",
            "drive",
            "nsid",
            "namespace",
        ],
    ),
];
