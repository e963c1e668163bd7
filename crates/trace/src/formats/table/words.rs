//! Words for the operation of a request.

use crate::fields::parse_hexadecimal;
use crate::request::Op;

/// Meaning of a word for its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WordMeaning {
    /// The row is a request of this kind.
    Request(Op),
    /// The row is not a request.
    Skip,
}

/// A named set of words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WordSet {
    /// English words, letters and the letters of blktrace, upper or lower case.
    Words,
    /// SCSI operation codes, hexadecimal.
    Scsi,
    /// NVMe operation codes of I/O commands, hexadecimal.
    Nvme,
}

const SETS: [(&str, WordSet); 3] =
    [("words", WordSet::Words), ("scsi", WordSet::Scsi), ("nvme", WordSet::Nvme)];

/// Allowed text after the colon of `op=COLUMN:`.
pub const WORDS_HELP: &str = "words (R, read, W, write, D, discard, trim, unmap, F, flush, and RWBS letters), scsi or nvme \
                              codes, or WORD=read, WORD=write, WORD=trim, WORD=flush, WORD=skip, joined by /";

const READS: &[&str] = &["r", "rd", "read", "reads"];
const WRITES: &[&str] = &["w", "wr", "write", "writes"];
const TRIMS: &[&str] = &["d", "t", "u", "discard", "trim", "unmap", "deallocate"];
const FLUSHES: &[&str] = &["f", "flush", "sync", "fsync"];

/// Words in a column of operations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpWords {
    /// Words defined by the user, which take precedence over those of the set.
    custom: Vec<(String, WordMeaning)>,
    set: Option<WordSet>,
    /// Meaning of each single byte.
    letters: [Option<WordMeaning>; 256],
}

impl Default for OpWords {
    fn default() -> Self {
        Self::new(Vec::new(), Some(WordSet::Words))
    }
}

impl OpWords {
    fn new(custom: Vec<(String, WordMeaning)>, set: Option<WordSet>) -> Self {
        let mut words = OpWords { custom, set, letters: [None; 256] };
        words.letters = std::array::from_fn(|byte| words.find_meaning(&[byte as u8]));
        words
    }

    /// Parses words written as `scsi` or `0=read/1=write`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (mut custom, mut set) = (Vec::new(), None);
        for part in text.split('/').map(str::trim) {
            let named = SETS.iter().find(|(name, _)| *name == part);
            match (part.rsplit_once('='), named) {
                (None, Some((_, named))) => set = Some(*named),
                (Some((word, op)), _) if !word.is_empty() => {
                    let meaning = parse_meaning(op)
                        .ok_or_else(|| format!("`{}` is no operation", op.escape_debug()))?;
                    custom.push((word.to_owned(), meaning));
                }
                _ => return Err(format!("`{}` names no words", part.escape_debug())),
            }
        }
        Ok(Self::new(custom, set))
    }

    /// Returns the meaning of `word`.
    #[inline]
    pub fn meaning(&self, word: &[u8]) -> Option<WordMeaning> {
        match word {
            [letter] => self.letters[usize::from(*letter)],
            word => self.find_meaning(word),
        }
    }

    fn find_meaning(&self, word: &[u8]) -> Option<WordMeaning> {
        let custom = self.custom.iter().find(|(own, _)| own.as_bytes().eq_ignore_ascii_case(word));
        custom.map(|(_, meaning)| *meaning).or_else(|| self.set?.op(word).map(WordMeaning::Request))
    }

    /// Returns a word for `op`.
    pub fn word(&self, op: Op) -> Option<&str> {
        let custom = self.custom.iter().find(|(_, meaning)| *meaning == WordMeaning::Request(op));
        custom.map(|(word, _)| word.as_str()).or_else(|| self.set.map(|set| set.word(op)))
    }

    /// Returns a description of the allowed words.
    pub fn expected(&self) -> String {
        let custom: Vec<_> = self.custom.iter().map(|(word, _)| word.as_str()).collect();
        let of_set = self.set.map(|set| match set {
            WordSet::Words => {
                "a word for read, write, discard or flush; say what other words mean in `columns`, as in \
                 op=COLUMN:0=read/1=write, or name their set: scsi or nvme"
            }
            WordSet::Scsi => {
                "a SCSI code of a read (08 28 88 a8), write (0a 2a 8a aa), unmap (42) or flush (35 91)"
            }
            WordSet::Nvme => "an NVMe code: 02 read, 01 write, 09 deallocate or 00 flush",
        });
        let parts = custom.into_iter().map(str::to_owned).chain(of_set.map(str::to_owned));
        parts.collect::<Vec<_>>().join(", ")
    }
}

/// Returns the operation called `name`.
pub fn parse_operation(name: &str) -> Option<Op> {
    match name {
        "read" => Some(Op::Read),
        "write" => Some(Op::Write),
        "trim" | "discard" => Some(Op::Trim),
        "flush" => Some(Op::Flush),
        _ => None,
    }
}

