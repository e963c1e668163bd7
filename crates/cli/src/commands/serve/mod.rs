//! `wearwell serve`.

mod transports;

use super::run::write_result;
use crate::exit::Failure;
use crate::interrupt::{interrupted, wait_for_cleanup};
use crate::messages::print_message;
use crate::output::{OutputFile, print};
use crate::page::Page;
use crate::report::{table, wrap};
use crate::scenario_args::ScenarioArgs;
use clap::ValueEnum;
use std::path::{Path, PathBuf};
use std::time::Duration;
use transports::TransportArgs;
use wearwell_engine::layer::RecoveryStep;
use wearwell_report::Document;
use wearwell_serve::flash::{OpenReport, is_flash};
use wearwell_serve::image::{Image, ReplayCounts};
use wearwell_serve::power_switch::PowerSwitch;
use wearwell_serve::sockets::Address;
use wearwell_serve::{Device, OpenError, SharedDevice, Speed};
use wearwell_stack::{Draft, LiveStack};
use wearwell_watch::{ControlError, ControlServer};

/// Serves a stack as a live block device, over NBD, as a file or to virtual machines, until Ctrl-C or SIGTERM
///
/// fio, QEMU, loop devices and file systems read, write, flush and trim the device; every page passes through the
/// simulated stack. At the end the effect on the flash is printed as by `wearwell run`. Only the stack of the scenario
/// is used, and the drive starts empty. Several transports can be open at once.
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    #[command(flatten)]
    scenario: ScenarioArgs,
    #[command(flatten)]
    transports: TransportArgs,
    /// Accept an address that other machines can reach; there is neither encryption nor a password
    #[arg(long, help_heading = "Transports")]
    allow_remote: bool,
    /// Also serve the status to this machine: a page, JSON, metrics for Prometheus; unix:PATH or tcp:127.0.0.1:PORT
    #[arg(long, value_name = "ADDRESS", help_heading = "Device")]
    control: Option<Address>,
    /// Delay answers as the drive would, by `timing` of the scenario or by the device's preset
    #[arg(long, help_heading = "Device")]
    pace: bool,
    /// Keep the drive in a folder, which is created if missing
    #[arg(long, value_name = "FOLDER", help_heading = "Device")]
    image: Option<PathBuf>,
    /// Form of a new image
    #[arg(long, value_enum, value_name = "FORM", requires = "image", help_heading = "Device")]
    image_form: Option<ImageForm>,
    /// Record all requests as a trace in a new file that `wearwell run --trace` replays: .csv, or .csv.zst compressed
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    record: Option<PathBuf>,
    /// Also write the result to a file at the end, by its ending: .json, .csv or .parquet
    #[arg(long, short, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,
    /// Also write the result as a page at the end: .html
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    report: Option<PathBuf>,
}

/// Form of a drive's image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ImageForm {
    /// The bytes of its flash, from which the FTL recovers as after a power cut: only data that the drive guarantees survives
    Flash,
    /// A journal of all requests, which are replayed: all acknowledged data survives, even data that the drive would have lost
    Journal,
}

const HELP: &str = "\
Examples:
  wearwell serve my.toml --nbd unix:drive.sock
  wearwell serve my.toml --nbd unix:drive.sock --image drive --output result.json
  wearwell serve my.toml --vhost-user unix:disk.sock    then linux.uml virtio_uml.device=disk.sock:2 ...
  wearwell serve my.toml --fuse mnt; losetup -f --show -b 4096 --direct-io=on mnt/disk
  wearwell serve my.toml --nbd unix:drive.sock --control tcp:127.0.0.1:9090    and a page that shows what it does
  fio --name=a --ioengine=nbd --uri='nbd+unix:///?socket=drive.sock' --rw=randwrite --bs=4k --size=64m";

/// Interval between checks whether to end.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    args.transports.check(args.allow_remote)?;
    let draft = args.scenario.draft()?;
    if draft.get("timing").is_some() && !args.pace {
        print_message(
            "`timing` has no effect on a live drive, which answers as fast as it can; --pace has it answer when the drive would",
        );
    }
    let inputs = args.scenario.inputs(&draft);
    let output = args.output.as_deref().map(|path| OutputFile::new(path, &inputs)).transpose()?;
    let page = args.report.as_deref().map(|path| Page::new(path, &inputs)).transpose()?;
    let mut device = open(args, &draft)?;
    if let Some(path) = &args.record {
        device.record(path).map_err(|error| Failure::run(format!("--record {error}")))?;
    }
    let device = SharedDevice::new(device);
    let transports = args.transports.open(&device)?;
    let control =
        args.control.as_ref().map(|address| ControlServer::start(device.clone(), address)).transpose();
    let control = control.map_err(|error| match error {
        ControlError::Remote(_) => Failure::Usage(format!("--control {error}")),
        ControlError::Listen(..) => Failure::Run(format!("--control {error}")),
    })?;
    let power_switch = start_power_switch(args, &device);
    wait_for_cleanup();
    let bytes = device.with(|device| Ok(device.bytes())).map_err(Failure::run)?;
    print(&format!("{bytes} bytes are served at {}  (Ctrl-C ends it)\n", transports.addresses()))?;
    if let Some(control) = &control {
        let at = control.url().unwrap_or_else(|| control.address().to_string());
        print(&format!("what it does is told at {at}\n"))?;
    }
    while !interrupted() && !transports.are_closed() {
        std::thread::sleep(POLL_INTERVAL);
        print_problems(&device.take_problems());
    }
    transports.close();
    drop(power_switch);
    if let Some(Err(error)) = control.map(ControlServer::stop) {
        print_message(format_args!("--control: it ended before the drive: {error}"));
    }
    let mut device = device.take().expect("only this takes it");
    print_problems(&device.take_problems());
    let recorded = device.end_recording();
    let synced = device.sync().map_err(|error| Failure::run(format!("--image: {error}")));
    let synced = device.image_failure().map_or(synced, |problem| Err(Failure::run(problem)));
    let result = device.result().map_err(|error| Failure::of_run(error, &draft))?;
    if let Some(file) = &output {
        write_result(file, &result)?;
    }
    if let Some(page) = &page {
        let name = result.scenario.name.as_deref().unwrap_or("A live drive");
        page.write(name, &[Document::run(name, &result)])?;
    }
    print(&wrap(&table::result(&result)))?;
    synced?;
    match recorded {
        Some(Err(problem)) => Err(Failure::run(format!("--record: it is not whole: {problem}"))),
        _ => Ok(()),
    }
}

