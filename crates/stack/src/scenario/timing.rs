//! Configuration of timed mode: duration of every operation.

use crate::device::{Device, ResolvedDevice};
use crate::size::ByteSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wearwell_base::config::ConfigError;
use wearwell_engine::nand::{DriveFrontEnd, Geometry, Preset};
use wearwell_engine::timing::{
    Arrivals, Cleaning, Contention, FlashTiming, HashEngine, HostTiming, Layout, Priority, SPARES_PER_PAGE,
    Striping, Suspend,
};
use wearwell_workload::ArrivalConfig;

/// Model of the drive's controller, between the host and the flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Controller {
    /// No time and no buffer, except those given explicitly.
    Ideal,
    /// Link and controller of the drive that the preset is modelled on, and a write buffer of four rows of all its planes. Values given
    /// explicitly take precedence.
    Drive,
}

/// Timed mode: response times, throughput, and the effect of cleaning on them. Without this table a run only counts pages.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TimingConfig {
    /// Requests that the drive works on at once; default 32. Further requests wait in the host's queue, first come, first served.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_depth: Option<u32>,
    /// Arrival of requests: `open`, at the times given by the trace or `requests`, or `closed`, as soon as the queue has room. Default
    /// open for traces and if `requests` is given, else closed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<Arrivals>,
    /// Open arrivals of synthetic workloads: requests per second, and their spacing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<ArrivalConfig>,
    /// Open arrivals: divisor of the times between requests; default 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speed_up: Option<f64>,
    /// Microseconds from a page of cells to the die's register; default from the preset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_us: Option<f64>,
    /// Microseconds to read the spare area of a page alone; default 1/32 of `read_us` (GeckoFTL, section 2). Flash that has to sense the
    /// whole page for it takes `read_us`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spare_read_us: Option<f64>,
    /// Microseconds from the register to a page of cells; default from the preset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program_us: Option<f64>,
    /// Microseconds to erase a block; default from the preset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub erase_us: Option<f64>,
    /// Microseconds that command and address of each flash operation take on the channel; default 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command_us: Option<f64>,
    /// Transfer rate of a channel in megabytes (10^6 bytes) per second; default from the preset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel_mb_per_s: Option<f64>,
    /// Resources that operations wait for: `channel`, the channel and the die, or `die`, the die alone, with the transfer added to the
    /// operation (faster to simulate, slightly inaccurate if channels are busy). Default `channel`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contention: Option<Contention>,
    /// Order of the operations that wait for a die; default `fcfs`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// True if a host read suspends an erase; default false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspend_erase: Option<bool>,
    /// True if a host read suspends a program; default false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspend_program: Option<bool>,
    /// Microseconds from the suspension to the read; default 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspend_us: Option<f64>,
    /// Microseconds to resume the suspended operation; default 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume_us: Option<f64>,
    /// Planes on which the pages of a block lie. `block`: the planes of the block or superblock. `drive`: page by page,
    /// all planes of the drive, first the planes of a die, then the next channel, way and die. Default `drive` with a
    /// preset and no explicit `superblock_blocks`, else `block`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub striping: Option<Striping>,
    /// True if consecutive pages on different planes of a die are programmed, read and erased at once; default true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub multi_plane: Option<bool>,
    /// True if cleaning moves a page within its plane without a transfer over the channel; default false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copyback: Option<bool>,
    /// True if enough blocks are kept erased that no page waits for the erase of its own block, as in drives whose superblocks span all
    /// dies; erases then only keep their dies busy. Default true with `controller` as `drive`, else false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub erase_ahead: Option<bool>,
    /// Effect of cleaning on the write that triggers it: `foreground`, the write waits until cleaning has ended; `background`, cleaning
    /// only keeps dies and channels busy. Default `background` with `controller` as `drive`, else `foreground`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cleaning: Option<Cleaning>,
    /// Model of the controller between the host and the flash. `ideal` takes no time except for the settings given
    /// below; `drive` has the link, controller and write buffer of the drive that the preset is modelled on. Default
    /// `drive` with such a preset, else `ideal`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controller: Option<Controller>,
    /// Microseconds that the drive's controller works on each read, one request after another; default from the preset with `controller`
    /// as `drive`, else 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controller_read_us: Option<f64>,
    /// Microseconds that the drive's controller works on each write; default as for `controller_read_us`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controller_write_us: Option<f64>,
    /// Capacity of the drive's RAM for written pages: a write completes once its pages are buffered. Default with `controller` as
    /// `drive`: four rows of flash pages on all planes, else no buffer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_buffer: Option<ByteSize>,
    /// Rate of the link to the host in megabytes (10^6 bytes) per second; default from the preset with `controller` as `drive`, else the
    /// link takes no time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_mb_per_s: Option<f64>,
    /// Number of hash engines, for deduplication; default 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash_engines: Option<u32>,
}

