//! Tests of names: links, renames, arbitrary bytes, and deleted files in use.

use crate::fixture::{Fixture, bytes, errno, new_file, shell};
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
    let Some(mut fixture) = Fixture::new() else { return };
    let longest = [b'x'; 255];
    let names: [&[u8]; 5] = [b"\xff\xfe not text", b"new\nline", b" ", b"\x01", &longest];
    for name in names {
        fs::write(fixture.root().join(OsStr::from_bytes(name)), name).unwrap();
    }
    fixture.remount();
    let mut found: Vec<_> =
        fs::read_dir(fixture.root()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    found.sort();
    let mut expected = names.map(|name| OsStr::from_bytes(name).to_owned());
    expected.sort();
    assert_eq!(found, expected);
    for name in names {
        assert_eq!(fs::read(fixture.root().join(OsStr::from_bytes(name))).unwrap(), name);
    }
    assert_eq!(errno(fs::write(fixture.at(&"x".repeat(256)), "")), Errno::NAMETOOLONG);
}

#[test]
fn link_counts_follow_links_and_removals() {
    let Some(mut fixture) = Fixture::new() else { return };
    fs::write(fixture.at("a"), "content").unwrap();
    fs::create_dir(fixture.at("d")).unwrap();
    fs::hard_link(fixture.at("a"), fixture.at("d/b")).unwrap();
    fixture.remount();
    let (a, b) = (fixture.at("a").metadata().unwrap(), fixture.at("d/b").metadata().unwrap());
    assert_eq!((a.ino(), a.nlink()), (b.ino(), 2));
    fs::remove_file(fixture.at("a")).unwrap();
    assert_eq!(fixture.at("d/b").metadata().unwrap().nlink(), 1);
    assert_eq!(fs::read(fixture.at("d/b")).unwrap(), b"content");
    assert_eq!(errno(fs::hard_link(fixture.at("d"), fixture.at("e"))), Errno::PERM);
    let target = "t".repeat(4000);
    std::os::unix::fs::symlink(&target, fixture.at("s")).unwrap();
    fixture.remount();
    assert_eq!(fs::read_link(fixture.at("s")).unwrap().as_os_str(), OsStr::new(&target));
    assert_eq!(fixture.at("s").symlink_metadata().unwrap().len(), 4000);
}

#[test]
fn rename_replaces_keeps_or_exchanges() {
    let Some(fixture) = Fixture::new() else { return };
    let (a, b) = (fixture.at("a"), fixture.at("b"));
    fs::write(&a, "A").unwrap();
    fs::write(&b, "B").unwrap();
    let rename = |flags| renameat_with(CWD, &a, CWD, &b, flags);
    assert_eq!(rename(RenameFlags::NOREPLACE), Err(Errno::EXIST));
    rename(RenameFlags::EXCHANGE).unwrap();
    assert_eq!((fs::read(&a).unwrap(), fs::read(&b).unwrap()), (b"B".to_vec(), b"A".to_vec()));
    rename(RenameFlags::empty()).unwrap();
    assert_eq!((errno(fs::read(&a)), fs::read(&b).unwrap()), (Errno::NOENT, b"B".to_vec()));
    assert_eq!(rename(RenameFlags::EXCHANGE), Err(Errno::NOENT));

    fs::create_dir_all(fixture.at("d/e")).unwrap();
    fs::create_dir(fixture.at("f")).unwrap();
    assert_eq!(errno(fs::rename(fixture.at("d"), fixture.at("d/e/g"))), Errno::INVAL);
    assert_eq!(errno(fs::rename(fixture.at("f"), fixture.at("d"))), Errno::NOTEMPTY);
    assert_eq!(errno(fs::rename(&b, fixture.at("f"))), Errno::ISDIR);
    assert_eq!(errno(fs::rename(fixture.at("f"), &b)), Errno::NOTDIR);
    fs::rename(fixture.at("d"), fixture.at("f")).unwrap();
    assert_eq!(shell(&fixture.root(), "find . | sort | tr '\\n' ' '"), ". ./b ./f ./f/e ");
}

#[test]
fn invalid_operations_return_usual_errors() {
    let Some(fixture) = Fixture::new() else { return };
    fs::create_dir_all(fixture.at("d/e")).unwrap();
    fs::write(fixture.at("f"), "").unwrap();
    assert_eq!(errno(fs::remove_dir(fixture.at("d"))), Errno::NOTEMPTY);
    assert_eq!(errno(fs::remove_dir(fixture.at("f"))), Errno::NOTDIR);
    assert_eq!(errno(fs::remove_file(fixture.at("d"))), Errno::ISDIR);
    assert_eq!(errno(fs::create_dir(fixture.at("f"))), Errno::EXIST);
    assert_eq!(errno(fs::read(fixture.at("f/g"))), Errno::NOTDIR);
    assert_eq!(errno(fs::write(fixture.at("d"), "")), Errno::ISDIR);
    assert_eq!(errno(fs::read(fixture.at("none"))), Errno::NOENT);
    fs::write(fixture.at("none"), "now").unwrap();
    assert_eq!(fs::read(fixture.at("none")).unwrap(), b"now", "what was remembered as absent is there");
}

