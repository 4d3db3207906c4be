//! `linerate relay`.

use crate::args;
use crate::failure::Failure;

/// Unsupported on this system.
#[cfg(not(target_os = "linux"))]
pub fn run(_: &args::Relay) -> Result<(), Failure> {
    Err(
        anyhow::anyhow!("the relay requires TAP interfaces, which are supported on Linux only")
            .into(),
    )
}

#[cfg(target_os = "linux")]
pub fn run(args: &args::Relay) -> Result<(), Failure> {
    linux::run(args)
}

#[cfg(target_os = "linux")]
mod linux {
    use std::cell::RefCell;
    use std::path::Path;
    use std::process::{Child, ExitStatus};
    use std::sync::Arc;
    use std::sync::atomic::Ordering;
    use std::time::{Duration, Instant};

    use anyhow::{Context, anyhow};
    use linerate_host::relay::rig::{INTERFACE, LEFT, RIGHT};
    use linerate_host::relay::{
        DirectionReport, Impairment, LATE_THRESHOLD_NS, Namespace, NamespacePair, Port,
        RelayConfig, RelayError, RelayReport, run as relay,
    };
    use linerate_results::format;

    use crate::args;
    use crate::command::stop_on_ctrl_c;
    use crate::failure::Failure;
    use crate::output;

    pub fn run(args: &args::Relay) -> Result<(), Failure> {
        let config = config(args)?;
        let ends = ends(args)?;
        let stopped = stop_on_ctrl_c()?;
        let until = args
            .seconds
            .map(|seconds| Instant::now() + Duration::from_secs(seconds));
        let program = ChildCommand::start(&args.command, ends.first())?;
        let stop = || {
            let over = until.is_some_and(|until| Instant::now() >= until);
            over || program.has_ended() || stopped.load(Ordering::Relaxed)
        };
        message!("{}; press Ctrl-C to stop", ends.sentence());
        let report = relay(ends.ports(), &config, &stop, &mut ()).map_err(failed)?;
        let status = program.status();
        drop(ends);
        print_report(args.json.as_deref(), &report)?;
        match status {
            Some(status) if !status.success() => Err(Failure::Target(anyhow!(
                "{} exited with {status}",
                args.command[0]
            ))),
            _ => Ok(()),
        }
    }

    /// Failures of an interface are not input errors.
    fn failed(error: RelayError) -> Failure {
        match error {
            RelayError::InterfaceLost { .. } | RelayError::Poll(_) => Failure::Target(error.into()),
            _ => Failure::Input(error.into()),
        }
    }

    fn config(args: &args::Relay) -> anyhow::Result<RelayConfig> {
        let both: Impairment = args.both.parse().context("--both")?;
        let (mut forward, mut backward) = (both.clone(), both);
        forward.apply(&args.forward).context("--forward")?;
        backward.apply(&args.backward).context("--backward")?;
        Ok(RelayConfig {
            forward,
            backward,
            seed: args.seed,
            busy: args.busy,
        })
    }

    /// Ends of the relay.
    enum Ends {
        Pair(NamespacePair),
        Ports([Port; 2], Arc<Namespace>),
    }

    fn ends(args: &args::Relay) -> anyhow::Result<Ends> {
        if let [left, right] = &args.interfaces[..] {
            if left == right {
                return Err(anyhow!(
                    "both ends are {left}: use two different interfaces"
                ));
            }
            let own = Arc::new(Namespace::current()?);
            let ports = [port(left, &own)?, port(right, &own)?];
            return Ok(Ends::Ports(ports, own));
        }
        match &args.namespaces[..] {
            [left, right] if left != right => {
                Ok(Ends::Pair(NamespacePair::create(left, right, false)?))
            }
            _ => Err(anyhow!(
                "--namespaces requires two different names: --namespaces left,right"
            )),
        }
    }

    /// Opens the interface named as `tap0` or `tap0@left`.
    fn port(written: &str, own: &Arc<Namespace>) -> Result<Port, RelayError> {
        match written.split_once('@') {
            Some((name, namespace)) => Port::open(name, &Arc::new(Namespace::open(namespace)?)),
            None => Port::open(written, own),
        }
    }

    impl Ends {
        fn ports(&self) -> [&Port; 2] {
            match self {
                Self::Pair(pair) => pair.ports(),
                Self::Ports([left, right], _) => [left, right],
            }
        }

        /// Namespace in which the command runs.
        fn first(&self) -> &Namespace {
            match self {
                Self::Pair(pair) => &pair.left,
                Self::Ports(_, own) => own,
            }
        }

        fn sentence(&self) -> String {
            match self {
                Self::Pair(pair) => {
                    let name =
                        |namespace: &Namespace| namespace.name().unwrap_or_default().to_owned();
                    let (left, right) = (name(&pair.left), name(&pair.right));
                    format!(
                        "{LEFT} in {left} and {RIGHT} in {right}, {INTERFACE} in each: \
                         sudo ip netns exec {left} ping {RIGHT}"
                    )
                }
                Self::Ports([left, right], _) => {
                    format!("relaying between {} and {}", left.name(), right.name())
                }
            }
        }
    }