/// Rows of flash pages on all planes that a drive's write buffer holds: rows being programmed, and rows arriving
/// meanwhile.
const BUFFERED_ROWS: u64 = 4;

/// Longest time, one hour.
const MAX_US: f64 = 3.6e9;

/// Converts microseconds, given or by default, to nanoseconds.
fn resolve_ns(key: &str, given: &mut Option<f64>, default: Option<f64>) -> Result<u64, ConfigError> {
    let us = given.or(default).ok_or_else(|| missing_error(key))?;
    if !(0.0..=MAX_US).contains(&us) {
        let problem =
            format!("is {us}; it must be a number of microseconds, 0 or above, and at most an hour");
        return Err(ConfigError::new(key, problem));
    }
    *given = Some(us);
    Ok((us * 1e3).round() as u64)
}

/// Checks a rate in 10^6 bytes per second, which is bytes per microsecond.
fn check_rate(key: &str, given: Option<f64>) -> Result<f64, ConfigError> {
    match given.ok_or_else(|| missing_error(key))? {
        rate if rate > 0.0 && rate.is_finite() => Ok(rate),
        rate => Err(ConfigError::new(key, format!("is {rate}; it must be above 0"))),
    }
}

fn missing_error(key: &str) -> ConfigError {
    ConfigError::new(key, "is missing; give it, or a `device.preset` that has it")
}

impl TimingConfig {
    /// Returns the timing of the flash of a resolved drive and writes every choice back. Errors name the key within the
    /// table.
    pub(crate) fn flash(
        &mut self,
        device: &Device,
        resolved: &ResolvedDevice,
        hash_ns: u64,
    ) -> Result<FlashTiming, ConfigError> {
        let preset = device.preset.as_deref().and_then(Preset::find);
        let geometry = &resolved.geometry;
        let unit_bytes = geometry.page_bytes + geometry.spare_bytes;
        let controller = self.controller(preset);
        self.channel_mb_per_s = self.channel_mb_per_s.or(preset.map(|preset| preset.channel_mb_per_s));
        let channel = check_rate("channel_mb_per_s", self.channel_mb_per_s)?;
        let read_ns = resolve_ns("read_us", &mut self.read_us, preset.map(|preset| preset.read_us))?;
        let spare_read_us = self.read_us.map(|read_us| read_us / SPARES_PER_PAGE as f64);
        let page_bytes = device.page_size.map_or(u64::from(geometry.page_bytes), |size| size.0);
        let units_per_page = (page_bytes / u64::from(geometry.page_bytes)) as u32;
        let flash = FlashTiming {
            layout: Layout {
                channels: geometry.channels,
                ways: geometry.ways,
                dies: geometry.dies,
                planes: geometry.planes,
                superblock_blocks: geometry.superblock_blocks,
                units_per_page,
                pages_per_block: geometry.pages_per_block,
                striping: self.striping(device, geometry, units_per_page),
            },
            read_ns,
            spare_read_ns: resolve_ns("spare_read_us", &mut self.spare_read_us, spare_read_us)?,
            program_ns: resolve_ns(
                "program_us",
                &mut self.program_us,
                preset.map(|preset| preset.program_us),
            )?,
            erase_ns: resolve_ns("erase_us", &mut self.erase_us, preset.map(|preset| preset.erase_us))?,
            command_ns: resolve_ns("command_us", &mut self.command_us, Some(0.0))?,
            unit_transfer_ns: (f64::from(unit_bytes) / channel * 1e3).round() as u64,
            contention: *self.contention.get_or_insert(Contention::Channel),
            priority: *self.priority.get_or_insert(Priority::Fcfs),
            suspend: Suspend {
                erase: *self.suspend_erase.get_or_insert(false),
                program: *self.suspend_program.get_or_insert(false),
                suspend_ns: resolve_ns("suspend_us", &mut self.suspend_us, Some(0.0))?,
                resume_ns: resolve_ns("resume_us", &mut self.resume_us, Some(0.0))?,
            },
            multi_plane: *self.multi_plane.get_or_insert(true),
            copyback: *self.copyback.get_or_insert(false),
            erase_ahead: *self.erase_ahead.get_or_insert(controller == Controller::Drive),
            hash: HashEngine { engines: self.engines()?, hash_ns },
        };
        flash.check()?;
        Ok(flash)
    }