/// Prints problems with the files of the image.
fn print_problems(problems: &[String]) {
    problems.iter().for_each(|problem| print_message(format_args!("WARNING: {problem}")));
}

/// Opens the device, new or from its image.
fn open(args: &Args, draft: &Draft) -> Result<Device, Failure> {
    let scenario = draft.scenario()?;
    let speed = if args.pace { Speed::Timed } else { Speed::Full };
    let Some(folder) = &args.image else {
        return Ok(Device::in_memory_at(&scenario, speed).map_err(|error| draft.explain(&error))?);
    };
    let failed = |error| match error {
        OpenError::Scenario(error) => Failure::from(draft.explain(&error)),
        OpenError::Image(error) => Failure::run(error),
    };
    let opened = match args.image_form {
        None => Device::in_image_at(&scenario, folder, speed),
        Some(form) if form == ImageForm::Journal && !is_flash(folder) => {
            Device::in_journal(&scenario, folder, speed)
        }
        Some(ImageForm::Flash) if !Image::exists(folder) && speed == Speed::Full => {
            let plan = LiveStack::stored_flash_plan(&scenario).map_err(|error| draft.explain(&error))?;
            Device::in_flash(plan, folder).map(|device| (device, ReplayCounts::default()))
        }
        Some(_) => {
            let problem = "the image is there already and keeps its drive the other way, or the drive is paced; leave the option out";
            return Err(Failure::Usage(format!("--image-form: {}: {problem}", folder.display())));
        }
    };
    let (device, counts) = opened.map_err(failed)?;
    match device.open_report() {
        Some(opened) => print_flash_recovery(folder, &opened),
        None => print_journal_replay(folder, &counts),
    }
    if let Some(problem) = device.image_failure() {
        print_problems(&[problem]);
    }
    Ok(device)
}

/// Prints how the drive recovered from an image of its flash.
fn print_flash_recovery(folder: &Path, opened: &OpenReport) {
    if opened.is_new {
        print_message(format_args!("{}: a new drive, kept as the bytes of its flash", folder.display()));
        return;
    }
    let steps = opened.recovery.as_ref().map_or(&[][..], |recovery| &recovery.steps);
    let sum = |operations: fn(&RecoveryStep) -> u64| steps.iter().map(operations).sum::<u64>();
    print_message(format_args!(
        "{}: the drive was recovered from its flash: {} spare areas and {} pages read, {} pages written, {} blocks erased",
        folder.display(),
        sum(|step| step.spare_reads),
        sum(|step| step.page_reads),
        sum(|step| step.page_writes),
        sum(|step| step.erases)
    ));
    if opened.undone_operations > 0 {
        print_message(format_args!(
            "this machine stopped before all of the flash was on its disk: {} operations after the first that is missing are undone",
            opened.undone_operations
        ));
    }
}

/// Prints how many requests of a journal were replayed.
fn print_journal_replay(folder: &Path, counts: &ReplayCounts) {
    print_message(format_args!("{}: {} requests were done once more", folder.display(), counts.requests));
    if counts.torn_bytes > 0 {
        print_message(
            "its server was killed; the request that it was noting down, which nobody was told is done, is left out",
        );
    }
    if counts.damaged_slots > 0 {
        print_message(format_args!(
            "WARNING: {} pages of the image are damaged and cannot be read; `wearwell image fsck` lists them",
            counts.damaged_slots
        ));
    }
}

/// Allows power cuts of the drive, if it can recover.
fn start_power_switch(args: &Args, device: &SharedDevice) -> Option<PowerSwitch> {
    let folder = args.image.as_ref().filter(|folder| is_flash(folder))?;
    let power_switch = PowerSwitch::start(device.clone(), folder);
    if let Err(error) = &power_switch {
        print_message(format_args!(
            "{}: `wearwell pull-plug` does not reach the drive: {error}",
            folder.display()
        ));
    }
    power_switch.ok()
}
