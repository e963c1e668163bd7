//! `wearwell model ftl`.

use crate::commands::run::Format;
use crate::exit::Failure;
use crate::output::print;
use crate::report::{csv_rows, grid, ordered_json, wrap};
use crate::scenario_args::size;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde_json::{Value, json};
use wearwell_stack::ByteSize;
use wearwell_study::Row;
use wearwell_theory::TheoryError;
use wearwell_theory::ftl::{
    self, CounterCoverage, Ftl, FtlDrive, FtlSizes, RamPart, RecoveryStepCost, crossing_log2_blocks,
    flash_bitmap_write_amplification, gecko_write_amplification,
};

/// Compares RAM use and recovery after a power cut of FTLs whose table is in flash
///
/// Uses the model of GeckoFTL (Dayan, Bonnet, Idreos, SIGMOD 2016). docs/ftl-model.md has its formulas.
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// FTLs to compare, separated by commas; all unless given
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = names())]
    ftl: Vec<Ftl>,
    #[command(flatten)]
    drive: DriveArgs,
    #[command(flatten)]
    design: DesignArgs,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table, help_heading = "Output")]
    format: Format,
}

const HELP: &str = "\
Examples:
  wearwell model ftl
  wearwell model ftl --capacity '128 GiB' --cache-entries 65536 --ftl lazyftl,geckoftl
  wearwell model ftl --pages-per-block 1024 --page-size '16 KiB' --read-us 50 --program-us 600
  wearwell model ftl --battery false --format json | jq '.ftls[] | {ftl, recovery_seconds}'";

/// Sizes and times of the drive.
#[derive(clap::Args)]
#[command(next_help_heading = "Drive")]
struct DriveArgs {
    /// Physical capacity
    #[arg(long, value_name = "SIZE", default_value = "2 TiB", value_parser = size)]
    capacity: ByteSize,
    /// Size of a page (P)
    #[arg(long, value_name = "SIZE", default_value = "4 KiB", value_parser = size)]
    page_size: ByteSize,
    /// Pages of a block (B)
    #[arg(long, value_name = "B", default_value_t = 128)]
    pages_per_block: u32,
    /// Logical pages divided by physical pages (R)
    #[arg(long, value_name = "SHARE", default_value_t = 0.7, allow_negative_numbers = true)]
    load: f64,
    /// Time to read a page, microseconds
    #[arg(long, value_name = "US", default_value_t = 100.0, allow_negative_numbers = true)]
    read_us: f64,
    /// Time to program a page, microseconds
    #[arg(long, value_name = "US", default_value_t = 1000.0, allow_negative_numbers = true)]
    program_us: f64,
    /// Time to read a spare area, microseconds; 1/32 of the page read time unless given
    #[arg(long, value_name = "US", allow_negative_numbers = true)]
    spare_read_us: Option<f64>,
}

/// Parameters of the FTLs.
#[derive(clap::Args)]
#[command(next_help_heading = "FTL")]
struct DesignArgs {
    /// Entries of the mapping cache, 8 bytes each (C)
    #[arg(long, value_name = "C", default_value_t = 1 << 19)]
    cache_entries: u64,
    /// Share of the cache that may be dirty in LazyFTL and IB-FTL
    #[arg(long, value_name = "SHARE", default_value_t = 0.1, allow_negative_numbers = true)]
    dirty_share: f64,
    /// Size ratio of successive runs in Logarithmic Gecko (T)
    #[arg(long, value_name = "T", default_value_t = 2)]
    size_ratio: u32,
    /// Number of parts of an entry of Logarithmic Gecko (S); 1/32 of the pages of a block unless given
    #[arg(long, value_name = "S")]
    partitions: Option<u32>,
    /// Blocks whose number of valid pages is kept in RAM, for FTLs without a bitmap in RAM
    #[arg(long, value_enum, default_value_t = CounterKind::Full)]
    counters: CounterKind,
    /// Share of the blocks in the sample of --counters sampled
    #[arg(long, value_name = "SHARE", default_value_t = 0.05, allow_negative_numbers = true)]
    counter_share: f64,
    /// Blocks drawn for each victim with --counters sampled or none; 4 and 10 respectively unless given
    #[arg(long, value_name = "D")]
    counter_choices: Option<u32>,
    /// True if a battery saves the contents of RAM; as published for each FTL unless given
    #[arg(long, value_name = "BOOL")]
    battery: Option<bool>,
}

