//! Writes the sample traces into the given directory, such as `traces/samples`.

#[path = "../tests/trace/samples.rs"]
#[allow(dead_code)]
mod samples;

fn main() -> std::io::Result<()> {
    let Some(directory) = std::env::args_os().nth(1).map(std::path::PathBuf::from) else {
        eprintln!("usage: make_samples <directory>");
        std::process::exit(2);
    };
    for sample in samples::samples() {
        std::fs::write(directory.join(sample.file), sample.content)?;
    }
    Ok(())
}
