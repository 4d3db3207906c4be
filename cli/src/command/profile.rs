//! `linerate profile`.

use crate::args;
use crate::failure::Failure;

#[cfg(target_os = "linux")]
pub fn run(args: &args::Profile) -> Result<(), Failure> {
    use linerate_bench::endpoint::{self, Options};
    use linerate_bench::profile::ProfileRequest;
    use linerate_results::record::Direction;

    use crate::output;

    let asked = ProfileRequest {
        target: args.target.clone(),
        variant: args.variant.clone(),
        program: args.program,
        direction: if args.reverse {
            Direction::FromDevice
        } else {
            Direction::ToDevice
        },
        octets: args.bytes,
        null: args.null,
    };
    let options = Options {
        elf_dir: args.elf_dir.clone(),
        ..Options::default()
    };
    message!("{}: counting every instruction", asked.target);
    let profile = endpoint::profile(&asked, &options)?;
    let json = serde_json::to_string_pretty(&profile).map_err(anyhow::Error::new)? + "\n";
    if output::write_or_print(args.json.as_deref(), &json)? {
        return Ok(());
    }
    output::print(&profile.tables(args.top).to_string())
}

/// Unsupported on this system.
#[cfg(not(target_os = "linux"))]
pub fn run(args: &args::Profile) -> Result<(), Failure> {
    let what = format!("{}: emulation is supported on Linux only", args.target);
    Err(Failure::Input(anyhow::anyhow!(what)))
}