    /// Fills in the default of `striping`: presets model drives that stripe writes, in whole rows of a die's planes.
    fn striping(&mut self, device: &Device, geometry: &Geometry, units_per_page: u32) -> Striping {
        let holds_rows = geometry.pages_per_block.is_multiple_of(geometry.planes * units_per_page);
        let stripes_like_drive = device.preset.is_some() && device.superblock_blocks.is_none() && holds_rows;
        *self.striping.get_or_insert(if stripes_like_drive { Striping::Drive } else { Striping::Block })
    }

    /// Fills in the default of `controller`: that of the drive that the preset is modelled on, if there is one.
    fn controller(&mut self, preset: Option<&Preset>) -> Controller {
        let is_drive = preset.is_some_and(|preset| preset.front_end().is_some());
        *self.controller.get_or_insert(if is_drive { Controller::Drive } else { Controller::Ideal })
    }

    fn engines(&mut self) -> Result<u32, ConfigError> {
        match *self.hash_engines.get_or_insert(1) {
            0 => Err(ConfigError::new("hash_engines", "is 0; at least one is needed")),
            engines => Ok(engines),
        }
    }

    /// Returns the timing of the host side and writes every choice back. Errors name the key within the table.
    pub(crate) fn host(
        &mut self,
        device: &Device,
        geometry: &Geometry,
        sources: RequestSources,
    ) -> Result<HostTiming, ConfigError> {
        let drive_front = self.resolve_front(device, geometry)?;
        let page_bytes = geometry.page_bytes;
        let host = HostTiming {
            queue_depth: *self.queue_depth.get_or_insert(32),
            arrivals: self.arrivals(sources)?,
            cleaning: self.cleaning(),
            controller_read_ns: resolve_ns(
                "controller_read_us",
                &mut self.controller_read_us,
                Some(drive_front.map_or(0.0, |front| front.controller_read_us)),
            )?,
            controller_write_ns: resolve_ns(
                "controller_write_us",
                &mut self.controller_write_us,
                Some(drive_front.map_or(0.0, |front| front.controller_write_us)),
            )?,
            link_bytes_per_us: match self.host_mb_per_s {
                Some(given) => Some(check_rate("host_mb_per_s", Some(given))?),
                None => None,
            },
            page_bytes,
            write_buffer_pages: self.write_buffer_pages(page_bytes)?,
            power_off_ns: 0,
        };
        host.check()?;
        Ok(host)
    }