#[test]
fn deleted_file_lives_while_it_is_open() {
    let Some(fixture) = Fixture::new() else { return };
    let free = || rustix::fs::statvfs(fixture.root()).unwrap();
    let before = free();
    let content = bytes(1, 1_000_000);
    let mut file = new_file(&fixture.at("gone"));
    file.write_all(&content).unwrap();
    fs::remove_file(fixture.at("gone")).unwrap();
    file.write_all_at(b"still", 100).unwrap();
    let mut back = vec![0; content.len()];
    file.read_exact_at(&mut back, 0).unwrap();
    assert!(&back[100..105] == b"still" && back[105..] == content[105..]);
    assert_eq!(file.metadata().unwrap().nlink(), 0);
    assert!(free().f_bfree < before.f_bfree && free().f_ffree < before.f_ffree);
    drop(file);
    // The kernel releases the file with some delay.
    for _ in 0..6000 {
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
    let Some(fixture) = Fixture::new() else { return };
    fs::write(fixture.at("old"), "old").unwrap();
    let path_fd = rustix::fs::openat(CWD, fixture.at("old"), OFlags::PATH, Mode::empty()).unwrap();
    fs::remove_file(fixture.at("old")).unwrap();
    for number in 0..50 {
        fs::write(fixture.at(&format!("new-{number}")), "new").unwrap();
    }
    let path = format!("/proc/self/fd/{}", path_fd.as_raw_fd());
    assert_eq!(fs::read(path).unwrap(), b"old", "it lives while somebody holds it");
    drop(path_fd);
    for number in 0..50 {
        assert_eq!(fs::read(fixture.at(&format!("new-{number}"))).unwrap(), b"new");
    }
}

#[test]
fn create_in_deleted_directory_fails() {
    let Some(fixture) = Fixture::new() else { return };
    fs::create_dir(fixture.at("d")).unwrap();
    let directory = rustix::fs::openat(CWD, fixture.at("d"), OFlags::DIRECTORY, Mode::empty()).unwrap();
    fs::remove_dir(fixture.at("d")).unwrap();
    let made = rustix::fs::openat(&directory, "f", OFlags::CREATE | OFlags::RDWR, Mode::RWXU);
    assert_eq!(made.unwrap_err(), Errno::NOENT);
    let status = rustix::fs::statat(&directory, "", AtFlags::EMPTY_PATH);
    assert!(status.is_err() || status.unwrap().st_nlink < 2);
}

#[test]
fn pipes_and_devices_survive_remount() {
    let Some(mut fixture) = Fixture::new() else { return };
    shell(&fixture.root(), "mkfifo pipe; mknod null c 1 3 || test \"$(id -u)\" != 0");
    fixture.remount();
    assert!(fixture.at("pipe").metadata().unwrap().file_type().is_fifo());
    if let Ok(null) = fixture.at("null").metadata() {
        assert!(null.file_type().is_char_device());
        assert_eq!((rustix::fs::major(null.rdev()), rustix::fs::minor(null.rdev())), (1, 3));
    }
    let path = fixture.at("pipe");
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
    let Some(fixture) = Fixture::new() else { return };
    let free = || rustix::fs::statvfs(fixture.root()).unwrap().f_ffree;
    let before = free();
    fs::write(fixture.at("file"), "content").unwrap();
    fs::write(fixture.at("other"), "other").unwrap();
    fs::create_dir(fixture.at("directory")).unwrap();
    shell(&fixture.root(), "mkfifo pipe");
    let names = ["file", "other", "directory", "pipe"];
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let open_files: Vec<_> =
        names.iter().map(|name| rustix::fs::open(fixture.at(name), flags, Mode::empty()).unwrap()).collect();
    fs::remove_file(fixture.at("file")).unwrap();
    fs::rename(fixture.at("pipe"), fixture.at("other")).unwrap();
    fs::remove_dir(fixture.at("directory")).unwrap();
    fs::remove_file(fixture.at("other")).unwrap();
    for (fd, name) in open_files.iter().zip(names) {
        let status = rustix::fs::fstat(fd).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(status.st_nlink, 0, "{name}");
    }
    let path = format!("/proc/self/fd/{}", open_files[0].as_raw_fd());
    assert_eq!(fs::read(path).unwrap(), b"content", "its content is there as well");
    // A working directory can be removed.
    let output = shell(&fixture.root(), "mkdir here; cd here; rmdir ../here; stat -c %h .");
    assert_eq!(output.trim(), "0");
    drop(open_files);
    // The kernel forgets the files with some delay.
    for _ in 0..6000 {
        if free() == before {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("{} inodes are free, {before} were", free());
}