/// Blocks whose number of valid pages is in RAM.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum CounterKind {
    /// All blocks
    Full,
    /// A sample of the blocks
    Sampled,
    /// No blocks
    None,
}

impl DesignArgs {
    fn counters(&self) -> CounterCoverage {
        let (share, choices) = (self.counter_share, self.counter_choices);
        match self.counters {
            CounterKind::Full => CounterCoverage::Full,
            CounterKind::Sampled => CounterCoverage::Sampled { share, choices: choices.unwrap_or(4) },
            CounterKind::None => CounterCoverage::None { choices: choices.unwrap_or(10) },
        }
    }
}

/// Returns the counters in the words of the options, as JSON.
fn counters_json(counters: CounterCoverage) -> Value {
    match counters {
        CounterCoverage::Full => json!({ "kind": "full" }),
        CounterCoverage::Sampled { share, choices } => {
            json!({ "kind": "sampled", "share": share, "choices": choices })
        }
        CounterCoverage::None { choices } => json!({ "kind": "none", "choices": choices }),
    }
}

fn names() -> impl TypedValueParser<Value = Ftl> {
    PossibleValuesParser::new(Ftl::ALL.map(Ftl::name))
        .map(|name| Ftl::ALL.into_iter().find(|ftl| ftl.name() == name).expect("a name of the list"))
}

impl Args {
    fn drive(&self) -> Result<FtlDrive, Failure> {
        let (drive, design) = (&self.drive, &self.design);
        let usage_error = |problem: &str| Failure::Usage(problem.to_owned());
        let page_bytes = u32::try_from(drive.page_size.0).ok().filter(|bytes| *bytes > 0);
        let page_bytes =
            page_bytes.ok_or_else(|| usage_error("--page-size: at least 1 byte, less than 4 GiB"))?;
        let block = u64::from(page_bytes) * u64::from(drive.pages_per_block.max(1));
        if drive.capacity.0 < block {
            return Err(Failure::Usage(format!(
                "--capacity, --pages-per-block: {} is less than a block of {}",
                drive.capacity,
                ByteSize(block)
            )));
        }
        let sizes = FtlSizes {
            blocks: drive.capacity.0 / block,
            pages_per_block: drive.pages_per_block,
            page_bytes,
            load: drive.load,
            cache_entries: design.cache_entries,
            size_ratio: design.size_ratio,
            partitions: design
                .partitions
                .unwrap_or_else(|| FtlSizes::balanced_partitions(drive.pages_per_block)),
            counters: design.counters(),
            dirty_share: design.dirty_share,
            read_us: drive.read_us,
            program_us: drive.program_us,
            spare_read_us: drive.spare_read_us.unwrap_or(drive.read_us / 32.0),
            battery: design.battery,
        };
        FtlDrive::new(sizes).map_err(|error| match error {
            // No option sets the number of blocks.
            TheoryError::Parameter { parameter: "blocks", problem } => {
                Failure::Usage(format!("--capacity: blocks of this size: {problem}"))
            }
            other => other.into(),
        })
    }
}

/// Calculated figures of one FTL.
struct FtlFigures {
    ftl: Ftl,
    ram: Vec<RamPart>,
    recovery: Vec<(RecoveryStepCost, f64)>,
}

impl FtlFigures {
    fn new(ftl: Ftl, drive: &FtlDrive) -> Self {
        let design = ftl.design(drive.sizes().battery);
        let steps = ftl::recovery(&design, drive).into_iter();
        let recovery = steps.map(|step| (step, step.seconds(drive))).collect();
        FtlFigures { ftl, ram: ftl::ram(&design, drive), recovery }
    }

    fn ram_bytes(&self) -> u64 {
        self.ram.iter().map(|part| part.bytes).sum()
    }

