//! Tests of each workload's properties, and of the players.

use super::play::{Contents, DirectoryTarget, PlayError, PlayOptions, Player};
use super::{FILE_WORKLOADS, FileId, FileOp, FileWorkload, FileWorkloadConfig};
use std::collections::{BTreeMap, BTreeSet};
use wearwell_base::seed::Seed;

const MIB: u64 = 1 << 20;

fn build(toml: &str, capacity_bytes: u64, seed: u64) -> Box<dyn FileWorkload> {
    let config: FileWorkloadConfig = toml::from_str(toml).unwrap();
    config.build(capacity_bytes, Seed(seed)).unwrap()
}

/// Files and directories that a workload has created so far.
#[derive(Default)]
struct Model {
    /// Sizes of existing files, bytes.
    files: BTreeMap<u32, u64>,
    directory_of: BTreeMap<u32, Option<u32>>,
    directories: BTreeMap<u32, Option<u32>>,
}

impl Model {
    fn length(&self, file: FileId) -> u64 {
        *self.files.get(&file.0).unwrap_or_else(|| panic!("{file:?} is not there"))
    }

    #[track_caller]
    fn apply(&mut self, op: FileOp) {
        let has_directory = |model: &Model, directory: Option<super::DirectoryId>| {
            directory.is_none_or(|directory| model.directories.contains_key(&directory.0))
        };
        match op {
            FileOp::MakeDirectory { directory, parent } => {
                assert_eq!(directory.0 as usize, self.directories.len());
                assert!(has_directory(self, parent));
                self.directories.insert(directory.0, parent.map(|parent| parent.0));
            }
            FileOp::Create { file, directory } => {
                assert!(has_directory(self, directory));
                assert!(self.files.insert(file.0, 0).is_none(), "{file:?} is there");
                self.directory_of.insert(file.0, directory.map(|directory| directory.0));
            }
            FileOp::Write { file, offset_bytes, bytes } | FileOp::Read { file, offset_bytes, bytes } => {
                assert!(bytes > 0 && offset_bytes + bytes <= self.length(file), "{op:?} leaves the file");
            }
            FileOp::Append { file, bytes } => {
                assert!(bytes > 0);
                let length = self.length(file) + bytes;
                self.files.insert(file.0, length);
            }
            FileOp::Delete { file } => {
                assert!(self.files.remove(&file.0).is_some(), "{file:?} is not there");
            }
            FileOp::ReadWhole { file } | FileOp::Stat { file } => {
                self.length(file);
            }
        }
    }

    fn bytes(&self) -> u64 {
        self.files.values().sum()
    }

    fn block_bytes(&self) -> u64 {
        self.files.values().map(|bytes| bytes.next_multiple_of(4096)).sum()
    }

    fn mean_bytes(&self) -> f64 {
        self.bytes() as f64 / self.files.len() as f64
    }
}

/// Runs the set-up on a model.
fn set_up(workload: &mut dyn FileWorkload) -> Model {
    let mut model = Model::default();
    while !workload.is_set_up() {
        model.apply(workload.next().unwrap());
    }
    model
}

/// Runs `operations` further operations; returns them.
fn play(workload: &mut dyn FileWorkload, model: &mut Model, operations: usize) -> Vec<FileOp> {
    let ops: Vec<FileOp> = (0..operations).map_while(|_| workload.next()).collect();
    ops.iter().for_each(|op| model.apply(*op));
    ops
}

#[track_caller]
fn assert_near(found: f64, expected: f64, share: f64) {
    assert!((found / expected - 1.0).abs() <= share, "{found}, and {expected} was expected");
}

fn count(ops: &[FileOp], which: impl Fn(&FileOp) -> bool) -> f64 {
    ops.iter().filter(|op| which(op)).count() as f64
}

