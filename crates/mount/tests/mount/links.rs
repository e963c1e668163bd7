//! Names: links, renames, arbitrary bytes, and deleted files in use.

use crate::stand::{Stand, bytes, errno, new_file, shell};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, RenameFlags, renameat_with};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt};

#[test]
fn names_may_have_any_bytes() {
    let Some(mut stand) = Stand::new() else { return };
    let longest = [b'x'; 255];
    let names: [&[u8]; 5] = [b"\xff\xfe not text", b"new\nline", b" ", b"\x01", &longest];
    for name in names {
        fs::write(stand.root().join(OsStr::from_bytes(name)), name).unwrap();
    }
    stand.remount();
    let mut found: Vec<_> =
        fs::read_dir(stand.root()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    found.sort();
    let mut expected = names.map(|name| OsStr::from_bytes(name).to_owned());
    expected.sort();
    assert_eq!(found, expected);
    for name in names {
        assert_eq!(fs::read(stand.root().join(OsStr::from_bytes(name))).unwrap(), name);
    }
    assert_eq!(errno(fs::write(stand.at(&"x".repeat(256)), "")), Errno::NAMETOOLONG);
}

#[test]
fn link_counts_follow_links_and_removals() {
    let Some(mut stand) = Stand::new() else { return };
    fs::write(stand.at("a"), "content").unwrap();
    fs::create_dir(stand.at("d")).unwrap();
    fs::hard_link(stand.at("a"), stand.at("d/b")).unwrap();
    stand.remount();
    let (a, b) = (stand.at("a").metadata().unwrap(), stand.at("d/b").metadata().unwrap());
    assert_eq!((a.ino(), a.nlink()), (b.ino(), 2));
    fs::remove_file(stand.at("a")).unwrap();
    assert_eq!(stand.at("d/b").metadata().unwrap().nlink(), 1);
    assert_eq!(fs::read(stand.at("d/b")).unwrap(), b"content");
    assert_eq!(errno(fs::hard_link(stand.at("d"), stand.at("e"))), Errno::PERM);
    let target = "t".repeat(4000);
    std::os::unix::fs::symlink(&target, stand.at("s")).unwrap();
    stand.remount();
    assert_eq!(fs::read_link(stand.at("s")).unwrap().as_os_str(), OsStr::new(&target));
    assert_eq!(stand.at("s").symlink_metadata().unwrap().len(), 4000);
}

#[test]
fn rename_replaces_keeps_or_exchanges() {
    let Some(stand) = Stand::new() else { return };
    let (a, b) = (stand.at("a"), stand.at("b"));
    fs::write(&a, "A").unwrap();
    fs::write(&b, "B").unwrap();
    let rename = |flags| renameat_with(CWD, &a, CWD, &b, flags);
    assert_eq!(rename(RenameFlags::NOREPLACE), Err(Errno::EXIST));
    rename(RenameFlags::EXCHANGE).unwrap();
    assert_eq!((fs::read(&a).unwrap(), fs::read(&b).unwrap()), (b"B".to_vec(), b"A".to_vec()));
    rename(RenameFlags::empty()).unwrap();
    assert_eq!((errno(fs::read(&a)), fs::read(&b).unwrap()), (Errno::NOENT, b"B".to_vec()));
    assert_eq!(rename(RenameFlags::EXCHANGE), Err(Errno::NOENT));

    fs::create_dir_all(stand.at("d/e")).unwrap();
    fs::create_dir(stand.at("f")).unwrap();
    assert_eq!(errno(fs::rename(stand.at("d"), stand.at("d/e/g"))), Errno::INVAL);
    assert_eq!(errno(fs::rename(stand.at("f"), stand.at("d"))), Errno::NOTEMPTY);
    assert_eq!(errno(fs::rename(&b, stand.at("f"))), Errno::ISDIR);
    assert_eq!(errno(fs::rename(stand.at("f"), &b)), Errno::NOTDIR);
    fs::rename(stand.at("d"), stand.at("f")).unwrap();
    assert_eq!(shell(&stand.root(), "find . | sort | tr '\\n' ' '"), ". ./b ./f ./f/e ");
}

#[test]
fn invalid_operations_return_usual_errors() {
    let Some(stand) = Stand::new() else { return };
    fs::create_dir_all(stand.at("d/e")).unwrap();
    fs::write(stand.at("f"), "").unwrap();
    assert_eq!(errno(fs::remove_dir(stand.at("d"))), Errno::NOTEMPTY);
    assert_eq!(errno(fs::remove_dir(stand.at("f"))), Errno::NOTDIR);
    assert_eq!(errno(fs::remove_file(stand.at("d"))), Errno::ISDIR);
    assert_eq!(errno(fs::create_dir(stand.at("f"))), Errno::EXIST);
    assert_eq!(errno(fs::read(stand.at("f/g"))), Errno::NOTDIR);
    assert_eq!(errno(fs::write(stand.at("d"), "")), Errno::ISDIR);
    assert_eq!(errno(fs::read(stand.at("none"))), Errno::NOENT);
    fs::write(stand.at("none"), "now").unwrap();
    assert_eq!(fs::read(stand.at("none")).unwrap(), b"now", "what was remembered as absent is there");
}

#[test]
fn deleted_file_lives_while_it_is_open() {
    let Some(stand) = Stand::new() else { return };
    let free = || rustix::fs::statvfs(stand.root()).unwrap();
    let before = free();
    let content = bytes(1, 1_000_000);
    let mut file = new_file(&stand.at("gone"));
    file.write_all(&content).unwrap();
    fs::remove_file(stand.at("gone")).unwrap();
    file.write_all_at(b"still", 100).unwrap();
    let mut back = vec![0; content.len()];
    file.read_exact_at(&mut back, 0).unwrap();
    assert!(&back[100..105] == b"still" && back[105..] == content[105..]);
    assert_eq!(file.metadata().unwrap().nlink(), 0);
    assert!(free().f_bfree < before.f_bfree && free().f_ffree < before.f_ffree);
    drop(file);
    // The kernel releases the file with some delay.
    for _ in 0..500 {
        if free().f_ffree == before.f_ffree {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert_eq!(free().f_ffree, before.f_ffree);
}

/// A descriptor of a deleted file must not refer to a new file that reuses the inode number.
#[test]
fn descriptor_of_deleted_file_never_refers_to_new_file() {
    let Some(stand) = Stand::new() else { return };
    fs::write(stand.at("old"), "old").unwrap();
    let place = rustix::fs::openat(CWD, stand.at("old"), OFlags::PATH, Mode::empty()).unwrap();
    fs::remove_file(stand.at("old")).unwrap();
    for number in 0..50 {
        fs::write(stand.at(&format!("new-{number}")), "new").unwrap();
    }
    let path = format!("/proc/self/fd/{}", place.as_raw_fd());
    assert_eq!(fs::read(path).unwrap(), b"old", "it lives while somebody holds it");
    drop(place);
    for number in 0..50 {
        assert_eq!(fs::read(stand.at(&format!("new-{number}"))).unwrap(), b"new");
    }
}

#[test]
fn create_in_deleted_directory_fails() {
    let Some(stand) = Stand::new() else { return };
    fs::create_dir(stand.at("d")).unwrap();
    let directory = rustix::fs::openat(CWD, stand.at("d"), OFlags::DIRECTORY, Mode::empty()).unwrap();
    fs::remove_dir(stand.at("d")).unwrap();
    let made = rustix::fs::openat(&directory, "f", OFlags::CREATE | OFlags::RDWR, Mode::RWXU);
    assert_eq!(made.unwrap_err(), Errno::NOENT);
    let status = rustix::fs::statat(&directory, "", AtFlags::EMPTY_PATH);
    assert!(status.is_err() || status.unwrap().st_nlink < 2);
}

#[test]
fn pipes_and_devices_survive_remount() {
    let Some(mut stand) = Stand::new() else { return };
    shell(&stand.root(), "mkfifo pipe; mknod null c 1 3 || test \"$(id -u)\" != 0");
    stand.remount();
    assert!(stand.at("pipe").metadata().unwrap().file_type().is_fifo());
    if let Ok(null) = stand.at("null").metadata() {
        assert!(null.file_type().is_char_device());
        assert_eq!((rustix::fs::major(null.rdev()), rustix::fs::minor(null.rdev())), (1, 3));
    }
    let path = stand.at("pipe");
    let read = || -> io::Result<String> {
        let mut text = String::new();
        fs::File::open(&path)?.read_to_string(&mut text)?;
        Ok(text)
    };
    let text = std::thread::scope(|scope| {
        let reader = scope.spawn(read);
        fs::OpenOptions::new().write(true).open(&path).unwrap().write_all(b"through").unwrap();
        reader.join().unwrap()
    });
    assert_eq!(text.unwrap(), "through");
}

#[test]
fn path_descriptor_of_deleted_file_stays_usable() {
    let Some(stand) = Stand::new() else { return };
    let free = || rustix::fs::statvfs(stand.root()).unwrap().f_ffree;
    let before = free();
    fs::write(stand.at("file"), "content").unwrap();
    fs::write(stand.at("other"), "other").unwrap();
    fs::create_dir(stand.at("directory")).unwrap();
    shell(&stand.root(), "mkfifo pipe");
    let names = ["file", "other", "directory", "pipe"];
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let held: Vec<_> =
        names.iter().map(|name| rustix::fs::open(stand.at(name), flags, Mode::empty()).unwrap()).collect();
    fs::remove_file(stand.at("file")).unwrap();
    fs::rename(stand.at("pipe"), stand.at("other")).unwrap();
    fs::remove_dir(stand.at("directory")).unwrap();
    fs::remove_file(stand.at("other")).unwrap();
    for (fd, name) in held.iter().zip(names) {
        let status = rustix::fs::fstat(fd).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(status.st_nlink, 0, "{name}");
    }
    let path = format!("/proc/self/fd/{}", held[0].as_raw_fd());
    assert_eq!(fs::read(path).unwrap(), b"content", "its content is there as well");
    // A working directory can be removed.
    let told = shell(&stand.root(), "mkdir here; cd here; rmdir ../here; stat -c %h .");
    assert_eq!(told.trim(), "0");
    drop(held);
    // The kernel forgets the files with some delay.
    for _ in 0..200 {
        if free() == before {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("{} inodes are free, {before} were", free());
}
