//! Where the instructions of a frame go on the boards that QEMU emulates, by `linerate profile`.

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::fmt::Write as _;
use std::path::Path;
use xtask::board::{self, Board};
use xtask::{firmware, sh};

/// How the section of the document begins.
pub const TITLE: &str = "\n## Instructions of a frame\n";

const PROGRAM: &str = "bench_agent";
const NULL: &str = "null";
/// Each is measured so often; they should be equal.
const RUNS: usize = 3;
/// What driver and MAC may add to a full frame that comes, and to one that goes.
const RECEIVED: f64 = 400.0;
const SENT: f64 = 300.0;
/// What a driver without DMA may take for each word more.
const PER_WORD: f64 = 2.5;
/// Words of a full frame.
const WORDS: f64 = 1514.0 / 4.0;
/// What ENET may take in all for a full frame that goes by TCP, acknowledgments included.
const ENET_SENT_IN_ALL: f64 = 4_800.0;

/// What goes on, and which way.
const WAYS: [(&str, bool); 5] = [
    ("tcp", false),
    ("tcp", true),
    ("udp", false),
    ("udp", true),
    ("frames", true),
];

/// What is read of `linerate profile --json`.
#[derive(Debug, Deserialize)]
struct Profile {
    frames: u64,
    frames_back: u64,
    instructions: u64,
    layers: Vec<Share>,
}

#[derive(Debug, Deserialize)]
struct Share {
    #[serde(rename = "layer")]
    name: String,
    own: u64,
    library: u64,
    copies: u64,
}

impl Profile {
    fn all(&self) -> f64 {
        self.instructions as f64 / self.frames as f64
    }

    fn of(&self, name: &str) -> f64 {
        let layers = self.layers.iter().filter(|it| it.name == name);
        let sum: u64 = layers.map(|it| it.own + it.library + it.copies).sum();
        sum as f64 / self.frames as f64
    }
}