    /// Returns the link and controller of the preset's drive, if `controller` is `drive`; fills in link rate and write
    /// buffer.
    fn resolve_front(
        &mut self,
        device: &Device,
        geometry: &Geometry,
    ) -> Result<Option<&'static DriveFrontEnd>, ConfigError> {
        let preset = device.preset.as_deref().and_then(Preset::find);
        if self.controller(preset) == Controller::Ideal {
            return Ok(None);
        }
        let front = preset.and_then(Preset::front_end);
        let Some(front) = front else {
            let problem = "is \"drive\", for which `device.preset` must be modelled on one; give `host_mb_per_s`, `controller_read_us`, \
                           `controller_write_us` and `write_buffer` instead";
            return Err(ConfigError::new("controller", problem));
        };
        self.host_mb_per_s.get_or_insert(front.host_mb_per_s);
        let page_bytes = device.page_size.map_or(u64::from(geometry.page_bytes), |size| size.0);
        let row_bytes = u64::from(geometry.total_planes()) * page_bytes;
        self.write_buffer.get_or_insert(ByteSize(BUFFERED_ROWS * row_bytes));
        Ok(Some(front))
    }

    /// Fills in the default of `cleaning`: a drive's writes are buffered, and wait for cleaning only if the buffer is
    /// full.
    fn cleaning(&mut self) -> Cleaning {
        let is_drive = self.controller == Some(Controller::Drive);
        *self.cleaning.get_or_insert(if is_drive { Cleaning::Background } else { Cleaning::Foreground })
    }

    fn write_buffer_pages(&self, page_bytes: u32) -> Result<u32, ConfigError> {
        let Some(size) = self.write_buffer else { return Ok(0) };
        let pages = size.0 / u64::from(page_bytes);
        match u32::try_from(pages) {
            Ok(1..) => Ok(pages as u32),
            _ => {
                let problem =
                    format!("is {size}; it must hold at least a page of {}", ByteSize(page_bytes.into()));
                Err(ConfigError::new("write_buffer", problem))
            }
        }
    }

    /// Returns the kind of arrivals, if the sources of requests allow it.
    fn arrivals(&mut self, sources: RequestSources) -> Result<Arrivals, ConfigError> {
        let open = sources.trace || self.requests.is_some();
        let kind = *self.arrivals.get_or_insert(if open { Arrivals::Open } else { Arrivals::Closed });
        if kind == Arrivals::Closed {
            let given = [("requests", self.requests.is_some()), ("speed_up", self.speed_up.is_some())];
            return match given.iter().find(|(_, given)| *given) {
                Some((key, _)) => Err(ConfigError::new(*key, "means nothing with arrivals = \"closed\"")),
                None => Ok(Arrivals::Closed),
            };
        }
        let speed_up = *self.speed_up.get_or_insert(1.0);
        if !(speed_up > 0.0 && speed_up.is_finite()) {
            return Err(ConfigError::new("speed_up", format!("is {speed_up}; it must be a number above 0")));
        }
        if sources.workload && self.requests.is_none() {
            let problem = "is missing; a workload has no times of its own: give `requests_per_second`, or `arrivals` = \"closed\"";
            return Err(ConfigError::new("requests", problem));
        }
        Ok(Arrivals::Open)
    }

    /// Returns the source of arrival times; `None` if none are needed. Call after [`Self::host`].
    pub(crate) fn arrival_times(&self) -> Option<ArrivalTimes> {
        let open = self.arrivals == Some(Arrivals::Open);
        open.then(|| ArrivalTimes {
            speed_up: self.speed_up.unwrap_or(1.0),
            arrivals: self.scaled_arrivals(),
        })
    }

    fn scaled_arrivals(&self) -> Option<ArrivalConfig> {
        let requests = self.requests.clone()?;
        let requests_per_second = requests.requests_per_second * self.speed_up.unwrap_or(1.0);
        Some(ArrivalConfig { requests_per_second, ..requests })
    }
}

/// Sources of a run's requests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestSources {
    /// True if some requests come from a trace.
    pub trace: bool,
    /// True if some requests come from a workload.
    pub workload: bool,
}

/// Source of arrival times.
#[derive(Clone, Debug)]
pub struct ArrivalTimes {
    /// Traces: divisor of the trace's own times, a finite number above 0.
    pub speed_up: f64,
    /// Synthetic workloads: distribution of arrivals; `None` if they have no times.
    pub arrivals: Option<ArrivalConfig>,
}
