//! Tests of zoned drives without a log: rules for requests, and zones as files.

use crate::common::{device, scenario};
use crate::fuse::MountedDrive;
use proptest::prelude::*;
use rustix::io::Errno;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::Path;
use wearwell_engine::layer::{LayerError, ZoneState};
use wearwell_serve::{Device, DeviceError, SharedDevice, Speed, TRANSPORTS, Zones};

const PAGE: usize = 4096;
const ZONE_PAGES: usize = 16;
const ZONE: usize = ZONE_PAGES * PAGE;
const DRIVE: &str = "[device]\nraw_capacity = \"1 MiB\"\npages_per_block = 8\n\
    [ftl]\nstructure = { kind = \"zones\", zone_blocks = 2, max_open_zones = 3 }\n";

fn zone_of(device: &Device, number: u32) -> ZoneState {
    device.zone(number).unwrap()
}

/// Returns the reason why a request was refused, if it was.
fn refusal_of(done: Result<(), DeviceError>) -> Option<LayerError> {
    done.err().map(|error| match error {
        DeviceError::Layer(error) => error,
        other => panic!("{other}"),
    })
}

#[test]
fn zone_is_written_at_write_pointer_and_reset_as_a_whole() {
    let mut device = device(DRIVE);
    assert_eq!(device.zones(), Some(Zones { count: 16, bytes: ZONE as u64 }));
    let page = [7; PAGE];
    device.write(0, &page).unwrap();
    let order = |zone, page, expected| Some(LayerError::NotSequential { zone, page, expected });
    assert_eq!(refusal_of(device.write(0, &page)), order(0, 0, 1));
    assert_eq!(refusal_of(device.write(2 * PAGE as u64, &page)), order(0, 2, 1));
    assert_eq!(refusal_of(device.write(PAGE as u64, &page[..100])), order(0, 1, 1), "a part of a page");
    assert_eq!(refusal_of(device.write(PAGE as u64, &[7; ZONE])), order(0, 1, 1), "beyond the zone");
    for zone in [1, 2] {
        device.write(zone * ZONE as u64, &page).unwrap();
    }
    let open = refusal_of(device.write(3 * ZONE as u64, &page));
    assert_eq!(open, Some(LayerError::TooManyOpenZones { zone: 3, limit: 3 }));
    let state = ZoneState {
        pages: ZONE_PAGES as u32,
        written: 1,
        is_finished: false,
        is_offline: false,
        open_limit: None,
    };
    assert_eq!(zone_of(&device, 0), state);
    assert_eq!(zone_of(&device, 3), ZoneState { written: 0, open_limit: Some(3), ..state });
    assert_eq!(device.zone(16), None);
    assert_eq!(refusal_of(device.trim(0, PAGE as u64)), Some(LayerError::PartialReset { zone: 0 }));
    let partial = refusal_of(device.write_zeroes(0, ZONE as u64 + 1, false));
    assert!(partial.is_some(), "zeroes of more than a zone");
    let end = device.bytes();
    device.trim(end, 0).unwrap();
    device.write(end, &[]).unwrap();
    device.trim(0, 2 * ZONE as u64).unwrap();
    assert_eq!(zone_of(&device, 0), ZoneState { written: 0, ..state });
    let mut found = [1; PAGE];
    device.read(0, &mut found).unwrap();
    assert_eq!(found, [0; PAGE]);
    device.read(2 * ZONE as u64, &mut found).unwrap();
    assert_eq!(found, page);
    device.check().unwrap();
}

/// A journal contains no refused requests, and restores the same write pointers and bytes.
#[test]
fn journal_restores_zoned_drive() {
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("image");
    let open = || Device::in_image_at(&scenario(DRIVE), &image, Speed::Full).unwrap().0;
    let mut device = open();
    for page in 0..5 {
        device.write(page * PAGE as u64, &[page as u8 + 1; PAGE]).unwrap();
        assert!(device.write(page * PAGE as u64, &[9; PAGE]).is_err());
    }
    device.write(2 * ZONE as u64, &[3; PAGE]).unwrap();
    for zone in [2, 2, 3] {
        device.finish_zone(zone).unwrap();
    }
    device.write(ZONE as u64, &[8; 2 * PAGE]).unwrap();
    device.trim(ZONE as u64, ZONE as u64).unwrap();
    device.flush().unwrap();
    drop(device);
    let mut device = open();
    assert_eq!([0, 1, 2, 3].map(|zone| zone_of(&device, zone).written), [5, 0, 1, 0]);
    assert_eq!([0, 1, 2, 3].map(|zone| zone_of(&device, zone).is_finished), [false, false, true, true]);
    let mut found = [0; PAGE];
    for page in 0..5 {
        device.read(page * PAGE as u64, &mut found).unwrap();
        assert_eq!(found, [page as u8 + 1; PAGE]);
    }
    device.write(5 * PAGE as u64, &[6; PAGE]).unwrap();
    drop(device);
    // The entry of the last write, which has one page, is duplicated. The zone would have refused this write.
    let journal = image.join("requests");
    let mut notes = std::fs::read(&journal).unwrap();
    notes.extend_from_within(notes.len() - 40..);
    std::fs::write(&journal, notes).unwrap();
    let refused = Device::in_image_at(&scenario(DRIVE), &image, Speed::Full).map(|_| ()).unwrap_err();
    assert!(refused.to_string().contains("zone 0: page 5 written out of order"), "{refused}");
}

