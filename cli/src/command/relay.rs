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
    use std::process::{Child, ExitStatus};
    use std::sync::Arc;
    use std::sync::atomic::Ordering;
    use std::time::{Duration, Instant};

    use anyhow::{Context, anyhow};
    use linerate_bench::provenance;
    use linerate_host::relay::rig::{INTERFACE, LEFT, RIGHT};
    use linerate_host::relay::{
        Impairment, LATE_THRESHOLD_NS, Namespace, NamespacePair, Port, RelayConfig, RelayError,
        run as relay,
    };
    use linerate_results::format;
    use linerate_results::record::{
        Duplex, Ledger, Measurement, Provenance, Relay, RelayMetrics, RelayParams, Setting,
    };

    use crate::args;
    use crate::command::record::Record;
    use crate::command::stop_on_ctrl_c;
    use crate::failure::Failure;

    /// Each direction has a link of its own.
    const DUPLEX: Duplex = Duplex::Full;

    pub fn run(args: &args::Relay) -> Result<(), Failure> {
        let config = config(args)?;
        let ends = ends(args)?;
        let title = "Frames relayed between two interfaces";
        let record = Record::begin(&args.record, "relay", title, provenance(args))?;
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
        let metrics = relay(ends.ports(), &config, &stop, &mut ()).map_err(failed)?;
        let status = program.status();
        drop(ends);
        report(record, result(&config, metrics))?;
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

    /// The run before anything is measured.
    fn provenance(args: &args::Relay) -> Provenance {
        let namespaces = args.namespaces.iter();
        let made = namespaces.map(|namespace| format!("{INTERFACE}@{namespace}"));
        let ends: Vec<String> = made.chain(args.interfaces.iter().cloned()).collect();
        Provenance {
            target: ends.join(" "),
            seed: args.seed,
            duplex: DUPLEX,
            ..provenance::current()
        }
    }

    fn result(config: &RelayConfig, metrics: RelayMetrics) -> Relay {
        let notes = if metrics.is_exact() {
            Vec::new()
        } else {
            vec![deviations(&metrics)]
        };
        Relay {
            params: RelayParams {
                setting: Setting {
                    duplex: DUPLEX,
                    notes,
                    ..Setting::default()
                },
                forward: config.forward.to_string(),
                backward: config.backward.to_string(),
                is_busy: config.busy,
            },
            metrics,
            ledger: Ledger::default(),
        }
    }

    fn report(record: Record<'_>, relay: Relay) -> Result<(), Failure> {
        for note in &relay.params.setting.notes {
            message!("note: {note}");
        }
        let text = relay.lines().join("\n") + "\n";
        record.finish(Measurement::Relay(relay), &text)
    }

    /// Deviations of the relay from its settings.
    fn deviations(metrics: &RelayMetrics) -> String {
        let ways = [&metrics.forward, &metrics.backward];
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
}
