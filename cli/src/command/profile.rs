//! `linerate profile`.

use crate::args;
use crate::failure::Failure;

#[cfg(target_os = "linux")]
pub fn run(args: &args::Profile) -> Result<(), Failure> {
    use linerate_bench::endpoint::{self, Options};
    use linerate_bench::profile::{ProfileRequest, tables};
    use linerate_bench::provenance;
    use linerate_results::record::{Direction, Duplex, Measurement, Provenance};

    use super::record::Record;

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
    let provenance = Provenance {
        target: args.target.clone(),
        seed: options.seed,
        duplex: Duplex::Unknown,
        ..provenance::current()
    };
    let title = "Instructions per frame";
    let mut record = Record::begin(&args.record, "profile", title, provenance)?;
    message!("{}: counting every instruction", asked.target);
    let (profile, identity) = endpoint::profile(&asked, &options)?;
    record.add_identity(identity);
    let tables = tables(&profile, args.top).to_string();
    record.finish(Measurement::InstructionProfile(profile), &tables)
}

/// Unsupported on this system.
#[cfg(not(target_os = "linux"))]
pub fn run(args: &args::Profile) -> Result<(), Failure> {
    let what = format!("{}: emulation is supported on Linux only", args.target);
    Err(Failure::Input(anyhow::anyhow!(what)))
}
