//! Instructions per frame by layer on the boards that QEMU emulates, from `linerate profile`.

use anyhow::{Context, Result, ensure};
use linerate_results::record::{InstructionProfileMetrics, Layer, Run};
use std::fmt::Write as _;
use std::path::Path;
use xtask::board::{self, Board};
use xtask::{firmware, sh};

/// Title of the document's section.
pub const TITLE: &str = "\n## Instructions per frame\n";

/// Title of the section on lwIP.
pub const LWIP_TITLE: &str = "\n## Instructions per frame: lwIP beside smoltcp\n";

/// Title of the section on simulated boards.
pub const SIMULATED_TITLE: &str = "\n## Instructions per frame: simulated boards\n";

const PROGRAM: &str = "bench_agent";
const NULL: &str = "null";
/// Number of runs of each measurement; their results should be equal.
const RUNS: usize = 5;
/// Targets for the instructions that driver and MAC add to a full received and a full sent frame.
const RECEIVED: f64 = 400.0;
const SENT: f64 = 300.0;
/// Additional instructions per word permitted to a driver without DMA.
const PER_WORD: f64 = 2.5;
/// Words of a full frame.
const WORDS: f64 = 1514.0 / 4.0;
/// Target for all instructions with ENET for a full frame sent by TCP, including acknowledgments.
const ENET_SENT_TOTAL: f64 = 4_800.0;

/// Traffic of each measurement: program, and true if the board sends.
const TRAFFIC: [(&str, bool); 5] = [
    ("tcp", false),
    ("tcp", true),
    ("udp", false),
    ("udp", true),
    ("frames", true),
];

/// Builds and measures; returns the section of the document.
pub fn measure() -> Result<String> {
    sh::run(sh::cargo().args(["build", "--locked", "-p", "linerate"]))?;
    let boards: Vec<Board> = board::all()
        .iter()
        .map(|name| board::read(name))
        .filter(|board| board.as_ref().map_or(true, |it| it.qemu.is_some()))
        .collect::<Result<_>>()?;
    let mut costs = String::from(
        "| board | | all | spread | application | stack | driver and MAC | main loop | acknowledgments per frame |\n\
         |---|---|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    let mut verdicts =
        String::from("| board | | driver and MAC | target | |\n|---|---|---:|---:|---|\n");
    for board in &boards {
        let programs = board.programs.iter();
        let programs: Vec<String> = programs
            .filter(|it| [PROGRAM, NULL].contains(&it.as_str()))
            .cloned()
            .collect();
        let variant = std::slice::from_ref(&board.variants[0]);
        firmware::build(board, &programs, variant, None)?;
        let has_null = programs.iter().any(|it| it == NULL);
        for (program, is_sent) in TRAFFIC {
            let cost = Cost::of(board, program, is_sent, Setting::Network, RUNS)?;
            cost.row(&mut costs)?;
            let most = if is_sent { SENT } else { RECEIVED };
            match program {
                "udp" if has_null => {
                    let null = Cost::of(board, program, is_sent, Setting::NoNetwork, RUNS)?;
                    null.row(&mut costs)?;
                    let smoltcp = null.profile.instructions_per_frame
                        - null.profile.layer_per_frame(Layer::Driver);
                    let added = cost.profile.instructions_per_frame - smoltcp;
                    cost.verdict(&mut verdicts, "compared with a null device", added, most)?;
                }
                "udp" => {
                    let most = most + PER_WORD * WORDS;
                    let taken = cost.profile.layer_per_frame(Layer::Driver);
                    cost.verdict(&mut verdicts, "from its source", taken, most)?;
                }
                "tcp" if is_sent && board.name == "qemu-sabrelite" => {
                    let all = cost.profile.instructions_per_frame;
                    cost.verdict(&mut verdicts, "all layers", all, ENET_SENT_TOTAL)?;
                }
                _ => {}
            }
        }
    }
    print!("{costs}\n{verdicts}");
    Ok(format!(
        "{TITLE}\n\
         Instructions that QEMU executes per full frame (`-icount shift=0`, with a plugin that counts by address; \
         `cargo xtask bench --instructions` updates this section only, `linerate profile qemu://BOARD` shows a board by \
         function). The firmware is `bench_agent` in its first variant; the other end is this host, whose frames reach \
         the board every 10 ms. Without a network, datagrams are read from memory and discarded; the remaining \
         instructions are those of smoltcp and the service. The stack's adapter computes checksums that the model of \
         a MAC does not verify. Idle rounds of the main loop are included: where it waits for the time of a datagram \
         (UDP of the boards without DMA, 100 Mbit/s), their number depends on this machine, and runs differ. Each figure \
         is the median of {RUNS} runs; the spread is from the least to the most.\n\n\
         {costs}\n\
         The instructions added by a driver are the difference to the run without a network; the few instructions of \
         the null device are not counted. On boards without such a run (no DMA) they are those of the driver's source \
         files. A driver that moves each word itself may use {PER_WORD} additional instructions per word.\n\n\
         {verdicts}"
    ))
}

/// Builds and measures the boards with a simulated soft SoC; returns the section of the document.
///
/// # Errors
/// A program cannot be built, or a measurement fails.
pub fn measure_simulated() -> Result<String> {
    sh::run(sh::cargo().args(["build", "--locked", "-p", "linerate"]))?;
    let mut costs = String::from(
        "| board | | all | application | stack | driver and MAC | main loop | acknowledgments per frame |\n\
         |---|---|---:|---:|---:|---:|---:|---:|\n",
    );
    for name in board::all() {
        let board = board::read(&name)?;
        if !board.is_soft_soc {
            continue;
        }
        let variant = std::slice::from_ref(&board.default_variant);
        firmware::build(&board, &[PROGRAM.to_owned()], variant, None)?;
        for (program, is_sent) in TRAFFIC.into_iter().filter(|it| it.0 != "frames") {
            // Deterministic: another run is the same.
            let cost = Cost::of(&board, program, is_sent, Setting::Simulated, 1)?;
            cost.row_without_spread(&mut costs)?;
        }
    }
    print!("{costs}");
    Ok(format!(
        "{SIMULATED_TITLE}\n\
         Instructions that the simulator executes per full frame (`cargo xtask bench --simulated` updates this section only, \
         `linerate profile sim://BOARD` shows a board by function): DesignWare MAC, ENET and TSE, whose models have a line \
         with a rate. The firmware is `bench_agent` in its default variant, the other end the simulated host, which sends \
         10 Mbit/s of UDP. Virtual time: another run gives the same figures. They are not those of QEMU's boards above for \
         the same driver: frames arrive one by one at the line's rate, not in batches of 10 ms, so that a round of the main \
         loop finds few of them: a datagram of 10 Mbit/s finds a program that sleeps, and all rounds until it sleeps again are \
         its own. Raw frames are left out: the line is the limit, and the loop that waits for it is all \
         that would be counted.\n\n\
         {costs}"
    ))
}

/// The firmware of a measurement.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Setting {
    /// The first variant.
    Network,
    /// The program without a network.
    NoNetwork,
    /// The variant in C, over lwIP.
    Lwip,
    /// The default variant, in the simulator.
    Simulated,
}