    fn seconds(&self) -> f64 {
        self.recovery.iter().map(|(_, seconds)| seconds).sum()
    }

    fn json(&self) -> Value {
        let ram = self.ram.iter().map(|part| json!({ "structure": part.name, "bytes": part.bytes }));
        let recovery = self.recovery.iter().map(|(step, seconds)| {
            json!({
                "step": step.name,
                "spare_reads": step.spare_reads,
                "page_reads": step.page_reads,
                "page_writes": step.page_writes,
                "seconds": seconds,
            })
        });
        json!({
            "ftl": self.ftl.name(),
            "ram": ram.collect::<Vec<_>>(),
            "ram_bytes": self.ram_bytes(),
            "recovery": recovery.collect::<Vec<_>>(),
            "recovery_seconds": self.seconds(),
        })
    }

    fn rows(&self) -> Vec<Row> {
        let row = |kind: &str, name: &str, figures: [Value; 5]| -> Row {
            let head = [("ftl", json!(self.ftl.name())), ("kind", json!(kind)), ("name", json!(name))];
            let columns = ["bytes", "spare_reads", "page_reads", "page_writes", "seconds"];
            let fields = head.into_iter().chain(columns.into_iter().zip(figures));
            fields.map(|(column, value)| (column.to_owned(), value)).collect()
        };
        let none = Value::Null;
        let ram = self.ram.iter().map(|part| {
            row("ram", part.name, [json!(part.bytes), none.clone(), none.clone(), none.clone(), none.clone()])
        });
        let recovery = self.recovery.iter().map(|(step, seconds)| {
            let counts = [step.spare_reads, step.page_reads, step.page_writes].map(|count| json!(count));
            let [spare_reads, page_reads, page_writes] = counts;
            let figures = [none.clone(), spare_reads, page_reads, page_writes, json!(seconds)];
            row("recovery", step.name, figures)
        });
        ram.chain(recovery).collect()
    }
}

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let drive = args.drive()?;
    let ftls = if args.ftl.is_empty() { &Ftl::ALL[..] } else { &args.ftl };
    let ftl_figures: Vec<FtlFigures> = ftls.iter().map(|ftl| FtlFigures::new(*ftl, &drive)).collect();
    print(&match args.format {
        Format::Table => wrap(&table(&drive, &ftl_figures)?),
        Format::Json => json_of(&drive, &ftl_figures)?,
        Format::Csv => csv_rows(&ftl_figures.iter().flat_map(FtlFigures::rows).collect::<Vec<_>>())?,
    })
}

