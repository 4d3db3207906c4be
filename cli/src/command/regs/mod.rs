//! `linerate regs`.

mod show;

use std::path::Path;

use anyhow::{Context, anyhow, bail};
use linerate_bench::input::read_from;
use linerate_regs_decode::{self, ChipSelection, Error, MAPS, Map, Note};
use linerate_regs_decode::{decode, diff, list, svd};

use crate::args::{self, RegsCommand};
use crate::failure::Failure;
use crate::input::{self, MAX_TEXT};
use crate::output;

pub fn run(args: &args::Regs) -> Result<(), Failure> {
    match &args.command {
        RegsCommand::Decode(args) => decoded(args),
        RegsCommand::Diff(args) => changed(args),
        RegsCommand::List(args) => listed(args),
        RegsCommand::Show(args) => show::run(args),
    }
}

fn decoded(args: &args::RegsDecode) -> Result<(), Failure> {
    let own = UserMap::read(&args.place.maps)?;
    let dump = Dump::read(&args.dump)?;
    let (values, notes) = decode::decode(&dump.text, &own.maps(), own.choice(&args.place))
        .map_err(|error| dump.error(&error))?;
    dump.note(&notes);
    if args.json {
        return output::json(&values);
    }
    output::print(&decode::text(&values))
}

fn changed(args: &args::RegsDiff) -> Result<(), Failure> {
    if args.before == args.after && args.before == Path::new("-") {
        return Err(anyhow!("only one of the dumps can come from stdin").into());
    }
    let own = UserMap::read(&args.place.maps)?;
    let (before, after) = (Dump::read(&args.before)?, Dump::read(&args.after)?);
    let of = |which| match which {
        diff::DumpSide::Before => &before,
        diff::DumpSide::After => &after,
    };
    let choice = own.choice(&args.place);
    let (diff, notes) = diff::diff(&before.text, &after.text, &own.maps(), choice)
        .map_err(|(which, error)| of(which).error(&error))?;
    for (which, note) in notes {
        of(which).note(&[note]);
    }
    if args.json {
        return output::json(&diff);
    }
    output::print(&diff.text())
}

fn listed(args: &args::RegsList) -> Result<(), Failure> {
    let own = UserMap::read(&args.maps)?;
    let maps = own.maps();
    let (chip, wanted) = match (own.name(), &args.first, &args.second) {
        (Some(own), wanted, None) => (Some(own), wanted.as_deref()),
        (Some(_), ..) => {
            return Err(anyhow!("with --svd or --map only one name can be given").into());
        }
        (None, chip, wanted) => (chip.as_deref(), wanted.as_deref()),
    };
    let listed = |map| list::chip(map, wanted).map_err(|error| anyhow!(error));
    let Some(chip) = chip else {
        if args.json {
            let all: Result<Vec<_>, _> = maps.into_iter().map(listed).collect();
            return output::json(&all?);
        }
        return output::print(&list::chips(&maps));
    };
    let listed = listed(named(&maps, chip)?)?;
    if args.json {
        return output::json(&listed);
    }
    output::print(&listed.text(wanted.is_some()))
}

/// Returns the map `chip`, or an error with the most similar name.
fn named<'a>(maps: &[Map<'a>], chip: &str) -> anyhow::Result<Map<'a>> {
    linerate_regs_decode::chip(maps, chip).map_err(|error| match &error {
        Error::UnknownChip { name, known } => {
            let near = linerate_host::nearest(name, known.iter().map(String::as_str));
            let hint = near.map_or_else(String::new, |near| format!(" (did you mean `{near}`?)"));
            anyhow!("{error}{hint}")
        }
        _ => anyhow!(error),
    })
}

/// Dump with its source.
struct Dump {
    name: String,
    text: String,
}

impl Dump {
    fn read(path: &Path) -> anyhow::Result<Self> {
        let (name, bytes) = if path == Path::new("-") {
            let bytes = read_from(std::io::stdin().lock(), MAX_TEXT);
            ("stdin".to_owned(), bytes.context("cannot read stdin")?)
        } else {
            let name = path.display().to_string();
            (name, input::read(path, MAX_TEXT)?)
        };
        // Console output at a wrong baud rate may not be text; it is not part of the dump.
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Ok(Self { name, text })
    }

    fn error(&self, error: &Error) -> Failure {
        anyhow!(error.in_file(&self.name)).into()
    }

    fn note(&self, notes: &[Note]) {
        for note in notes {
            message!("{}:{}: {}", self.name, note.line, note.what);
        }
    }
}

/// Register map of the user, as text.
struct UserMap(Option<String>);

impl UserMap {
    fn read(args: &args::Maps) -> anyhow::Result<Self> {
        if let Some(path) = &args.svd {
            let (text, left_out) = svd::map(&input::read_text(path, MAX_TEXT)?)
                .with_context(|| format!("{} is not an SVD file", path.display()))?;
            if left_out > 0 {
                message!(
                    "{}: skipped {left_out} registers wider than 32 bits",
                    path.display()
                );
            }
            return Ok(Self(Some(text)));
        }
        let Some(path) = &args.map else {
            return Ok(Self(None));
        };
        let text = input::read_text(path, MAX_TEXT)?;
        let file = path.display();
        if let Some(error) = Map(&text).first_error() {
            bail!("{file}:{}: {}", error.line, error.message);
        }
        if Map(&text).name().is_empty() {
            bail!("{file}: a map needs a line `map NAME TITLE` before its first block");
        }
        Ok(Self(Some(text)))
    }

    /// The user's map, and the built-in ones unless they have its name.
    fn maps(&self) -> Vec<Map<'_>> {
        let own = self.0.as_deref().map(Map);
        let others = MAPS
            .into_iter()
            .filter(|map| Some(map.name()) != self.name());
        own.into_iter().chain(others).collect()
    }

    fn name(&self) -> Option<&str> {
        self.0.as_deref().map(|text| Map(text).name())
    }

    fn choice<'a>(&'a self, place: &'a args::Place) -> ChipSelection<'a> {
        ChipSelection {
            chip: place.chip.as_deref().or(self.name()),
            block: place.block.as_deref(),
            base: place.base,
        }
    }
}
