//! Commands against peers that lie and stall: each ends within the time that it states, with the right exit code, and
//! no output has an impossible figure.

#[macro_use]
mod behaviour;
mod cancel;
mod check;
mod http;
mod iperf2;
mod iperf3;
mod iperf3_states;
mod peer;
mod stamp;

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use behaviour::Behaviour;
use peer::Peer;

/// Commands at the same time: nearly all of their time, they wait.
const PARALLEL: usize = 24;
/// Time beyond the stated one: this machine starts many programs at once.
const GRACE: Duration = Duration::from_secs(30);
/// Time of a command that states none (RFC 2544, whose number of trials depends on their results).
const UNSTATED: Duration = Duration::from_mins(1);

/// A finished command.
struct Finished {
    code: Option<i32>,
    printed: String,
    is_killed: bool,
}

/// Runs the command that meets `behaviour`, and kills it if it exceeds the time that it states.
fn run(behaviour: &Behaviour, port: u16, folder: &Path) -> Finished {
    let command = behaviour.command.replace("{port}", &port.to_string());
    let mut words = command.split_whitespace();
    let command = words.next().expect("a command");
    let target = words.next().expect("a scheme");
    let (scheme, path) = target.split_once('/').unwrap_or((target, ""));
    let path = if target.contains('/') {
        format!("/{path}")
    } else {
        String::new()
    };
    let args: Vec<&str> = words.collect();
    let timeout: &[&str] = if args.contains(&"--timeout") {
        &[]
    } else {
        &["--timeout", "1"]
    };
    let child = Command::new(env!("CARGO_BIN_EXE_linerate"))
        .args([command, &format!("{scheme}://127.0.0.1:{port}{path}")])
        .args(args)
        .args(timeout)
        .arg("--out")
        .arg(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    supervise(child.expect("the command starts"))
}

fn supervise(mut child: Child) -> Finished {
    let mut stdout = child.stdout.take().expect("piped");
    let mut stderr = child.stderr.take().expect("piped");
    let output = std::thread::spawn(move || {
        let mut text = String::new();
        let _ = stdout.read_to_string(&mut text);
        text
    });
    let errors = std::sync::Arc::new(std::sync::Mutex::new(String::new()));
    let written = errors.clone();
    let reading = std::thread::spawn(move || {
        let mut octets = [0; 4096];
        while let Ok(len @ 1..) = stderr.read(&mut octets) {
            let text = String::from_utf8_lossy(&octets[..len]);
            written.lock().expect("no panic").push_str(&text);
        }
    });
    let began = Instant::now();
    let mut is_killed = false;
    let code = loop {
        if let Some(status) = child.try_wait().expect("a child") {
            break status.code();
        }
        let stated = stated(&errors.lock().expect("no panic")).unwrap_or(UNSTATED);
        if began.elapsed() > stated + GRACE {
            is_killed = true;
            let _ = child.kill();
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    let mut printed = output.join().expect("no panic");
    reading.join().expect("no panic");
    printed.push_str(&errors.lock().expect("no panic"));
    Finished {
        code,
        printed,
        is_killed,
    }
}

/// The longest time that the command states: `at most 7 s`.
fn stated(printed: &str) -> Option<Duration> {
    let (_, rest) = printed.split_once(" s, at most ")?;
    let (seconds, _) = rest.split_once(" s;")?;
    seconds.parse().ok().map(Duration::from_secs)
}

/// Runs the command against the peer; returns what is wrong.
fn faults(behaviour: &Behaviour) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let peer = Peer::new();
    let stop = AtomicBool::new(false);
    let finished = std::thread::scope(|scope| {
        scope.spawn(|| peer.run(behaviour, &stop));
        let finished = run(behaviour, peer.port, &out);
        stop.store(true, Ordering::Relaxed);
        finished
    });
    let mut faults = check::faults(&out, &finished.printed);
    if finished.is_killed {
        faults.push("it did not end within the time that it states".to_owned());
    }
    if finished.code != Some(behaviour.exit) {
        let expected = behaviour.exit;
        faults.push(format!(
            "exit code {:?}, expected {expected}",
            finished.code
        ));
    }
    if !finished.printed.contains(behaviour.contains) {
        faults.push(format!("`{}` is not printed", behaviour.contains));
    }
    // What limits a figure is in the record, not only on the terminal.
    let is_noted = behaviour.exit == behaviour::MEASURED && !behaviour.contains.is_empty();
    for name in [
        "run.json",
        "trials.ndjson",
        "report.md",
        "report.html",
        "junit.xml",
        "results.csv",
        "results.prom",
    ] {
        let text = std::fs::read_to_string(out.join(name)).unwrap_or_default();
        if is_noted && !text.contains(behaviour.contains) {
            faults.push(format!("`{}` is not in {name}", behaviour.contains));
        }
    }
    if !faults.is_empty() {
        faults.push(finished.printed);
    }
    faults
}

#[test]
fn no_peer_holds_a_command_or_makes_it_report_what_cannot_be() {
    let all: Vec<(&str, &Behaviour)> = [
        ("http", http::ALL),
        ("iperf2", iperf2::ALL),
        ("iperf3", iperf3::ALL),
        ("iperf3", iperf3_states::ALL),
        ("stamp", stamp::ALL),
    ]
    .into_iter()
    .flat_map(|(family, all)| all.iter().map(move |one| (family, one)))
    // One behaviour: `LINERATE_PEER=drip cargo test`.
    .filter(|(_, one)| {
        std::env::var("LINERATE_PEER").is_ok_and(|name| one.name.contains(&name))
            || std::env::var_os("LINERATE_PEER").is_none()
    })
    .collect();
    let next = AtomicUsize::new(0);
    let failed = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..PARALLEL.min(all.len()) {
            scope.spawn(|| {
                while let Some((family, behaviour)) = all.get(next.fetch_add(1, Ordering::Relaxed))
                {
                    let faults = faults(behaviour);
                    if !faults.is_empty() {
                        let text = format!("{family}: {}: {}", behaviour.name, faults.join("\n  "));
                        failed.lock().expect("no panic").push(text);
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().expect("no panic");
    assert!(
        failed.is_empty(),
        "{} of {}:\n{}",
        failed.len(),
        all.len(),
        failed.join("\n\n")
    );
}