#[test]
fn equal_seeds_give_equal_operations_and_other_seeds_differ() {
    for entry in FILE_WORKLOADS {
        let text = format!("kind = '{}'", entry.name);
        let draw = |seed| {
            let mut workload = build(&text, 16 * MIB, seed);
            let mut model = set_up(&mut *workload);
            assert!(model.bytes() > 0, "{}", entry.name);
            play(&mut *workload, &mut model, 2000)
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }
}

#[test]
fn permuted_order_draws_each_once_and_zipf_follows_its_law() {
    // Each block occurs once per pass.
    let mut workload =
        build("kind = 'fio'\nfiles = 10\nmin_bytes = 8192\nmax_bytes = 40960\norder = 'permuted'", MIB, 3);
    let mut model = set_up(&mut *workload);
    let blocks = (model.bytes() / 4096) as usize;
    for _ in 0..3 {
        let ops = play(&mut *workload, &mut model, blocks);
        let positions = ops.iter().map(|op| match op {
            FileOp::Write { file, offset_bytes, .. } => (file.0, *offset_bytes),
            other => panic!("{other:?}"),
        });
        assert_eq!(positions.collect::<BTreeSet<_>>().len(), blocks);
    }
    // Zipf's law: the two most frequent of 100 records have shares 1 and 1/2 of the sum of 1/k, which is
    // 5.187.
    let text = "kind = 'iozone'\nfile_bytes = 409600\norder = 'zipf'\nskew = 1.0";
    let mut workload = build(text, MIB, 3);
    let mut model = set_up(&mut *workload);
    let mut times = BTreeMap::<u64, u32>::new();
    for op in play(&mut *workload, &mut model, 40_000) {
        let FileOp::Write { offset_bytes, .. } = op else { panic!("{op:?}") };
        *times.entry(offset_bytes / 4096).or_default() += 1;
    }
    let mut times: Vec<u32> = times.into_values().collect();
    times.sort_unstable_by(|one, other| other.cmp(one));
    assert_near(f64::from(times[0]), 40_000.0 / 5.187, 0.04);
    assert_near(f64::from(times[1]), 20_000.0 / 5.187, 0.04);
}

/// Returns the age of each file at its deletion: the number of later creations, divided by the number of files.
fn deletion_ages(kind: &str, order: &str) -> Vec<f64> {
    let mut workload = build(&format!("kind = '{kind}'\nfiles = 200\n{order}"), 64 * MIB, 7);
    let mut model = set_up(&mut *workload);
    let mut created_at: BTreeMap<u32, usize> =
        model.files.keys().map(|file| (*file, *file as usize)).collect();
    let (mut count, mut ages) = (created_at.len(), Vec::new());
    for op in play(&mut *workload, &mut model, 20_000) {
        match op {
            FileOp::Create { file, .. } => {
                created_at.insert(file.0, count);
                count += 1;
            }
            FileOp::Delete { file } => ages.push((count - created_at[&file.0]) as f64 / 200.0),
            _ => {}
        }
    }
    ages
}

#[test]
fn order_decides_age_of_deleted_files() {
    for kind in ["postmark", "fileserver"] {
        let [oldest, any, youngest] = ["order = 'permuted'", "", "order = 'zipf'\nskew = 1.0"].map(|order| {
            let mut ages = deletion_ages(kind, order);
            ages.sort_by(f64::total_cmp);
            ages
        });
        assert!(
            oldest[0] > 0.85 && oldest[oldest.len() - 1] < 1.15,
            "{kind}: one dies after 200 others came"
        );
        let median = |ages: &[f64]| ages[ages.len() / 2];
        // If files are equally likely to be deleted at any time, half of them are deleted within ln 2 times the mean
        // age.
        assert_near(median(&any), std::f64::consts::LN_2, 0.15);
        assert!(median(&youngest) < 0.2, "{kind}: {}", median(&youngest));
        let text = format!("kind = '{kind}'\norder = 'uniform'");
        let draw = |text: &str| {
            let mut workload = build(text, 16 * MIB, 1);
            let mut model = set_up(&mut *workload);
            play(&mut *workload, &mut model, 500)
        };
        assert_eq!(draw(&text), draw(&format!("kind = '{kind}'")), "uniform unless given");
    }
}

#[test]
fn utilisation_is_reached_in_steady_state() {
    for (kind, utilisation, within) in
        [("iozone", 0.85, 0.001), ("fio", 0.5, 0.01), ("postmark", 0.6, 0.06), ("fileserver", 0.7, 0.06)]
    {
        let text = format!("kind = '{kind}'\nutilisation = {utilisation}");
        let mut workload = build(&text, 256 * MIB, 5);
        let mut model = set_up(&mut *workload);
        play(&mut *workload, &mut model, 300_000);
        assert_near(model.block_bytes() as f64, utilisation * 256.0 * MIB as f64, within);
    }
}

#[test]
fn limited_workloads_end() {
    for (kind, ops_each) in [("iozone", 1), ("fio", 1), ("fileserver", 6)] {
        let mut workload = build(&format!("kind = '{kind}'\noperations = 10"), 64 * MIB, 1);
        let mut model = set_up(&mut *workload);
        assert_eq!(play(&mut *workload, &mut model, 1000).len(), 10 * ops_each, "{kind}");
        assert!(workload.is_set_up() && workload.next().is_none());
    }
}

#[test]
fn iozone_writes_each_record_once_per_pass() {
    let mut workload = build("kind = 'iozone'\nfile_bytes = 409600", MIB, 3);
    let mut model = set_up(&mut *workload);
    assert_eq!(model.files, BTreeMap::from([(0, 409_600)]));
    let mut passes = Vec::new();
    for _ in 0..2 {
        let ops = play(&mut *workload, &mut model, 100);
        let offsets = ops.iter().map(|op| match op {
            FileOp::Write { offset_bytes, bytes: 4096, .. } => offset_bytes / 4096,
            other => panic!("{other:?}"),
        });
        let offsets: Vec<u64> = offsets.collect();
        assert!(offsets.iter().copied().collect::<BTreeSet<_>>().into_iter().eq(0..100));
        passes.push(offsets);
    }
    assert_ne!(passes[0], passes[1]);
}

#[test]
fn iozone_can_repeat_records_and_read() {
    let text = "kind = 'iozone'\nfile_bytes = 409600\norder = 'uniform'\nread_share = 0.25";
    let mut workload = build(text, MIB, 3);
    let mut model = set_up(&mut *workload);
    let ops = play(&mut *workload, &mut model, 20_000);
    assert_near(count(&ops, |op| matches!(op, FileOp::Read { .. })), 5000.0, 0.05);
    let distinct = |ops: &[FileOp]| {
        let offsets = ops.iter().map(|op| match op {
            FileOp::Write { offset_bytes, .. } | FileOp::Read { offset_bytes, .. } => *offset_bytes,
            other => panic!("{other:?}"),
        });
        offsets.collect::<BTreeSet<_>>().len()
    };
    // In 100 draws from 100 records, a fraction e^-1 of the records does not occur.
    let mean = ops.chunks(100).map(|pass| distinct(pass) as f64).sum::<f64>() / 200.0;
    assert_near(mean, 63.4, 0.02);
}

#[test]
fn postmark_matches_configured_ratios_and_sizes() {
    let text = "kind = 'postmark'\nfiles = 4000\ndirectories = 10\nread_share = 0.7";
    let mut workload = build(text, MIB, 9);
    let mut model = set_up(&mut *workload);
    assert_eq!((model.files.len(), model.directories.len()), (4000, 10));
    assert_near(model.mean_bytes(), (500.0 + 9770.0) / 2.0, 0.02);
    assert!(model.files.values().all(|bytes| (500..=9770).contains(bytes)));
    // Uniform sizes: each tenth of the range has a tenth of the files.
    for tenth in 0..10 {
        let range = 500 + 927 * tenth..500 + 927 * (tenth + 1);
        let files = model.files.values().filter(|bytes| range.contains(*bytes)).count();
        assert_near(files as f64, 400.0, 0.2);
    }
    let in_first = model.directory_of.values().filter(|directory| **directory == Some(0)).count();
    assert_near(in_first as f64, 400.0, 0.2);

    let ops = play(&mut *workload, &mut model, 100_000);
    assert!(model.files.values().all(|bytes| *bytes <= 9770));
    assert!((3800..=4200).contains(&model.files.len()), "{}", model.files.len());
    let creates = count(&ops, |op| matches!(op, FileOp::Create { .. }));
    let deletes = count(&ops, |op| matches!(op, FileOp::Delete { .. }));
    let reads = count(&ops, |op| matches!(op, FileOp::ReadWhole { .. }));
    assert_near(creates, deletes, 0.02);
    assert_near(reads / (creates + deletes), 0.7, 0.02);
    // The mean is c + a (max - s) / 2, with a = 0.6.
    assert_near(model.mean_bytes(), (5135.0 + 0.3 * 9770.0) / 1.3, 0.02);
}

#[test]
fn postmark_file_count_stays_within_drift() {
    for (share, min, max) in [(1.0, 1050, 1050), (0.0, 950, 950), (0.5, 950, 1050)] {
        let text = format!("kind = 'postmark'\nfiles = 1000\ncreate_share = {share:?}");
        let mut workload = build(&text, MIB, 2);
        let mut model = set_up(&mut *workload);
        play(&mut *workload, &mut model, 50_000);
        let files = model.files.len();
        // At a limit, creations and deletions alternate.
        assert!((min - 1..=max + 1).contains(&files), "{files} with {share}");
    }
}

#[test]
fn fio_updates_files_uniformly_or_by_zipf() {
    let text = "kind = 'fio'\nfiles = 200\nmin_bytes = 8192\nmax_bytes = 40960\nread_share = 0.1\n";
    for skew in [None, Some(1.0)] {
        let skewed = skew.map_or(String::new(), |skew: f64| format!("skew = {skew:?}"));
        let mut workload = build(&(text.to_owned() + &skewed), MIB, 4);
        let mut model = set_up(&mut *workload);
        assert_near(model.mean_bytes(), 24_576.0, 0.1);
        assert!(model.files.values().all(|bytes| bytes % 4096 == 0 && (8192..=40_960).contains(bytes)));
        let mut chosen = [0.0; 200];
        let ops = play(&mut *workload, &mut model, 100_000);
        assert_near(count(&ops, |op| matches!(op, FileOp::Read { .. })), 10_000.0, 0.05);
        for op in ops {
            let (FileOp::Write { file, bytes: 4096, .. } | FileOp::Read { file, bytes: 4096, .. }) = op
            else {
                panic!("{op:?}")
            };
            chosen[file.0 as usize] += 1.0;
        }
        let is_scattered = chosen[0] < chosen[1..].iter().copied().fold(0.0, f64::max);
        chosen.sort_by(f64::total_cmp);
        match skew {
            None => assert_near(chosen[0], chosen[199], 0.3),
            Some(_) => {
                assert!(is_scattered, "the first file is the hottest");
                let harmonic: f64 = (1..=200).map(|rank| 1.0 / f64::from(rank)).sum();
                assert_near(chosen[199], 100_000.0 / harmonic, 0.05);
                assert_near(chosen[198], 50_000.0 / harmonic, 0.05);
            }
        }
    }
}

#[test]
fn fileserver_matches_configured_sizes_directories_and_rounds() {
    let mut workload = build("kind = 'fileserver'\nfiles = 9000", MIB, 6);
    let mut model = set_up(&mut *workload);
    assert_eq!(model.files.len(), 9000);
    // A gamma distribution has a standard deviation of mean / sqrt(shape).
    let mean = 131_072.0;
    assert_near(model.mean_bytes(), mean, 0.03);
    let squares = model.files.values().map(|bytes| (*bytes as f64 - mean).powi(2)).sum::<f64>();
    assert_near((squares / 9000.0).sqrt(), mean / 1.5f64.sqrt(), 0.05);
    // There are 450 directories with files, 23 parents of these, and 2 above the parents.
    assert_eq!(model.directories.len(), 450 + 23 + 2);
    let mut children: BTreeMap<Option<u32>, u32> = BTreeMap::new();
    model.directories.values().chain(model.directory_of.values()).for_each(|parent| {
        *children.entry(*parent).or_default() += 1;
    });
    assert!(children.values().all(|children| (1..=20).contains(children)));

    let ops = play(&mut *workload, &mut model, 60_000);
    assert_eq!(model.files.len(), 9000);
    for round in ops.chunks(6) {
        let [
            FileOp::Create { file, .. },
            FileOp::Append { file: written, .. },
            FileOp::Append { .. },
            FileOp::ReadWhole { .. },
            FileOp::Delete { .. },
            FileOp::Stat { .. },
        ] = round
        else {
            panic!("{round:?}")
        };
        assert_eq!(file, written);
    }
    let appended = ops.chunks(6).map(|round| match round[2] {
        FileOp::Append { bytes, .. } => bytes as f64,
        other => panic!("{other:?}"),
    });
    assert_near(appended.sum::<f64>() / 10_000.0, 16_384.0, 0.03);
}

#[test]
fn invalid_settings_are_rejected_with_their_key() {
    for (text, key) in [
        ("kind = 'iozone'\nread_share = 1.5", "read_share"),
        ("kind = 'iozone'\nutilisation = 0.0", "utilisation"),
        ("kind = 'iozone'\nutilisation = 0.5\nfile_bytes = 4096", "file_bytes"),
        ("kind = 'iozone'\nfile_bytes = 100", "file_bytes"),
        ("kind = 'iozone'\nrequest_bytes = 0", "request_bytes"),
        ("kind = 'postmark'\nmin_bytes = 10000", "min_bytes"),
        ("kind = 'postmark'\nfiles = 3\nutilisation = 0.5", "files"),
        ("kind = 'postmark'\ncreate_share = -0.1", "create_share"),
        ("kind = 'fio'\nmin_bytes = 4095", "min_bytes"),
        ("kind = 'fio'\nskew = 0.0", "skew"),
        ("kind = 'fio'\nfiles = 0", "files"),
        ("kind = 'fileserver'\nshape = 0.0", "shape"),
        ("kind = 'fileserver'\ndirectory_width = 1", "directory_width"),
        ("kind = 'fileserver'\nmean_append_bytes = 0", "mean_append_bytes"),
    ] {
        let config: FileWorkloadConfig = toml::from_str(text).unwrap();
        let error = config.build(64 * MIB, Seed(1)).err().unwrap_or_else(|| panic!("{text} was built"));
        assert_eq!(error.key, key, "{text}");
    }
    for text in ["kind = 'iozone'\nfiles = 3", "kind = 'no_such'", "files = 3"] {
        assert!(toml::from_str::<FileWorkloadConfig>(text).is_err(), "{text}");
    }
}

#[test]
fn configurations_round_trip() {
    for entry in FILE_WORKLOADS {
        let config: FileWorkloadConfig = toml::from_str(&format!("kind = '{}'", entry.name)).unwrap();
        assert_eq!(config.name(), entry.name);
        assert_eq!(toml::from_str::<FileWorkloadConfig>(&toml::to_string(&config).unwrap()).unwrap(), config);
    }
}

/// Returns the number and total size of files under a directory.
fn files_under(path: &std::path::Path) -> (usize, u64) {
    std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap()).fold((0, 0), |(files, bytes), entry| {
        let metadata = entry.metadata().unwrap();
        let (more, longer) = if metadata.is_dir() { files_under(&entry.path()) } else { (1, metadata.len()) };
        (files + more, bytes + longer)
    })
}