/// Builds and measures the variant with lwIP, and the first variant again in the same session; returns the section of the
/// document.
///
/// # Errors
/// A board's C compiler is missing, or a measurement fails.
pub fn measure_lwip() -> Result<String> {
    sh::run(sh::cargo().args(["build", "--locked", "-p", "linerate"]))?;
    let mut costs = String::from(
        "| board, stack | | all | spread | application | stack | driver and MAC | main loop | acknowledgments per frame |\n\
         |---|---|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    let mut ratios = Vec::new();
    for name in board::all() {
        let board = board::read(&name)?;
        if board.qemu.is_none() || board.lwip.is_none() {
            continue;
        }
        let variant = std::slice::from_ref(&board.variants[0]);
        firmware::build(&board, &[PROGRAM.to_owned()], variant, None)?;
        firmware::build_lwip(&[&board], None)?;
        for (program, is_sent) in TRAFFIC.into_iter().filter(|it| it.0 != "frames") {
            let [smoltcp, lwip] = [Setting::Network, Setting::Lwip].map(|setting| {
                let mut cost = Cost::of(&board, program, is_sent, setting, RUNS)?;
                let stack = if setting == Setting::Lwip {
                    "lwIP"
                } else {
                    "smoltcp"
                };
                cost.name = format!("{}, {stack}", board.name);
                cost.row(&mut costs)?;
                anyhow::Ok(cost)
            });
            let (smoltcp, lwip) = (smoltcp?, lwip?);
            if program == "tcp" {
                ratios.push(
                    lwip.profile.layer_per_frame(Layer::Stack)
                        / smoltcp.profile.layer_per_frame(Layer::Stack),
                );
            }
        }
    }
    ensure!(!ratios.is_empty(), "no board has a variant with lwIP");
    ratios.sort_by(f64::total_cmp);
    let (least, most) = (ratios[0], ratios[ratios.len() - 1]);
    print!("{costs}");
    Ok(format!(
        "{LWIP_TITLE}\n\
         `bench_agent` over smoltcp and over lwIP 2.2 (`boards/lwip`: raw API, main loop, gcc -O2), measured as above, one \
         after the other (`cargo xtask bench --lwip` updates this section only). Both have the same services, drivers, \
         `memcpy`, send buffer (22 segments) and, with DMA, window (44 segments), and both write sent data once and \
         copy them into the driver's buffer. They differ in more than the stack: smoltcp copies received data to its socket, lwIP \
         passes them where the device wrote them (without DMA it copies them to a packet buffer); lwIP's drivers have 32 buffers in each direction, not \
         256; the firmware over smoltcp is one program to the optimiser (link-time optimisation), while lwIP calls the \
         library of `nic/c` through pointers; lwIP checks its assertions; and lwIP acknowledges every second segment. The \
         functions of `nic/c` and `agent/c/lwip` that connect lwIP count for the stack, as the adapters of smoltcp do. Each figure \
         is the median of {RUNS} runs; the spread is from the least to the most.\n\n\
         {costs}\n\
         Of TCP, the instructions of the stack with lwIP are {least:.2} to {most:.2} times those with smoltcp. Rows of UDP are no \
         comparison of the stacks where the processor is faster than the link: rounds of the main loop that find nothing \
         count with the next frame, and the stacks spend a different number of instructions in such a round.\n"
    ))
}

/// Result of a measurement.
struct Cost {
    name: String,
    what: String,
    profile: InstructionProfileMetrics,
    /// Difference between the most and the fewest instructions per frame of all runs.
    spread: f64,
}

impl Cost {
    fn of(
        board: &Board,
        program: &str,
        is_sent: bool,
        setting: Setting,
        count: usize,
    ) -> Result<Self> {
        let mut runs = Vec::new();
        for _ in 0..count {
            runs.push(profile(board, program, is_sent, setting)?);
        }
        runs.sort_by(|a, b| {
            a.instructions_per_frame
                .total_cmp(&b.instructions_per_frame)
        });
        let spread = runs[count - 1].instructions_per_frame - runs[0].instructions_per_frame;
        let direction = if is_sent { "sent" } else { "received" };
        Ok(Self {
            name: board.name.clone(),
            what: match (program, setting == Setting::NoNetwork) {
                ("frames", _) => format!("raw frames, {direction}"),
                (_, true) => format!("{}, {direction}, without a network", program.to_uppercase()),
                _ => format!("{}, {direction}", program.to_uppercase()),
            },
            profile: runs.swap_remove(count / 2),
            spread,
        })
    }

    fn row(&self, table: &mut String) -> Result<()> {
        self.write(table, &format!(" {:.1} |", self.spread))
    }

    fn row_without_spread(&self, table: &mut String) -> Result<()> {
        self.write(table, "")
    }

    fn write(&self, table: &mut String, spread: &str) -> Result<()> {
        let Self {
            name,
            what,
            profile: it,
            ..
        } = self;
        eprintln!("{name}, {what}: {:.0}", it.instructions_per_frame);
        let [application, stack, driver, main] = [
            Layer::Application,
            Layer::Stack,
            Layer::Driver,
            Layer::MainLoop,
        ]
        .map(|layer| it.layer_per_frame(layer));
        let back = it.frames_back as f64 / it.frames as f64;
        let (all, back) = (
            it.instructions_per_frame,
            if what.starts_with("TCP") {
                format!("{back:.2}")
            } else {
                String::new()
            },
        );
        writeln!(
            table,
            "| {name} | {what} | {all:.0} |{spread} {application:.0} | {stack:.0} | {driver:.0} | {main:.0} | {back} |"
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

fn profile(
    board: &Board,
    program: &str,
    is_sent: bool,
    setting: Setting,
) -> Result<InstructionProfileMetrics> {
    let firmware = sh::out("firmware");
    let mut command = sh::cmd(sh::root().join("target/debug/linerate"));
    let scheme = if setting == Setting::Simulated {
        "sim"
    } else {
        "qemu"
    };
    command.args([
        "profile",
        &format!("{scheme}://{}", board.name),
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
    match setting {
        Setting::Network => {}
        // Counting takes several times as long, and there is nothing to average.
        Setting::Simulated => {
            command.args(["-n", "2M"]);
        }
        Setting::NoNetwork => {
            command.arg("--null");
        }
        Setting::Lwip => {
            command.args(["--variant", firmware::lwip::VARIANT]);
        }
    }
    let output = sh::read(&mut command)?;
    let unexpected = || format!("unexpected output of {}", sh::show(&command));
    let run = Run::from_json(&output).with_context(unexpected)?;
    let profile = run.instruction_profiles().next().with_context(unexpected)?;
    let metrics = profile.metrics.clone();
    ensure!(metrics.frames > 0, "{}: no frame was counted", board.name);
    Ok(metrics)
}
