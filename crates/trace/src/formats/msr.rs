//! MSR Cambridge block traces.

use super::prelude::*;
use crate::volumes::{VolumeNames, VolumeSet};

/// Unit of Windows file times, ns.
const TICK_NS: u64 = 100;

/// Maximum number of disks of a host in Wearwell's volume numbers.
const DISKS_PER_HOST: u32 = 1 << 16;

/// The `msr` format.
pub static FORMAT: Format = Format {
    name: "msr",
    help: "MSR Cambridge: CSV without header, Windows file times, bytes",
    columns: "Timestamp[100 ns since 1601-01-01 UTC],Hostname,DiskNumber,Read|Write,Offset[bytes],Size[bytes],\
              ResponseTime[100 ns]. The volume is the disk number; disks of the n-th further host that occurs \
              get 65536 n more. Written with a response time of 0.",
    source: "SNIA IOTTA trace 387, README; Narayanan et al., Write Off-Loading, FAST 2008",
    extensions: &["csv"],
    time_step_ns: TICK_NS,
    options: &[],
    detect: Some(|beginning| {
        let line = first_line(beginning);
        let file_time = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
        (17..=18).contains(&file_time) && Msr::default().line(line, &mut Vec::new()).is_ok()
    }),
    read: |_| Lines::boxed(Msr::default()),
    write: Some(|_| Box::new(Msr::default())),
};

#[derive(Default)]
struct Msr {
    hosts: VolumeNames,
    disks: VolumeSet,
}

impl LineFormat for Msr {
    fn line(&mut self, line: &[u8], _: &mut Vec<Digest>) -> Result<Option<Request>, BadValue> {
        let mut fields = Fields::commas(line);
        let time_ns = fields.time("Timestamp", TICK_NS)?;
        let host = fields.text("Hostname")?;
        let disk = fields.u32("DiskNumber")?;
        let op = match fields.text("Type")? {
            b"Read" => Op::Read,
            b"Write" => Op::Write,
            other => return Err(BadValue::new("Type", other, "Read or Write")),
        };
        let offset_bytes = fields.u64("Offset")?;
        let length_bytes = fields.u64("Size")?;
        fields.skip("ResponseTime")?;
        fields.end()?;
        let volume = self.volume(host, disk)?;
        Ok(Some(Request { time_ns, op, volume, offset_bytes, length_bytes, hint: 0 }))
    }

    fn volume_names(&self) -> Vec<(u32, String)> {
        let hosts = self.hosts.names();
        self.disks.names(|volume| {
            let (host, disk) = (volume / DISKS_PER_HOST, volume % DISKS_PER_HOST);
            format!("{}.{disk}", hosts[host as usize].1)
        })
    }
}

impl Msr {
    fn volume(&mut self, host: &[u8], disk: u32) -> Result<u32, BadValue> {
        if disk >= DISKS_PER_HOST {
            return Err(BadValue::new("DiskNumber", disk.to_string().as_bytes(), "at most 65535"));
        }
        let host_number = self.hosts.number(host, None);
        let first = host_number.checked_mul(DISKS_PER_HOST);
        let first = first.ok_or_else(|| BadValue::new("Hostname", host, "at most 65536 hosts"))?;
        self.disks.add(first + disk);
        Ok(first + disk)
    }
}

impl Encoder for Msr {
    fn encode(&mut self, request: &Request, _: RequestContent<'_>, out: &mut Vec<u8>) -> Result<(), Reason> {
        let Request { time_ns, volume, offset_bytes, length_bytes, .. } = request;
        let op = read_or_write(request.op, "Read", "Write")?;
        if *volume >= DISKS_PER_HOST {
            return Err(format!("volume {volume} is above 65535, the last disk number").into());
        }
        put!(out, "{},wearwell,{volume},{op},{offset_bytes},{length_bytes},0\n", time_ns / TICK_NS);
        Ok(())
    }
}