#[test]
fn played_directory_holds_the_written_files() {
    for entry in FILE_WORKLOADS {
        let text = format!("kind = '{}'\nutilisation = 0.5", entry.name);
        let folder = tempfile::tempdir().unwrap();
        let options =
            PlayOptions { contents: Contents::Marked, sync_every: Some(5000), ..Default::default() };
        let mut player = Player::new(DirectoryTarget::new(folder.path()), options);
        let mut workload = build(&text, 8 * MIB, 7);
        player.set_up(&mut *workload).unwrap();
        player.reset_counts();
        assert_eq!(player.play(&mut *workload, 600).unwrap(), 600);

        let mut same = build(&text, 8 * MIB, 7);
        let mut model = set_up(&mut *same);
        let before = model.bytes();
        let ops = play(&mut *same, &mut model, 600);
        assert_eq!(files_under(folder.path()), (model.files.len(), model.bytes()), "{}", entry.name);
        let counts = player.counts();
        assert_eq!(counts.operations, 600);
        assert_eq!(counts.deleted as f64, count(&ops, |op| matches!(op, FileOp::Delete { .. })));
        assert!(counts.written_bytes >= model.bytes().saturating_sub(before));
        // All content is equal to the content written.
        for file in model.files.keys() {
            player.execute(FileOp::ReadWhole { file: FileId(*file) }, 4096).unwrap();
        }
        assert_eq!(player.counts().read_bytes - counts.read_bytes, model.bytes());
    }
}