/// A failed program takes only one zone offline; this zone stays readable until it is reset.
#[test]
fn failed_zone_stays_readable_and_others_writable() {
    let mut device = device(&DRIVE.replace("[ftl]", "program_failure_rate = 0.02\n[ftl]"));
    let mut held = vec![Vec::new(); 16];
    for (zone, held) in held.iter_mut().enumerate() {
        for pair in 0..ZONE_PAGES / 2 {
            let data: Vec<u8> =
                (0..2 * PAGE).map(|at| (zone * 31 + pair * 2 + at / PAGE + 1) as u8).collect();
            let at = (zone * ZONE + pair * 2 * PAGE) as u64;
            if device.write(at, &data).is_err() {
                break;
            }
            held.extend(data);
        }
    }
    let states: Vec<ZoneState> = (0..16).map(|zone| zone_of(&device, zone)).collect();
    let offline = states.iter().filter(|state| state.is_offline).count();
    assert!((1..16).contains(&offline), "{offline} are offline");
    let mut in_part = 0;
    for (zone, (state, held)) in states.iter().zip(&held).enumerate() {
        let mut found = vec![0; state.written as usize * PAGE];
        device.read((zone * ZONE) as u64, &mut found).unwrap();
        // A page of the failed write may be present.
        assert!(found.starts_with(held) && found.len() <= held.len() + PAGE);
        let is_written = |(at, byte): (usize, &u8)| *byte == (zone * 31 + at / PAGE + 1) as u8;
        assert!(found.iter().enumerate().all(is_written));
        in_part += usize::from(found.len() > held.len());
        let again = refusal_of(device.write((zone * ZONE) as u64, &[1; PAGE]));
        assert!(
            again.is_some_and(|error| matches!(error, LayerError::ZoneOffline { .. }) == state.is_offline)
        );
    }
    assert!(in_part > 0, "none of the writes that failed was done in part");
    device.check().unwrap();
    device.trim(0, 16 * ZONE as u64).unwrap();
    assert_eq!(device.content_bytes(), 0);
}

/// NBD and vhost-user cannot express zones.
#[test]
fn transports_without_zones_refuse_zoned_drives() {
    let folder = tempfile::tempdir().unwrap();
    let device = SharedDevice::new(device(DRIVE));
    let address = format!("unix:{}", folder.path().join("s").display());
    for kind in TRANSPORTS.iter().filter(|kind| kind.name != "fuse") {
        let Ok(endpoint) = (kind.parse)(&address) else { continue };
        let error = endpoint.open(&device).map(|_| ()).unwrap_err();
        assert!(error.to_string().contains("zone by zone"), "{}: {error}", kind.name);
    }
}

/// Opens the file of a zone for appending.
fn open_for_append(folder: &Path, zone: u32) -> File {
    OpenOptions::new().append(true).open(folder.join(zone.to_string())).unwrap()
}

fn errno_of(done: std::io::Result<()>) -> Option<Errno> {
    done.err().and_then(|error| Errno::from_io_error(&error))
}

#[test]
fn zone_files_behave_as_in_zonefs() {
    let Some(mounted) = MountedDrive::mount(DRIVE) else { return };
    let zones = mounted.disk();
    assert!(zones.ends_with("seq"));
    let names: Vec<String> =
        zones.read_dir().unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(names, (0..16).map(|zone| zone.to_string()).collect::<Vec<_>>());
    for name in ["16", "01", "x", "-1"] {
        assert!(!zones.join(name).exists(), "{name}");
    }
    let mut first = open_for_append(&zones, 0);
    first.write_all(&[1; 3 * PAGE]).unwrap();
    assert_eq!(errno_of(first.write_all(&[1; 100])), Some(Errno::INVAL));
    first.write_all(&[2; PAGE]).unwrap();
    first.sync_all().unwrap();
    let path = zones.join("0");
    assert_eq!(std::fs::read(&path).unwrap(), [[1; PAGE], [1; PAGE], [1; PAGE], [2; PAGE]].concat());
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let any = OpenOptions::new().write(true).open(&path).unwrap();
    assert_eq!(errno_of(any.write_all_at(&[3; PAGE], 0)), Some(Errno::INVAL));
    any.write_all_at(&[3; PAGE], 4 * PAGE as u64).unwrap();
    assert_eq!(errno_of(any.write_all_at(&[3; ZONE], 5 * PAGE as u64)), Some(Errno::FBIG));
    assert_eq!(errno_of(any.set_len(PAGE as u64)), Some(Errno::PERM));
    any.set_len(5 * PAGE as u64).unwrap();
    for zone in [1, 2] {
        open_for_append(&zones, zone).write_all(&[zone as u8; PAGE]).unwrap();
    }
    assert_eq!(errno_of(open_for_append(&zones, 3).write_all(&[3; PAGE])), Some(Errno::BUSY));
    any.set_len(ZONE as u64).unwrap();
    assert_eq!(path.metadata().unwrap().len(), ZONE as u64);
    assert_eq!(std::fs::read(&path).unwrap()[5 * PAGE..], [0; ZONE - 5 * PAGE]);
    open_for_append(&zones, 4).write_all(&[4; PAGE]).unwrap();
    open_for_append(&zones, 4).set_len(0).unwrap();
    any.set_len(0).unwrap();
    assert_eq!(path.metadata().unwrap().len(), 0);
    open_for_append(&zones, 3).write_all(&[3; ZONE]).unwrap();
    drop((first, any));
    let (closed, device) = mounted.close();
    closed.unwrap();
    assert_eq!((0..4).map(|zone| zone_of(&device, zone).written).collect::<Vec<_>>(), [0, 1, 1, 16]);
    device.check().unwrap();
}

