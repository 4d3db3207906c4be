//! `linerate relay`.

use crate::args;
use crate::failure::Failure;

/// What the system lacks.
#[cfg(not(target_os = "linux"))]
pub fn run(_: &args::Relay) -> Result<(), Failure> {
    Err(anyhow::anyhow!("the relay needs TAP interfaces, which are supported on Linux only").into())
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
        Impairment, LATE_THRESHOLD_NS, Namespace, NamespacePair, RelayConfig, Port, RelayError, RelayReport, DirectionReport,
        run as relay,
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
        let program = Running::start(&args.command, ends.first())?;
        let stop = || {
            let over = until.is_some_and(|until| Instant::now() >= until);
            over || program.has_ended() || stopped.load(Ordering::Relaxed)
        };
        eprintln!("{}; Ctrl-C ends it", ends.sentence());
        let report = relay(ends.ports(), &config, &stop, &mut ()).map_err(failed)?;
        let status = program.end();
        drop(ends);
        tell(args.json.as_deref(), &report)?;
        match status {
            Some(status) if !status.success() => Err(Failure::Target(anyhow!(
                "{} ended with {status}",
                args.command[0]
            ))),
            _ => Ok(()),
        }
    }

    /// What an interface does is not the input's fault.
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

    /// Where the relay's frames come from and go to.
    enum Ends {
        Pair(NamespacePair),
        Ports([Port; 2], Arc<Namespace>),
    }

    fn ends(args: &args::Relay) -> anyhow::Result<Ends> {
        if let [left, right] = &args.interfaces[..] {
            if left == right {
                return Err(anyhow!("both ends are {left}: a relay lies between two"));
            }
            let own = Arc::new(Namespace::current()?);
            let ports = [port(left, &own)?, port(right, &own)?];
            return Ok(Ends::Ports(ports, own));
        }
        match &args.namespaces[..] {
            [left, right] if left != right => Ok(Ends::Pair(NamespacePair::create(left, right, false)?)),
            _ => Err(anyhow!(
                "--namespaces takes two different names: --namespaces left,right"
            )),
        }
    }

    /// The interface that `tap0` or `tap0@left` names.
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

        /// Where a command runs.
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
                    format!("from {} to {} and back", left.name(), right.name())
                }
            }
        }
    }

    /// What the relay runs for, if anything.
    struct Running(Option<RefCell<Child>>);

    impl Running {
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

        /// How it ended by itself.
        fn end(&self) -> Option<ExitStatus> {
            let mut child = self.0.as_ref()?.borrow_mut();
            child.try_wait().ok().flatten()
        }
    }

    impl Drop for Running {
        /// Nothing goes on without the relay.
        fn drop(&mut self) {
            if let Some(child) = &self.0 {
                let mut child = child.borrow_mut();
                // A shell ends what it has started, if it is asked to.
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

    fn tell(json: Option<&Path>, report: &RelayReport) -> Result<(), Failure> {
        if !report.is_exact() {
            eprintln!("note: {}", inexact(report));
        }
        if let Some(path) = json {
            let mut value = serde_json::to_value(report).context("JSON")?;
            value["schema"] = 1.into();
            let text = format!("{value:#}\n");
            if path == Path::new("-") {
                return output::print(&text);
            }
            output::write(path, text.as_bytes())?;
        }
        let [forward, backward] = [("forward", &report.forward), ("backward", &report.backward)]
            .map(|(name, way)| direction(name, way));
        output::print(&format!("{forward}{backward}"))
    }

    /// How far the relay did not do what it was asked for.
    fn inexact(report: &RelayReport) -> String {
        let ways = [&report.forward, &report.backward];
        let late: u64 = ways.iter().map(|way| way.late_frames).sum();
        let latest = ways.iter().map(|way| way.max_lateness_ns).max();
        let unseen: u64 = ways.iter().filter_map(|way| way.discarded_frames).sum();
        format!(
            "this machine did not keep up: {} frames went more than {} late (at most {}), {} were \
             discarded by the system before the relay saw them",
            format::count(late),
            format::time(LATE_THRESHOLD_NS),
            format::time(latest.unwrap_or_default()),
            format::count(unseen),
        )
    }

    /// The truth of one direction, for people.
    fn direction(name: &str, way: &DirectionReport) -> String {
        let counts = &way.counts;
        let settings = way.impairment.to_string();
        let settings = if settings.is_empty() {
            "as they are"
        } else {
            &settings
        };
        let mut text = format!(
            "{name} ({settings}): {} frames came ({}), {} went ({})\n",
            format::count(counts.frames_in),
            format::bytes(counts.octets_in),
            format::count(counts.frames_out),
            format::bytes(counts.octets_out),
        );
        let causes = [
            (counts.lost_random_frames, "by loss"),
            (counts.lost_burst_frames, "by burst_loss"),
            (counts.lost_bit_error_frames, "by bit_errors"),
            (counts.lost_queue_frames, "by a full queue"),
            (counts.lost_room_frames, "for want of memory"),
        ];
        let lost = format!("lost {}", format::count(counts.lost_frames()));
        text.push_str(&line(&lost, &causes));
        let others = [
            (counts.duplicated_frames, "sent twice"),
            (counts.reordered_frames, "out of order"),
            (counts.held_back_frames, "held back by reorder"),
            (counts.corrupted_frames, "corrupted"),
            (counts.corrupted_bits, "bits in them"),
            (counts.held_frames, "on their way at the end"),
            (
                way.refused_frames,
                "not taken by the interface, which was down",
            ),
            (
                way.discarded_frames.unwrap_or(0),
                "discarded by the system unseen",
            ),
        ];
        text.push_str(&line("others", &others));
        if way.discarded_frames.is_none() {
            text.push_str(
                "  not known: what the system discarded unseen, for the interface is not where it \
                 was opened\n",
            );
        }
        text
    }

    fn line(what: &str, counts: &[(u64, &str)]) -> String {
        let told = counts.iter().filter(|(count, _)| *count > 0);
        let told: Vec<String> = told
            .map(|(count, what)| format!("{} {what}", format::count(*count)))
            .collect();
        match (told.is_empty(), what) {
            (true, "others") => String::new(),
            (true, _) => format!("  {what}\n"),
            (false, "others") => format!("  {}\n", told.join(", ")),
            (false, _) => format!("  {what}: {}\n", told.join(", ")),
        }
    }
}