/// Returns a table with a column for each FTL, a line for each name and a line for the sums.
fn comparison_table(
    what: &str,
    ftl_figures: &[FtlFigures],
    cells: impl Fn(&FtlFigures) -> Vec<(&'static str, String)>,
    sum: impl Fn(&FtlFigures) -> String,
) -> String {
    let columns: Vec<_> = ftl_figures.iter().map(cells).collect();
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in columns.iter().flatten() {
        if !names.contains(name) {
            names.push(name);
        }
    }
    // Sort each name behind all names that precede it in any column.
    names.sort_by_key(|name| {
        columns.iter().filter_map(|column| column.iter().position(|(own, _)| own == name)).max()
    });
    let cell = |column: &[(&str, String)], name: &str| {
        column.iter().find(|(own, _)| *own == name).map_or_else(|| "–".to_owned(), |(_, text)| text.clone())
    };
    let line = |name: &str| {
        [name.to_owned()].into_iter().chain(columns.iter().map(|column| cell(column, name))).collect()
    };
    let mut lines: Vec<Vec<String>> = names.iter().map(|name| line(name)).collect();
    lines.push([String::from("sum")].into_iter().chain(ftl_figures.iter().map(sum)).collect());
    let head: Vec<&str> =
        [what].into_iter().chain(ftl_figures.iter().map(|entry| entry.ftl.title())).collect();
    grid(&head, lines, &(1..head.len()).collect::<Vec<_>>())
}

fn table(drive: &FtlDrive, ftl_figures: &[FtlFigures]) -> Result<String, Failure> {
    let sizes = drive.sizes();
    let page = u64::from(sizes.page_bytes);
    let mut text = format!("FTLs by their sizes  (wearwell {}, model)\n", env!("CARGO_PKG_VERSION"));
    let blocks = format!("{} of {} pages of {}", sizes.blocks, sizes.pages_per_block, ByteSize(page));
    let gecko = format!(
        "T = {}, S = {}, V = {}, L = {}, {} pages",
        sizes.size_ratio,
        sizes.partitions,
        drive.gecko_entries_per_page(),
        drive.gecko_levels(),
        drive.gecko_pages()
    );
    let figures = [
        ("Capacity", format!("{}, load {}", ByteSize(drive.physical_pages() * page), sizes.load)),
        ("Blocks", blocks),
        ("Table", format!("{} in {} pages", ByteSize(drive.table_bytes()), drive.translation_pages())),
        ("Mapping cache", format!("{} entries", sizes.cache_entries)),
        ("Logarithmic Gecko", gecko),
        ("Validity in flash", validity_text(drive)?),
    ];
    text += &grid(&[], figures.map(|(what, value)| vec![what.to_owned(), value]).to_vec(), &[]);
    text.push('\n');
    let ram = |entry: &FtlFigures| {
        entry.ram.iter().map(|part| (part.name, ByteSize(part.bytes).to_string())).collect()
    };
    text += &comparison_table("RAM", ftl_figures, ram, |account| ByteSize(account.ram_bytes()).to_string());
    text.push('\n');
    let recovery = |entry: &FtlFigures| {
        entry.recovery.iter().map(|(step, seconds)| (step.name, time(*seconds))).collect()
    };
    text += &comparison_table("recovery, s", ftl_figures, recovery, |entry| time(entry.seconds()));
    text.push('\n');
    Ok(text)
}

fn time(seconds: f64) -> String {
    format!("{seconds:.3}")
}

fn validity_text(drive: &FtlDrive) -> Result<String, Failure> {
    let (gecko, bitmap) = (gecko_write_amplification(drive)?, flash_bitmap_write_amplification(drive)?);
    let crossing = crossing_log2_blocks(drive)?;
    Ok(format!("write amplification {gecko:.4}, of a bitmap {bitmap:.4}; equal at 2^{crossing:.0} blocks"))
}

fn json_of(drive: &FtlDrive, ftl_figures: &[FtlFigures]) -> Result<String, Failure> {
    let sizes = drive.sizes();
    let parameters = json!({
        "blocks": sizes.blocks,
        "pages_per_block": sizes.pages_per_block,
        "page_bytes": sizes.page_bytes,
        "load": sizes.load,
        "cache_entries": sizes.cache_entries,
        "size_ratio": sizes.size_ratio,
        "partitions": sizes.partitions,
        "counters": counters_json(sizes.counters),
        "dirty_share": sizes.dirty_share,
        "read_us": sizes.read_us,
        "program_us": sizes.program_us,
        "spare_read_us": sizes.spare_read_us,
        "battery": sizes.battery,
    });
    let derived = json!({
        "logical_pages": drive.logical_pages(),
        "table_bytes": drive.table_bytes(),
        "translation_pages": drive.translation_pages(),
        "gecko_entries_per_page": drive.gecko_entries_per_page(),
        "gecko_levels": drive.gecko_levels(),
        "gecko_pages": drive.gecko_pages(),
        "gecko_write_amplification": gecko_write_amplification(drive)?,
        "flash_bitmap_write_amplification": flash_bitmap_write_amplification(drive)?,
        "crossing_log2_blocks": crossing_log2_blocks(drive)?,
    });
    let fields = [
        ("version", json!(env!("CARGO_PKG_VERSION"))),
        ("mode", json!("model")),
        ("model", json!("ftl")),
        ("parameters", parameters),
        ("derived", derived),
        ("ftls", ftl_figures.iter().map(FtlFigures::json).collect()),
    ];
    Ok(ordered_json(fields.map(|(name, value)| (name.to_owned(), value)).to_vec()))
}