/// Builds and measures; the section of the document.
pub fn measure() -> Result<String> {
    sh::run(sh::cargo().args(["build", "--locked", "-p", "linerate"]))?;
    let boards: Vec<Board> = board::all()
        .iter()
        .map(|name| board::read(name))
        .filter(|board| board.as_ref().map_or(true, |it| it.qemu.is_some()))
        .collect::<Result<_>>()?;
    let mut costs = String::from(
        "| board | | all | spread of 3 | application | stack | driver and MAC | main loop | acknowledgments a frame |\n\
         |---|---|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    let mut verdicts =
        String::from("| board | | driver and MAC take | at most | |\n|---|---|---:|---:|---|\n");
    for board in &boards {
        let programs = board.programs.iter();
        let programs: Vec<String> = programs
            .filter(|it| [PROGRAM, NULL].contains(&it.as_str()))
            .cloned()
            .collect();
        let variant = std::slice::from_ref(&board.variants[0]);
        firmware::build(board, &programs, variant, None)?;
        let has_null = programs.iter().any(|it| it == NULL);
        for (program, is_sent) in WAYS {
            let cost = Cost::of(board, program, is_sent, false)?;
            cost.row(&mut costs)?;
            let most = if is_sent { SENT } else { RECEIVED };
            match program {
                "udp" if has_null => {
                    let null = Cost::of(board, program, is_sent, true)?;
                    null.row(&mut costs)?;
                    let smoltcp = null.profile.all() - null.profile.of("driver");
                    let added = cost.profile.all() - smoltcp;
                    cost.verdict(&mut verdicts, "beside a null device", added, most)?;
                }
                "udp" => {
                    let most = most + PER_WORD * WORDS;
                    let taken = cost.profile.of("driver");
                    cost.verdict(&mut verdicts, "by its source", taken, most)?;
                }
                "tcp" if is_sent && board.name == "qemu-sabrelite" => {
                    let all = cost.profile.all();
                    cost.verdict(
                        &mut verdicts,
                        "with all that goes on",
                        all,
                        ENET_SENT_IN_ALL,
                    )?;
                }
                _ => {}
            }
        }
    }
    print!("{costs}\n{verdicts}");
    Ok(format!(
        "{TITLE}\n\
         Instructions that QEMU executes for each full frame (`-icount shift=0`, a plugin that counts by address; \
         `cargo xtask bench --instructions` renews this section alone, `linerate profile qemu://BOARD` shows one by \
         function). The firmware is `bench_agent` in its first variant; the other end is this host, whose answers reach \
         the board every 10 ms. Without a network, datagrams come from memory and go nowhere; what is left is smoltcp \
         and the service. Checksums that the model of a MAC does not verify are summed by the stack's adapter. \
         Turns of the main loop that find nothing count, too: where it waits for the time of a datagram (UDP of the \
         boards without DMA, 100 Mbit/s), how many there are is up to this machine, and runs differ.\n\n\
         {costs}\n\
         What the driver adds is the difference to the run without a network, whose device takes a few \
         instructions that are not counted; where there is none (no DMA), what belongs to it by its source. A driver \
         that moves each word itself may take {PER_WORD} instructions a word more.\n\n\
         {verdicts}"
    ))
}

/// A way, measured.
struct Cost {
    name: String,
    what: String,
    profile: Profile,
    /// From the least to the most instructions a frame, of all runs.
    spread: f64,
}

impl Cost {
    fn of(board: &Board, program: &str, is_sent: bool, is_null: bool) -> Result<Self> {
        let mut runs = Vec::new();
        for _ in 0..RUNS {
            runs.push(profile(board, program, is_sent, is_null)?);
        }
        runs.sort_by(|a, b| a.all().total_cmp(&b.all()));
        let spread = runs[RUNS - 1].all() - runs[0].all();
        let way = if is_sent { "sent" } else { "received" };
        Ok(Self {
            name: board.name.clone(),
            what: match (program, is_null) {
                ("frames", _) => format!("raw frames, {way}"),
                (_, true) => format!("{}, {way}, without a network", program.to_uppercase()),
                _ => format!("{}, {way}", program.to_uppercase()),
            },
            profile: runs.swap_remove(RUNS / 2),
            spread,
        })
    }

    fn row(&self, table: &mut String) -> Result<()> {
        let Self {
            name,
            what,
            profile: it,
            spread,
        } = self;
        eprintln!("{name}, {what}: {:.0}", it.all());
        let [application, stack, driver, main] =
            ["application", "stack", "driver", "main_loop"].map(|layer| it.of(layer));
        let back = it.frames_back as f64 / it.frames as f64;
        let (all, back) = (
            it.all(),
            if what.starts_with("TCP") {
                format!("{back:.2}")
            } else {
                String::new()
            },
        );
        writeln!(
            table,
            "| {name} | {what} | {all:.0} | {spread:.1} | {application:.0} | {stack:.0} | {driver:.0} | {main:.0} | {back} |"
        )?;
        Ok(())
    }

    fn verdict(&self, table: &mut String, how: &str, taken: f64, most: f64) -> Result<()> {
        let word = if taken <= most {
            "target met"
        } else {
            "target missed"
        };
        let Self { name, what, .. } = self;
        writeln!(
            table,
            "| {name} | {what}, {how} | {taken:.0} | {most:.0} | {word} |"
        )?;
        Ok(())
    }
}

fn profile(board: &Board, program: &str, is_sent: bool, is_null: bool) -> Result<Profile> {
    let firmware = sh::out("firmware");
    let mut command = sh::cmd(sh::root().join("target/debug/linerate"));
    command.args([
        "profile",
        &format!("qemu://{}", board.name),
        "--program",
        program,
    ]);
    command
        .arg("--elf-dir")
        .arg(Path::new(&firmware))
        .arg("--json");
    if is_sent {
        command.arg("--reverse");
    }
    if is_null {
        command.arg("--null");
    }
    let profile: Profile = serde_json::from_str(&sh::read(&mut command)?)
        .with_context(|| format!("{} says something else", sh::show(&command)))?;
    ensure!(profile.frames > 0, "{}: no frames", board.name);
    Ok(profile)
}