    /// Command to run during the relay, if any.
    struct ChildCommand(Option<RefCell<Child>>);

    impl ChildCommand {
        fn start(command: &[String], inside: &Namespace) -> anyhow::Result<Self> {
            let Some((program, arguments)) = command.split_first() else {
                return Ok(Self(None));
            };
            let mut command = inside.command(program);
            let child = command.args(arguments).spawn();
            let child = child.with_context(|| format!("cannot run {program}"))?;
            Ok(Self(Some(RefCell::new(child))))
        }

        fn has_ended(&self) -> bool {
            let ended = |child: &RefCell<Child>| !matches!(child.borrow_mut().try_wait(), Ok(None));
            self.0.as_ref().is_some_and(ended)
        }

        /// Exit status, if the command has exited.
        fn status(&self) -> Option<ExitStatus> {
            let mut child = self.0.as_ref()?.borrow_mut();
            child.try_wait().ok().flatten()
        }
    }

    impl Drop for ChildCommand {
        /// Terminates the command with the relay.
        fn drop(&mut self) {
            if let Some(child) = &self.0 {
                let mut child = child.borrow_mut();
                // On SIGTERM a shell can terminate its children.
                let id = child.id().to_string();
                let _ = std::process::Command::new("kill")
                    .args(["-TERM", &id])
                    .stderr(std::process::Stdio::null())
                    .status();
                for _ in 0..20 {
                    if !matches!(child.try_wait(), Ok(None)) {
                        break;
                    }
                    std::thread::sleep(Duration::from_millis(50));
                }
                let _ = child.kill();
                let _ = child.wait();
            }
        }
    }

    fn print_report(json: Option<&Path>, report: &RelayReport) -> Result<(), Failure> {
        if !report.is_exact() {
            message!("note: {}", deviations(report));
        }
        if let Some(path) = json {
            let mut value = serde_json::to_value(report).context("JSON")?;
            value["schema"] = 1.into();
            if output::write_or_print(Some(path), &format!("{value:#}\n"))? {
                return Ok(());
            }
        }
        let [forward, backward] = [("forward", &report.forward), ("backward", &report.backward)]
            .map(|(name, report)| direction_text(name, report));
        output::print(&format!("{forward}{backward}"))
    }

    /// Deviations of the relay from its settings.
    fn deviations(report: &RelayReport) -> String {
        let ways = [&report.forward, &report.backward];
        let late: u64 = ways.iter().map(|way| way.late_frames).sum();
        let latest = ways.iter().map(|way| way.max_lateness_ns).max();
        let unseen: u64 = ways.iter().filter_map(|way| way.discarded_frames).sum();
        format!(
            "this host was too slow: {} frames were sent more than {} late (maximum {}), {} were discarded \
             by the system before the relay received them",
            format::count(late),
            format::time(LATE_THRESHOLD_NS),
            format::time(latest.unwrap_or_default()),
            format::count(unseen),
        )
    }

    /// Report of one direction as text.
    fn direction_text(name: &str, way: &DirectionReport) -> String {
        let counts = &way.counts;
        let settings = way.impairment.to_string();
        let settings = if settings.is_empty() {
            "no impairment"
        } else {
            &settings
        };
        let mut text = format!(
            "{name} ({settings}): {} frames received ({}), {} sent ({})\n",
            format::count(counts.frames_in),
            format::bytes(counts.octets_in),
            format::count(counts.frames_out),
            format::bytes(counts.octets_out),
        );
        let causes = [
            (counts.lost_random_frames, "by loss"),
            (counts.lost_burst_frames, "by burst_loss"),
            (counts.lost_bit_error_frames, "by bit_errors"),
            (counts.lost_queue_frames, "queue full"),
            (counts.lost_room_frames, "buffer limit reached"),
        ];
        let lost = format!("lost {}", format::count(counts.lost_frames()));
        text.push_str(&line(&lost, &causes));
        let others = [
            (counts.duplicated_frames, "duplicated"),
            (counts.reordered_frames, "reordered"),
            (counts.held_back_frames, "held back by reorder"),
            (counts.corrupted_frames, "corrupted"),
            (counts.corrupted_bits, "bits flipped"),
            (counts.held_frames, "in flight at the end"),
            (
                way.refused_frames,
                "rejected because the interface was down",
            ),
            (way.discarded_frames.unwrap_or(0), "discarded by the system"),
        ];
        text.push_str(&line("others", &others));
        if way.discarded_frames.is_none() {
            text.push_str(
                "  frames discarded by the system are unknown, because the interface was moved to another \
                 namespace\n",
            );
        }
        text
    }

    fn line(what: &str, counts: &[(u64, &str)]) -> String {
        let nonzero = counts.iter().filter(|(count, _)| *count > 0);
        let parts: Vec<String> = nonzero
            .map(|(count, what)| format!("{} {what}", format::count(*count)))
            .collect();
        match (parts.is_empty(), what) {
            (true, "others") => String::new(),
            (true, _) => format!("  {what}\n"),
            (false, "others") => format!("  {}\n", parts.join(", ")),
            (false, _) => format!("  {what}: {}\n", parts.join(", ")),
        }
    }
}
