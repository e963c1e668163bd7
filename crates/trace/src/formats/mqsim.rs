//! MQSim's ASCII traces.

use super::prelude::*;

/// The `mqsim` format.
pub static FORMAT: Format = Format {
    name: "mqsim",
    help: "MQSim ASCII: sectors, 0 writes and 1 reads, time unit by option",
    columns: "arrival[time unit] device start[512 B] size[sectors] type[0 write, 1 read], blank separated. The \
              volume is the device. Times in ps are rounded down to ns.",
    source: "github.com/CMU-SAFARI/MQSim, README; Tavakkol et al., FAST 2018",
    extensions: &["trace"],
    time_step_ns: 1,
    options: &[OptionSpec {
        name: "time_unit",
        help: "unit of the arrival column, which MQSim takes from its XML file",
        choices: &["ps", "ns", "us"],
        text: None,
        default: Some("ns"),
    }],
    detect: None, // five whole numbers, as in other formats
    read: |settings| Lines::boxed(FiveNumbers::in_unit(settings.get("time_unit"))),
    write: Some(|settings| Box::new(FiveNumbers::in_unit(settings.get("time_unit")))),
};

/// Lines of MQSim and SSDsim: arrival, device, first sector, sectors and operation (0 writes, 1 reads).
pub struct FiveNumbers {
    unit: &'static TimeUnit,
}

struct TimeUnit {
    name: &'static str,
    /// Multiplier of the number in the file, to get ns.
    multiplier: u64,
    /// Divisor of the product, to get ns.
    divisor: u64,
}

static TIME_UNITS: [TimeUnit; 3] = [
    TimeUnit { name: "ps", multiplier: 1, divisor: 1000 },
    TimeUnit { name: "ns", multiplier: 1, divisor: 1 },
    TimeUnit { name: "us", multiplier: 1000, divisor: 1 },
];

impl FiveNumbers {
    /// Returns the format with arrival times in `unit`.
    pub fn in_unit(unit: &str) -> Self {
        let unit = TIME_UNITS.iter().find(|candidate| candidate.name == unit);
        FiveNumbers { unit: unit.expect("the option allows these units only") }
    }
}

impl LineFormat for FiveNumbers {
    fn line(&mut self, line: &[u8], _: &mut Vec<Digest>) -> Result<Option<Request>, BadValue> {
        let mut fields = Fields::blanks(line);
        let time_ns = fields.time("arrival", self.unit.multiplier)? / self.unit.divisor;
        let volume = fields.u32("device")?;
        let offset_bytes = fields.bytes("start sector", SECTOR_BYTES)?;
        let length_bytes = fields.bytes("sectors", SECTOR_BYTES)?;
        let op = fields.op_code("type", b'1', b'0', "0 (write) or 1 (read)")?;
        fields.end()?;
        Ok(Some(Request { time_ns, op, volume, offset_bytes, length_bytes, hint: 0 }))
    }
}

impl Encoder for FiveNumbers {
    fn encode(&mut self, request: &Request, _: RequestContent<'_>, out: &mut Vec<u8>) -> Result<(), Reason> {
        let op = read_or_write(request.op, 1, 0)?;
        let (sector, sectors) = in_sectors(request)?;
        let time = (request.time_ns / self.unit.multiplier).checked_mul(self.unit.divisor);
        let time = time.ok_or("the time does not fit into 64 bits of ps")?;
        put!(out, "{time} {} {sector} {sectors} {op}\n", request.volume);
        Ok(())
    }
}
