//! Operations as values, generated from numbers.

use rand::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use wearwell_nvmfs::api::{Allocate, BLOCK_BYTES, Kind, MAX_FILE_BYTES, Rename, Seek, SetXattr};

const BLOCK: u64 = BLOCK_BYTES as u64;
const HOUR_NS: i64 = 3_600_000_000_000;

/// Number of words from which an operation is generated.
pub const OP_WORDS: usize = 8;

/// Position in a file.
#[derive(Clone, Copy, Debug)]
pub enum Position {
    At(u64),
    /// Distance from the end of the file.
    FromEnd(i64),
}

/// Attribute to change.
#[derive(Clone, Copy, Debug)]
pub enum Attribute {
    Permissions(u32),
    Owner(u32),
    Group(u32),
    Accessed(i64),
    Modified(i64),
    Nothing,
}

/// Operation. Files are indexes into a table of known files; names are numbers.
#[derive(Clone, Debug)]
pub enum Op {
    Lookup {
        at: usize,
        name: usize,
    },
    Attributes {
        file: usize,
    },
    Change {
        file: usize,
        attribute: Attribute,
    },
    Resize {
        file: usize,
        to: Position,
    },
    Make {
        at: usize,
        name: usize,
        kind: Kind,
        permissions: u32,
    },
    MakeDirectory {
        at: usize,
        name: usize,
        permissions: u32,
    },
    Symlink {
        at: usize,
        name: usize,
        length: usize,
    },
    ReadLink {
        file: usize,
    },
    Link {
        file: usize,
        at: usize,
        name: usize,
    },
    Unlink {
        at: usize,
        name: usize,
    },
    RemoveDirectory {
        at: usize,
        name: usize,
    },
    Rename {
        from: (usize, usize),
        to: (usize, usize),
        how: Rename,
    },
    Open {
        file: usize,
    },
    Release {
        file: usize,
    },
    Read {
        file: usize,
        from: Position,
        length: usize,
    },
    /// Bytes are written; `seed` determines their content.
    Write {
        file: usize,
        from: Position,
        length: usize,
        seed: u8,
    },
    Allocate {
        file: usize,
        how: Allocate,
        from: Position,
        length: u64,
    },
    Seek {
        file: usize,
        from: Position,
        what: Seek,
    },
    Sync {
        file: usize,
    },
    List {
        file: usize,
    },
    Xattr {
        file: usize,
        name: usize,
    },
    SetXattr {
        file: usize,
        name: usize,
        length: usize,
        seed: u8,
        how: SetXattr,
    },
    Xattrs {
        file: usize,
    },
    RemoveXattr {
        file: usize,
        name: usize,
    },
    /// `ns` nanoseconds pass.
    Wait {
        ns: i64,
    },
    /// The file system is mounted again.
    Remount,
}

/// Iterator over numbers.
struct Words<'a>(std::slice::Iter<'a, u32>);

impl Words<'_> {
    /// Returns a number below `end`, calculated from the next word.
    fn below(&mut self, end: usize) -> usize {
        self.0.next().map_or(0, |word| *word as usize % end)
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    fn position(&mut self) -> Position {
        /// Block numbers at boundaries between pointer blocks, and at other edges.
        const BASES: [u64; 9] = [
            0,
            BLOCK,
            3 * BLOCK,
            4 * BLOCK,
            17 * BLOCK,
            (4 + 512) * BLOCK,
            (4 + 512 + 512) * BLOCK,
            (4 + 512 + 512 * 512) * BLOCK,
            MAX_FILE_BYTES,
        ];
        const AROUND: [i64; 10] = [0, 0, -1, 1, 100, -100, 2048, -4096, 4096, -8193];
        let (base, around) = (self.below(2 * BASES.len()), self.pick(&AROUND));
        match BASES.get(base) {
            Some(base) => Position::At(base.saturating_add_signed(around)),
            None => Position::FromEnd(around),
        }
    }

    fn length(&mut self) -> usize {
        const LENGTHS: [usize; 14] =
            [1, 0, 2, 7, 100, 511, 4095, 4096, 4096, 4097, 8192, 10_000, 16_384, 40_000];
        self.pick(&LENGTHS)
    }

    fn rename(&mut self) -> Rename {
        self.pick(&[Rename::Replace, Rename::Replace, Rename::Replace, Rename::Keep, Rename::Exchange])
    }

    fn attribute(&mut self) -> Attribute {
        let value = self.below(1 << 13);
        match self.below(8) {
            0..2 => Attribute::Permissions(value as u32),
            2 => Attribute::Owner(value as u32),
            3 => Attribute::Group(value as u32),
            4 => Attribute::Accessed(value as i64 * HOUR_NS),
            5 => Attribute::Modified(-(value as i64)),
            6 => Attribute::Permissions(0o2755),
            _ => Attribute::Nothing,
        }
    }
}

