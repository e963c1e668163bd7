//! Ordinary command-line tools.

use crate::stand::{Stand, assert_same, bytes, shell, tree};
use std::fs;
use std::path::Path;

/// Creates a tree with all kinds of files and attributes.
fn source(at: &Path) {
    fs::create_dir_all(at.join("deep/er/still")).unwrap();
    for (number, length) in [0, 1, 4095, 4096, 4097, 600_000, 5_000_000].into_iter().enumerate() {
        fs::write(at.join(format!("deep/{length}")), bytes(number as u64, length)).unwrap();
    }
    shell(
        at,
        "ln -s ../deep deep/link; ln -s nowhere dangling; ln deep/4096 deep/er/hard; mkfifo pipe
        chmod 4711 deep/4095; chmod 1777 deep/er; chown 12:34 deep/1
        touch -d '1969-07-20 20:17:40.123456789 UTC' deep/4097; touch -d '2100-01-01 UTC' deep/0
        truncate -s 100G deep/er/still/sparse; rm deep/er/still/sparse; truncate -s 3M deep/er/still/sparse",
    );
}

#[test]
fn cp_preserves_everything_in_both_directions() {
    let Some(stand) = Stand::new() else { return };
    let plain = stand.directory().join("plain");
    fs::create_dir(&plain).unwrap();
    source(&plain);
    shell(stand.directory(), "cp -a plain mounted/copy; cp -a mounted/copy back");
    assert_same(&tree(&plain), &tree(&stand.at("copy")));
    assert_same(&tree(&plain), &tree(&stand.directory().join("back")));
}

#[test]
fn tar_packs_and_unpacks() {
    let Some(mut stand) = Stand::new() else { return };
    fs::create_dir(stand.at("a")).unwrap();
    source(&stand.at("a"));
    shell(
        &stand.root(),
        "tar --format=posix -cf all.tar a; mkdir b; tar xpf all.tar -C b --strip-components=1; tar df all.tar",
    );
    assert_same(&tree(&stand.at("a")), &tree(&stand.at("b")));
    stand.remount();
    assert_same(&tree(&stand.at("a")), &tree(&stand.at("b")));
    shell(&stand.root(), "rm -r a b; test \"$(ls)\" = all.tar");
}

#[test]
fn mv_works_within_and_out_of_the_mount() {
    let Some(stand) = Stand::new() else { return };
    fs::create_dir(stand.at("a")).unwrap();
    source(&stand.at("a"));
    let before = tree(&stand.at("a"));
    shell(&stand.root(), "mkdir -p b/c; mv a b/c/d; test ! -e a; test $(stat -c %h b/c) = 3");
    assert_same(&before, &tree(&stand.at("b/c/d")));
    shell(&stand.root(), "mv b/c/d ../out; test -z \"$(ls b/c)\"; rmdir b/c b; test $(stat -c %h .) = 2");
    assert_same(&before, &tree(&stand.directory().join("out")));
}

#[test]
fn df_and_find_report_correct_counts() {
    let Some(stand) = Stand::new() else { return };
    let used = || shell(&stand.root(), "df --output=iused . | tail -n 1").trim().parse::<u64>().unwrap();
    let before = used();
    shell(&stand.root(), "mkdir many; cd many; for i in $(seq 100); do : > file-$i; done");
    assert_eq!(used(), before + 101);
    assert_eq!(shell(&stand.root(), "find . -type f | wc -l").trim(), "100");
    shell(&stand.root(), "find . -name 'file-*' -delete; rmdir many");
    assert_eq!(used(), before);
}
