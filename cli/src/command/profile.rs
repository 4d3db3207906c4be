//! `linerate profile`.

use std::path::Path;

use anyhow::anyhow;
use linerate_bench::profile::Asked;
use linerate_explain::record::Direction;

use crate::args;
use crate::failure::Failure;
use crate::output;

#[cfg(target_os = "linux")]
pub fn run(args: &args::Profile) -> Result<(), Failure> {
    use linerate_bench::target::{self, Options};

    let asked = asked(args)?;
    let options = Options {
        elf_dir: args.elf_dir.clone(),
        ..Options::default()
    };
    eprintln!("{}: every instruction is counted", asked.board);
    let profile = target::profile(&asked, &options)?;
    let json = serde_json::to_string_pretty(&profile).map_err(anyhow::Error::new)? + "\n";
    match args.json.as_deref() {
        Some(path) if path == Path::new("-") => return output::print(&json),
        Some(path) => output::write(path, json.as_bytes())?,
        None => {}
    }
    output::print(&profile.tables(args.top).to_string())
}

#[cfg(not(target_os = "linux"))]
pub fn run(args: &args::Profile) -> Result<(), Failure> {
    let asked = asked(args)?;
    let what = format!("{} is emulated on Linux only", asked.board);
    Err(Failure::Input(anyhow!(what)))
}

fn asked(args: &args::Profile) -> Result<Asked, Failure> {
    let Some(board) = args.target.strip_prefix("qemu://") else {
        let what = format!(
            "`{}` is no board that QEMU emulates: qemu://BOARD",
            args.target
        );
        return Err(Failure::Input(anyhow!(what)));
    };
    Ok(Asked {
        board: board.to_owned(),
        variant: args.variant.clone(),
        program: args.program,
        direction: if args.reverse {
            Direction::FromDevice
        } else {
            Direction::ToDevice
        },
        octets: args.bytes,
    })
}