/// The kernel divides such writes within a page.
#[test]
fn long_writes_from_unaligned_buffers_are_accepted() {
    let drive = "[device]\nraw_capacity = \"32 MiB\"\npages_per_block = 64\n\
        [ftl]\nstructure = { kind = \"zones\", zone_blocks = 16, max_open_zones = 3 }\n";
    let Some(mounted) = MountedDrive::mount(drive) else { return };
    let zones = mounted.disk();
    let bytes: Vec<u8> = (0..3 << 20).map(|at: usize| (at / 1000) as u8).collect();
    let mut zone = open_for_append(&zones, 0);
    let mut written = 0;
    for length in [1 << 20, (1 << 20) + PAGE, 512 << 10, PAGE] {
        // An odd address is not aligned to pages.
        let mut buffer = vec![0; length + 1];
        let shift = (buffer.as_ptr() as usize + 1) % 2;
        buffer[shift..shift + length].copy_from_slice(&bytes[written..written + length]);
        zone.write_all(&buffer[shift..shift + length]).unwrap_or_else(|error| panic!("{length}: {error}"));
        written += length;
    }
    assert_eq!(errno_of(zone.write_all(&[1; PAGE + 100])), Some(Errno::INVAL), "a part of a page");
    let found = std::fs::read(zones.join("0")).unwrap();
    assert!(found == bytes[..written]);
    drop(zone);
    let (closed, device) = mounted.close();
    closed.unwrap();
    assert_eq!(zone_of(&device, 0).written as usize * PAGE, written);
    device.check().unwrap();
}

#[derive(Clone, Debug)]
enum ZoneRequest {
    Append(usize, usize, u8),
    Reset(usize),
    Finish(usize),
    Read(usize),
}

fn zone_request() -> impl Strategy<Value = ZoneRequest> {
    let zone = || 0..16usize;
    prop_oneof![
        6 => (zone(), 1..=ZONE_PAGES, 1..200u8).prop_map(|(zone, pages, byte)| ZoneRequest::Append(zone, pages, byte)),
        2 => zone().prop_map(ZoneRequest::Reset),
        1 => zone().prop_map(ZoneRequest::Finish),
        2 => zone().prop_map(ZoneRequest::Read),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The reference is a list of bytes for each zone.
    #[test]
    fn zone_content_equals_reference_zones(steps in prop::collection::vec(zone_request(), 1..120)) {
        let mut device = device(DRIVE);
        let mut naive = vec![Vec::<u8>::new(); 16];
        let mut finished = [false; 16];
        for step in steps {
            match step {
                ZoneRequest::Append(zone, pages, byte) => {
                    let is_open = |at: &usize| !finished[*at] && (1..ZONE).contains(&naive[*at].len());
                    let open = (0..16).filter(is_open).count();
                    let fits = naive[zone].len() + pages * PAGE <= ZONE
                        && !finished[zone]
                        && (!naive[zone].is_empty() || open < 3);
                    let at = (zone * ZONE + naive[zone].len()) as u64;
                    let data = vec![byte; pages * PAGE];
                    let is_inside = naive[zone].len() < ZONE;
                    prop_assert_eq!(is_inside && device.write(at, &data).is_ok(), fits);
                    if fits {
                        naive[zone].extend(data);
                    }
                }
                ZoneRequest::Reset(zone) => {
                    device.trim((zone * ZONE) as u64, ZONE as u64).unwrap();
                    naive[zone].clear();
                    finished[zone] = false;
                }
                ZoneRequest::Finish(zone) => {
                    device.finish_zone(zone as u32).unwrap();
                    finished[zone] = naive[zone].len() < ZONE;
                }
                ZoneRequest::Read(zone) => {
                    let mut found = vec![1; ZONE];
                    device.read((zone * ZONE) as u64, &mut found).unwrap();
                    let mut wanted = naive[zone].clone();
                    wanted.resize(ZONE, 0);
                    prop_assert!(found == wanted);
                }
            }
            for (zone, held) in naive.iter().enumerate() {
                let state = zone_of(&device, zone as u32);
                prop_assert_eq!((state.written as usize * PAGE, state.is_finished), (held.len(), finished[zone]));
            }
        }
        device.check().unwrap();
    }
}
