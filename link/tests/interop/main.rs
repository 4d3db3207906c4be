//! The three implementations of `docs/link-protocol.md`, in Rust, C and Python, each connected with each: two processes,
//! and between them a line that damages one octet in a thousand.

#![forbid(unsafe_code)]

use linerate_ether::random::Random;
use linerate_link::{Channel, Config, Instant, Link};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant as Clock};

/// Messages in each direction.
const MESSAGES: u32 = 300;

/// Arguments of the Rust end, which is this program with one test.
const ARGUMENTS: &str = "LINERATE_LINK_PEER";

fn channel_of(number: u32) -> usize {
    usize::from(number % 10 != 9)
}

/// Every implementation computes the same messages: empty ones, zeros, and blocks of COBS of every length.
fn message_of(number: u32) -> Vec<u8> {
    let len = match channel_of(number) {
        0 => number % 40,
        _ => number * 37 % 500,
    };
    let octet = |i: u32| match number % 7 {
        0 => 1 + i % 255,
        _ => (number + i * i) % (number % 300 + 1),
    };
    (0..len).map(|i| octet(i) as u8).collect()
}

/// The Rust end, in a process of its own; otherwise nothing.
#[test]
fn rust_end() {
    let Ok(arguments) = std::env::var(ARGUMENTS) else {
        return;
    };
    let numbers: Vec<u32> = arguments
        .split(' ')
        .map(|n| n.parse().expect("numbers"))
        .collect();
    let [session, to_send, to_expect, max_fragment] = numbers[..] else {
        panic!("session, messages to send and to expect, largest fragment");
    };
    let socket = std::io::stdin()
        .as_fd()
        .try_clone_to_owned()
        .expect("a socket");
    let mut socket = UnixStream::from(socket);
    let channels = [
        Channel::reliable(vec![0; 100], vec![0; 100]),
        Channel::reliable(vec![0; 600], vec![0; 600]),
    ];
    let mut link = Link::new(
        Config {
            max_fragment: max_fragment as u16,
            ..Config::new(session)
        },
        channels,
    );
    let begin = Clock::now();
    let now = || Instant::from_us(begin.elapsed().as_micros() as u32);
    let (mut sent, mut received, mut done) = (0, 0, false);
    let mut next = [9, 0];
    let mut octets = [0; 512];
    loop {
        while sent < to_send && link.send(channel_of(sent), &message_of(sent)).is_ok() {
            sent += 1;
        }
        for channel in 0..2 {
            while let Some(len) = link.read(channel, &mut octets) {
                assert_eq!(
                    octets[..len],
                    message_of(next[channel]),
                    "message {}",
                    next[channel]
                );
                next[channel] += [10, 1 + u32::from(next[channel] % 10 == 8)][channel];
                received += 1;
            }
        }
        loop {
            let count = link.transmit(now(), &mut octets);
            if count == 0 {
                break;
            }
            if socket.write_all(&octets[..count]).is_err() {
                return;
            }
        }
        if !done
            && sent == to_send
            && received == to_expect
            && link.pending(0) + link.pending(1) == 0
        {
            done = true;
            // Standard output is the test harness's.
            eprintln!("done");
        }
        let wait = link.next_timeout().map(|at| {
            let left = at.us().wrapping_sub(now().us()) as i32;
            Duration::from_micros(left.max(1) as u64)
        });
        socket.set_read_timeout(wait).expect("a socket");
        match socket.read(&mut octets) {
            Ok(0) => break,
            Ok(count) => link.receive(now(), &octets[..count]),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(_) => break,
        }
    }
    assert!(done, "the peer left");
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Language {
    Rust,
    C,
    Python,
}

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The program in C; `None` without a compiler.
fn c_program() -> Option<PathBuf> {
    static BUILDING: Mutex<()> = Mutex::new(());
    let _one = BUILDING.lock();
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("link-peer");
    let works = |name: &&str| Command::new(name).arg("--version").output().is_ok();
    let compiler = ["cc", "gcc", "clang"].into_iter().find(works)?;
    let output = Command::new(compiler)
        .args([
            "-std=c99",
            "-pedantic",
            "-Wall",
            "-Wextra",
            "-Wconversion",
            "-Werror",
            "-O1",
        ])
        .args(["-DLL_MAX_FRAGMENT=512", "-o"])
        .arg(&program)
        .arg("-I")
        .arg(here().join("c"))
        .arg(here().join("c/linerate_link.c"))
        .arg(here().join("tests/interop/peer.c"))
        .output()
        .expect("the compiler runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Some(program)
}

/// The command of an end; `None` without its tools.
fn command(language: Language, arguments: [u32; 4]) -> Option<Command> {
    let texts = arguments.map(|n| n.to_string());
    let mut command = match language {
        Language::Rust => {
            let mut command = Command::new(std::env::current_exe().expect("this program"));
            command.args(["--exact", "rust_end", "--nocapture"]);
            command.env(ARGUMENTS, texts.join(" "));
            return Some(command);
        }
        Language::C => Command::new(c_program()?),
        Language::Python => {
            let mut command = Command::new("python3");
            command.arg("--version").output().ok()?;
            command = Command::new("python3");
            command.arg(here().join("tests/interop/peer.py"));
            command.env("PYTHONPATH", here().join("python"));
            command.env("PYTHONDONTWRITEBYTECODE", "1");
            command
        }
    };
    command.args(texts);
    Some(command)
}

/// Starts an end; its socket, and a channel on which its lines come.
fn start(mut command: Command) -> (Child, UnixStream, mpsc::Receiver<String>) {
    let (ours, theirs) = UnixStream::pair().expect("sockets");
    let mut child = command
        .stdin(Stdio::from(std::os::fd::OwnedFd::from(theirs)))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the end starts");
    let (sender, lines) = mpsc::channel();
    let outputs: [Box<dyn Read + Send>; 2] = [
        Box::new(child.stdout.take().expect("piped")),
        Box::new(child.stderr.take().expect("piped")),
    ];
    for output in outputs {
        let sender = sender.clone();
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
    }
    (child, ours, lines)
}

/// Passes octets on until the sender closes, some of them damaged, lost or twice.
fn relay(mut from: UnixStream, mut to: UnixStream, seed: u64) {
    let mut random = Random::new(seed);
    let mut octets = [0; 1024];
    while let Ok(count @ 1..) = from.read(&mut octets) {
        let mut passed = Vec::with_capacity(count);
        for octet in &octets[..count] {
            match random.below(4000) {
                0 => passed.push(octet ^ (1 << random.below(8))),
                1 => {}
                2 => passed.extend([*octet, *octet]),
                3 => passed.extend([*octet, random.next_u64() as u8]),
                _ => passed.push(*octet),
            }
        }
        if to.write_all(&passed).is_err() {
            break;
        }
    }
}

fn connect(one: Language, two: Language) {
    // Different fragments: the smaller counts.
    let fragments = match one {
        Language::Rust => [256, 100],
        Language::C => [64, 512],
        Language::Python => [512, 512],
    };
    let arguments = |n: usize| [0x0001_0000 << n | 0xABCD, MESSAGES, MESSAGES, fragments[n]];
    let (Some(first), Some(second)) = (command(one, arguments(0)), command(two, arguments(1)))
    else {
        let how =
            "interoperation of the link layers needs cc and python3: apt-get install gcc python3";
        assert!(
            std::env::var_os("LINERATE_REQUIRE_TOOLS").is_none(),
            "{how}"
        );
        eprintln!("skipped: {how}");
        return;
    };
    let ends = [start(first), start(second)];
    let sockets = [&ends[0].1, &ends[1].1];
    let clone = |n: usize| sockets[n].try_clone().expect("a socket");
    let relays = [(clone(0), clone(1)), (clone(1), clone(0))];
    let seed = one as u64 * 3 + two as u64;
    let threads = relays.map(|(from, to)| thread::spawn(move || relay(from, to, seed)));
    for (_, _, lines) in &ends {
        let mut seen = Vec::new();
        // Far longer than it takes: a failure shows what was printed.
        while !seen.iter().any(|line: &String| line == "done") {
            let line = lines.recv_timeout(Duration::from_mins(2));
            seen.push(line.unwrap_or_else(|_| {
                panic!("{one:?} with {two:?}: an end did not finish: {seen:?}")
            }));
        }
    }
    for socket in sockets {
        socket.shutdown(std::net::Shutdown::Both).expect("a socket");
    }
    for thread in threads {
        thread.join().expect("relayed");
    }
    for (mut child, _, lines) in ends {
        let status = child.wait().expect("the end exits");
        assert!(
            status.success(),
            "{one:?} with {two:?}: {:?}",
            lines.iter().collect::<Vec<_>>()
        );
    }
}

macro_rules! pairs {
    ($($name:ident: $one:ident, $two:ident;)*) => {
        $(#[test]
        fn $name() {
            connect(Language::$one, Language::$two);
        })*
    };
}

pairs! {
    rust_with_rust: Rust, Rust;
    rust_with_c: Rust, C;
    rust_with_python: Rust, Python;
    c_with_rust: C, Rust;
    c_with_c: C, C;
    c_with_python: C, Python;
    python_with_rust: Python, Rust;
    python_with_c: Python, C;
    python_with_python: Python, Python;
}