#[test]
fn player_detects_wrong_content() {
    let folder = tempfile::tempdir().unwrap();
    let options = PlayOptions { contents: Contents::Marked, ..Default::default() };
    let mut player = Player::new(DirectoryTarget::new(folder.path()), options);
    let file = FileId(0);
    let missing = player.execute(FileOp::Stat { file }, 4096);
    assert!(matches!(missing, Err(PlayError::Refused { op: FileOp::Stat { .. }, .. })), "{missing:?}");
    player.execute(FileOp::Create { file, directory: None }, 4096).unwrap();
    player.execute(FileOp::Append { file, bytes: 10_000 }, 4096).unwrap();
    assert_eq!(player.counts().write_requests, 3);
    let path = folder.path().join("f0");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[5000] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let differs = player.execute(FileOp::ReadWhole { file }, 4096);
    assert!(matches!(differs, Err(PlayError::Differs { offset_bytes: 5000, .. })), "{differs:?}");
}

#[test]
fn unique_contents_differ_in_every_request() {
    let folder = tempfile::tempdir().unwrap();
    let options = PlayOptions { contents: Contents::Unique, ..Default::default() };
    let mut player = Player::new(DirectoryTarget::new(folder.path()), options);
    let file = FileId(0);
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..3 {
        player.execute(FileOp::Create { file, directory: None }, 4096).unwrap();
        player.execute(FileOp::Append { file, bytes: 8192 }, 4096).unwrap();
        let bytes = std::fs::read(folder.path().join("f0")).unwrap();
        seen.extend(bytes.chunks(4096).map(<[u8]>::to_vec));
        player.execute(FileOp::Delete { file }, 4096).unwrap();
        player.reset_counts();
    }
    assert_eq!(seen.len(), 6);
}