fn parse_meaning(name: &str) -> Option<WordMeaning> {
    match name {
        "skip" => Some(WordMeaning::Skip),
        name => parse_operation(name).map(WordMeaning::Request),
    }
}

impl WordSet {
    /// Returns the operation that `word` means.
    pub fn op(self, word: &[u8]) -> Option<Op> {
        match self {
            WordSet::Words => op_of_word(word).or_else(|| op_of_rwbs(word)),
            WordSet::Scsi => match parse_code(word)? {
                0x08 | 0x28 | 0x88 | 0xa8 => Some(Op::Read),
                0x0a | 0x2a | 0x8a | 0xaa => Some(Op::Write),
                0x42 => Some(Op::Trim),
                0x35 | 0x91 => Some(Op::Flush),
                _ => None,
            },
            WordSet::Nvme => match parse_code(word)? {
                0x00 => Some(Op::Flush),
                0x01 => Some(Op::Write),
                0x02 => Some(Op::Read),
                0x09 => Some(Op::Trim),
                _ => None,
            },
        }
    }

    fn word(self, op: Op) -> &'static str {
        let words = match self {
            WordSet::Words => ["R", "W", "D", "F"],
            WordSet::Scsi => ["28", "2a", "42", "35"],
            WordSet::Nvme => ["02", "01", "09", "00"],
        };
        words[op as usize]
    }
}

fn op_of_word(word: &[u8]) -> Option<Op> {
    let is_in = |words: &[&str]| words.iter().any(|known| known.as_bytes().eq_ignore_ascii_case(word));
    let sets = [(READS, Op::Read), (WRITES, Op::Write), (TRIMS, Op::Trim), (FLUSHES, Op::Flush)];
    sets.into_iter().find(|(words, _)| is_in(words)).map(|(_, op)| op)
}

/// Parses the RWBS column of blktrace: F before the letter means preflush; FUA, ahead, sync and metadata follow it.
fn op_of_rwbs(word: &[u8]) -> Option<Op> {
    let (op, modifiers) = match word {
        [b'F', b'F' | b'N', modifiers @ ..] => (Op::Flush, modifiers),
        [b'F', b'R', modifiers @ ..] | [b'R', modifiers @ ..] => (Op::Read, modifiers),
        [b'F', b'W', modifiers @ ..] | [b'W', modifiers @ ..] => (Op::Write, modifiers),
        [b'D', modifiers @ ..] => (Op::Trim, modifiers),
        _ => return None,
    };
    modifiers.iter().all(|letter| b"FASM".contains(letter)).then_some(op)
}

/// Parses a hexadecimal code with or without `0x`.
fn parse_code(word: &[u8]) -> Option<u64> {
    let digits = word.strip_prefix(b"0x").or_else(|| word.strip_prefix(b"0X")).unwrap_or(word);
    parse_hexadecimal(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn op(words: &str, word: &str) -> Option<Op> {
        match OpWords::parse(words).unwrap().meaning(word.as_bytes())? {
            WordMeaning::Request(op) => Some(op),
            WordMeaning::Skip => None,
        }
    }

    #[test]
    fn words_match_in_any_case_with_letters_and_codes() {
        use Op::*;
        let cases = [
            ("words", "R", Read),
            ("words", "WRITE", Write),
            ("words", "Write", Write),
            ("words", "d", Trim),
            ("words", "Unmap", Trim),
            ("words", "flush", Flush),
            ("words", "WSM", Write),
            ("words", "FWFS", Write),
            ("words", "RA", Read),
            ("words", "FF", Flush),
            ("scsi", "2A", Write),
            ("scsi", "0x28", Read),
            ("nvme", "0x9", Trim),
            ("1=read/0=write", "0", Write),
            ("words/erase=trim", "Erase", Trim),
            ("words/erase=trim", "r", Read),
        ];
        for (words, word, expected) in cases {
            assert_eq!(op(words, word), Some(expected), "{words}: {word}");
        }
        for (words, word) in
            [("words", "0"), ("words", "28"), ("words", ""), ("words", "WX"), ("0=read", "1")]
        {
            assert_eq!(op(words, word), None, "{words}: {word}");
        }
        assert_eq!(OpWords::parse("C=skip").unwrap().meaning(b"C"), Some(WordMeaning::Skip));
    }

    #[test]
    fn written_words_are_read_back() {
        for words in ["words", "scsi", "nvme", "0=read/1=write/2=trim/3=flush"] {
            let words = OpWords::parse(words).unwrap();
            for op in [Op::Read, Op::Write, Op::Trim, Op::Flush] {
                assert_eq!(words.meaning(words.word(op).unwrap().as_bytes()), Some(WordMeaning::Request(op)));
            }
        }
        assert_eq!(OpWords::parse("0=read").unwrap().word(Op::Write), None);
    }

    #[test]
    fn unknown_words_are_refused_by_name() {
        for (text, named) in [("rw", "`rw`"), ("0=reed", "`reed`"), ("=read", "`=read`"), ("", "``")] {
            assert!(OpWords::parse(text).unwrap_err().contains(named), "{text}");
        }
    }
}