/// Constructor of an operation, with its weight among all operations.
type OpConstructor = (usize, fn(&mut Words<'_>) -> Op);

const FILES: usize = 1 << 12;
const NAMES: usize = 40;

fn file(words: &mut Words<'_>) -> usize {
    words.below(FILES)
}

fn name(words: &mut Words<'_>) -> usize {
    words.below(NAMES)
}

const OP_CONSTRUCTORS: [OpConstructor; 26] = [
    (200, |w| Op::Write { file: file(w), from: w.position(), length: w.length(), seed: w.below(256) as u8 }),
    (60, |w| Op::Read { file: file(w), from: w.position(), length: w.length() }),
    (40, |w| Op::Resize { file: file(w), to: w.position() }),
    (60, |w| Op::Allocate {
        file: file(w),
        from: w.position(),
        length: w.length() as u64,
        how: w.pick(&[
            Allocate::Reserve { keep_size: false },
            Allocate::Reserve { keep_size: true },
            Allocate::Punch,
            Allocate::Punch,
            Allocate::Zero { keep_size: true },
            Allocate::Zero { keep_size: false },
        ]),
    }),
    (20, |w| Op::Seek { file: file(w), from: w.position(), what: w.pick(&[Seek::Data, Seek::Hole]) }),
    (60, |w| Op::Make {
        at: file(w),
        name: name(w),
        kind: w.pick(&[
            Kind::File,
            Kind::File,
            Kind::File,
            Kind::File,
            Kind::File,
            Kind::File,
            Kind::Fifo,
            Kind::Socket,
            Kind::CharacterDevice,
            Kind::BlockDevice,
            Kind::Directory,
            Kind::Symlink,
        ]),
        permissions: w.below(1 << 13) as u32,
    }),
    (20, |w| Op::MakeDirectory { at: file(w), name: name(w), permissions: w.below(1 << 12) as u32 }),
    (20, |w| Op::Symlink { at: file(w), name: name(w), length: w.length() }),
    (10, |w| Op::ReadLink { file: file(w) }),
    (30, |w| Op::Link { file: file(w), at: file(w), name: name(w) }),
    (40, |w| Op::Unlink { at: file(w), name: name(w) }),
    (30, |w| Op::RemoveDirectory { at: file(w), name: name(w) }),
    (60, |w| Op::Rename { from: (file(w), name(w)), to: (file(w), name(w)), how: w.rename() }),
    (30, |w| Op::Lookup { at: file(w), name: name(w) }),
    (20, |w| Op::Attributes { file: file(w) }),
    (30, |w| Op::Change { file: file(w), attribute: w.attribute() }),
    (20, |w| Op::Open { file: file(w) }),
    (30, |w| Op::Release { file: file(w) }),
    (10, |w| Op::Sync { file: file(w) }),
    (20, |w| Op::List { file: file(w) }),
    (10, |w| Op::Xattr { file: file(w), name: name(w) }),
    (30, |w| Op::SetXattr {
        file: file(w),
        name: name(w),
        length: w.length() / 8,
        seed: w.below(256) as u8,
        how: w.pick(&[SetXattr::Either, SetXattr::Either, SetXattr::Create, SetXattr::Replace]),
    }),
    (10, |w| Op::Xattrs { file: file(w) }),
    (10, |w| Op::RemoveXattr { file: file(w), name: name(w) }),
    (20, |w| Op::Wait { ns: w.pick(&[HOUR_NS, 24 * HOUR_NS, 1_000, 0]) }),
    (6, |_| Op::Remount),
];

impl Op {
    /// Returns the operation that the words encode. Smaller words give simpler operations.
    pub fn from_words(words: &[u32; OP_WORDS]) -> Self {
        let mut words = Words(words.iter());
        let all: usize = OP_CONSTRUCTORS.iter().map(|(weight, _)| weight).sum();
        let mut at = words.below(all);
        for (weight, make) in OP_CONSTRUCTORS {
            if at < weight {
                return make(&mut words);
            }
            at -= weight;
        }
        unreachable!("a number below the sum of weights falls into one");
    }
}

/// Returns an infinite sequence of operations from a seed.
pub fn random_ops(seed: u64) -> impl Iterator<Item = Op> {
    let mut numbers = Xoshiro256PlusPlus::seed_from_u64(seed);
    std::iter::repeat_with(move || Op::from_words(&std::array::from_fn(|_| numbers.next_u32())))
}

/// Converts bytes to the words of operations, 4 bytes each.
pub fn ops_of_bytes(bytes: &[u8]) -> impl Iterator<Item = [u32; OP_WORDS]> + '_ {
    let (all, _) = bytes.as_chunks::<{ 4 * OP_WORDS }>();
    all.iter().map(|op| {
        let (words, _) = op.as_chunks::<4>();
        std::array::from_fn(|at| u32::from_le_bytes(words[at]))
    })
}
