//! Test with a guest kernel in User-mode Linux, where it is installed. The guest is an ordinary process with the
//! drivers and file systems of Linux.

use crate::vhost::ServedDrive;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};
use wearwell_serve::Operation;

/// Script that the guest runs. Its root is the file system of the host, read-only; FOLDER is replaced by the folder
/// with the kernel modules.
const JOB: &str = r#"#!/bin/sh
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t tmpfs tmp /mnt
(
    set -ex
    modprobe -d FOLDER virtio_blk
    test "$(cat /sys/block/vda/queue/logical_block_size)" = 4096
    test "$(cat /sys/block/vda/queue/discard_granularity)" = 4096
    test "$(cat /sys/block/vda/cache_type)" = "write back"
    mkfs.ext4 -q -F /dev/vda
    mkdir /mnt/fs
    mount -o discard /dev/vda /mnt/fs
    for number in 1 2 3 4 5 6 7 8; do dd if=/dev/zero bs=64k count=16 2>/dev/null | tr '\0' $number > /mnt/fs/$number; done
    sync
    rm /mnt/fs/1 /mnt/fs/2
    fstrim /mnt/fs
    umount /mnt/fs
    fsck.ext4 -f -n /dev/vda
    mount /dev/vda /mnt/fs
    test "$(tr -d 5 < /mnt/fs/5 | wc -c)" = 0
    test "$(wc -c < /mnt/fs/5)" = 1048576
    umount /mnt/fs
    echo all is well
) > /mnt/log 2>&1
cat /mnt/log
busybox poweroff -f
"#;

#[test]
fn guest_kernel_uses_a_file_system_on_the_device() {
    let modules = Path::new("/usr/lib/uml/modules");
    let needed = [
        "/usr/bin/linux.uml",
        "/usr/lib/uml/modules",
        "/usr/sbin/modprobe",
        "/usr/bin/busybox",
        "/usr/sbin/mkfs.ext4",
        "/usr/sbin/fstrim",
        "/dev/shm",
    ];
    if let Some(missing) = needed.iter().find(|path| !Path::new(path).exists()) {
        println!("NOT RUN: there is no {missing}");
        return;
    }
    let served =
        ServedDrive::serve("[device]\ncapacity = \"64 MiB\"\npages_per_block = 32\nspare_factor = 0.2\n");
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("lib")).unwrap();
    symlink(modules, folder.path().join("lib/modules")).unwrap();
    let job = folder.path().join("job");
    std::fs::write(&job, JOB.replace("FOLDER", folder.path().to_str().unwrap())).unwrap();
    std::fs::set_permissions(&job, PermissionsExt::from_mode(0o755)).unwrap();
    let guest = Command::new("timeout")
        .args([
            "-k",
            "5",
            "900",
            "linux.uml",
            "mem=256M",
            "root=/dev/root",
            "rootfstype=hostfs",
            "rootflags=/",
            "ro",
        ])
        .args(["quiet", "con=null", "con0=fd:0,fd:1"])
        .arg(format!("init={}", job.display()))
        .arg(format!("virtio_uml.device={}:2", served.path.display()))
        .env("TMPDIR", "/dev/shm")
        .env("HOME", folder.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&guest.stdout);
    assert!(output.contains("all is well"), "{output}\n{}", String::from_utf8_lossy(&guest.stderr));
    let device = served.close();
    let requests = device.status().requests;
    for operation in Operation::ALL {
        assert!(requests.stats(operation).count() > 0, "{operation:?}");
    }
    device.check().unwrap();
}
