//! Third-party programs behave on the simulated chip as their authors document.
//!
//! The programs and their output: `foreign.toml`. `cargo xtask foreign` builds them and names their
//! folder in `LINERATE_FOREIGN_ELFS`; without it only the list is checked.

use std::path::Path;

use linerate_sim::chip::esp32c6::{Config, ConsoleByte, Esp32c6, Port, Stop};
use linerate_sim::elf::Elf;
use linerate_sim::pads::Pads;
use linerate_sim::time::{Instant, Span};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    program: Vec<Program>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Program {
    elf: String,
    package: String,
    does: String,
    #[serde(default)]
    is_long: bool,
    console: Console,
    run_ms: u64,
    #[serde(default)]
    pad: u8,
    #[serde(default)]
    edges_ms: Vec<u64>,
    lines: Vec<Line>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Console {
    Uart0,
    Usb,
    Any,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    ms: u64,
    text: String,
}

fn list() -> List {
    toml::from_str(include_str!("foreign.toml")).expect("foreign.toml")
}

/// One pad that changes at given times.
struct Button {
    pad: u8,
    edges: Vec<Instant>,
}

impl Pads for Button {
    fn level(&mut self, pad: u8, at: Instant) -> bool {
        pad == self.pad && self.edges.iter().filter(|&&edge| edge <= at).count() % 2 == 1
    }

    fn next_edge(&mut self, pad: u8, after: Instant) -> Instant {
        let mut later = self
            .edges
            .iter()
            .copied()
            .filter(|&edge| pad == self.pad && edge > after);
        later.next().unwrap_or(Instant::NEVER)
    }

    fn drive(&mut self, _: u8, _: bool, _: Instant) {}

    fn deadline(&self) -> Instant {
        Instant::NEVER
    }
}

/// Complete lines with the time of their first byte, without colour sequences.
fn lines(bytes: &[ConsoleByte], console: Console) -> Vec<(Instant, String)> {
    let wanted = |port: Port| match console {
        Console::Uart0 => port == Port::Uart0,
        Console::Usb => port == Port::UsbSerial,
        Console::Any => true,
    };
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut begun = None;
    let mut escape = false;
    for byte in bytes.iter().filter(|byte| wanted(byte.port)) {
        match byte.byte {
            0x1b => escape = true,
            b'm' if escape => escape = false,
            _ if escape => {}
            b'\r' => {}
            b'\n' => lines.push((begun.take().unwrap_or(byte.at), std::mem::take(&mut line))),
            other => {
                begun.get_or_insert(byte.at);
                line.push(char::from(other));
            }
        }
    }
    lines
}

/// True if `text` matches `pattern`, in which `*` matches any text.
fn matches(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((head, tail)) => text.strip_prefix(head).is_some_and(|rest| {
            (0..=rest.len()).any(|i| rest.get(i..).is_some_and(|rest| matches(tail, rest)))
        }),
    }
}

/// Checks the output of the program's run.
fn check(program: &Program, bytes: &[u8]) -> Result<(), String> {
    let elf = Elf::parse(bytes).map_err(|error| error.to_string())?;
    let mut chip = Esp32c6::new(Config::default(), &elf).map_err(|error| error.to_string())?;
    let at = |ms: u64| Instant::ZERO + Span::from_ms(ms);
    let edges = program.edges_ms.iter().map(|&ms| at(ms)).collect();
    match chip.run(
        at(program.run_ms),
        &mut Button {
            pad: program.pad,
            edges,
        },
    ) {
        Stop::Deadline => {}
        Stop::Fault(fault) => return Err(fault.to_string()),
        other => return Err(format!("{other:?}")),
    }
    let polled = chip
        .reports()
        .iter()
        .find(|report| report.to_string().starts_with("polls"));
    if let Some(report) = polled {
        return Err(report.to_string());
    }
    let printed = lines(&chip.console(), program.console);
    for (i, line) in program.lines.iter().enumerate() {
        let Some((when, text)) = printed.get(i) else {
            return Err(format!("line {i}: nothing instead of {:?}", line.text));
        };
        if !matches(&line.text, text) {
            return Err(format!("line {i}: {text:?} instead of {:?}", line.text));
        }
        let ms = when.as_secs_f64() * 1e3;
        let tolerance = 3.0 + line.ms as f64 / 100.0;
        if (ms - line.ms as f64).abs() > tolerance {
            return Err(format!(
                "line {i}: {text:?} at {ms:.3} ms instead of {} ms",
                line.ms
            ));
        }
    }
    match printed.get(program.lines.len()) {
        Some((_, text)) => Err(format!("{text:?} is one line too many")),
        None => Ok(()),
    }
}

#[test]
fn the_list_describes_each_program() {
    let list = list();
    assert!(list.program.len() >= 4);
    for program in &list.program {
        assert!(
            !program.package.is_empty() && !program.does.is_empty(),
            "{}",
            program.elf
        );
        assert!(!program.lines.is_empty(), "{} prints nothing", program.elf);
        assert!(
            program.lines.iter().all(|line| line.ms < program.run_ms),
            "{}",
            program.elf
        );
    }
}

#[test]
fn foreign_programs_print_the_documented_output() {
    let Some(folder) = std::env::var_os("LINERATE_FOREIGN_ELFS") else {
        println!("skipped: `cargo xtask foreign` builds the programs and sets their folder");
        return;
    };
    let mut wrong = Vec::new();
    for program in list().program {
        let path = Path::new(&folder).join(format!("{}.elf", program.elf));
        let result = match std::fs::read(&path) {
            Ok(bytes) => check(&program, &bytes),
            Err(_) if program.is_long => {
                println!("{}: built by `cargo xtask foreign` only", program.elf);
                continue;
            }
            Err(error) => Err(error.to_string()),
        };
        match result {
            Ok(()) => println!("{}: {}", program.elf, program.does),
            Err(what) => wrong.push(format!("{}: {what}", program.elf)),
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn patterns_match_as_documented() {
    assert!(matches("a*c", "abbc") && matches("*", "") && matches("a*", "a"));
    assert!(!matches("a*c", "abbd") && !matches("a", "ab"));
}
