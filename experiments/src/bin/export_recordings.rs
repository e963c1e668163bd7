//! Writes the shipped recordings of real file systems as traces, for `wearwell trace` and for replays.

fn main() -> Result<(), wearwell_experiments::Failure> {
    use wearwell_experiments::recordings::export;
    use wearwell_experiments::{f2fs::shipped, nvmfs::recording};

    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let [folder] = &arguments[..] else {
        return Err("export_recordings FOLDER: writes f2fs.csv.zst and file_systems.csv.zst to FOLDER".into());
    };
    std::fs::create_dir_all(folder)?;
    let place = |name: &str| std::path::Path::new(folder).join(format!("{name}.csv.zst"));
    export(&shipped::read()?, &place(shipped::NAME))?;
    export(&recording::shipped()?, &place(recording::NAME))
}
