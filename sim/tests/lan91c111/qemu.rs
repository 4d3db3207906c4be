//! QEMU's chip on the machine `versatilepb`, accessed through the protocol of QEMU's own device tests (`-qtest`), with its
//! line on a TCP connection.

use std::io::{BufRead, BufReader, ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use linerate_ether::frame::MacAddress;

use super::chip::Chip;

/// Address of the chip (QEMU, `hw/arm/versatilepb.c`).
const BASE: u32 = 0x1001_0000;
/// `wfi`, and a branch back to it: QEMU 7.2 has no accelerator that runs no instructions.
const SLEEP: [u32; 2] = [0xe320_f003, 0xeaff_fffd];
/// `BANK`, in every bank, and the upper octet of `MIR` in bank 0, which changes with each allocation.
const BANK: u32 = 14;
const ALLOCATED: u32 = 9;
/// Reads of it until a frame must have been allocated.
const MAX_READS: u32 = 1_000_000;
/// A frame that QEMU does not send within this time will not come.
const TIMEOUT: Duration = Duration::from_mins(1);

pub struct Qemu {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
    line: TcpStream,
}

impl Qemu {
    /// `None` without QEMU, which is required if `LINERATE_REQUIRE_TOOLS` is set.
    pub fn start(address: MacAddress) -> Option<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let port = listener.local_addr().expect("bound").port();
        let nic = format!("socket,model=smc91c111,mac={address},connect=127.0.0.1:{port}");
        let mut command = Command::new("qemu-system-arm");
        command.args(["-M", "versatilepb", "-cpu", "cortex-a8", "-nic", &nic]);
        for (word, address) in SLEEP.into_iter().zip((0..).step_by(4)) {
            let loader = format!("loader,addr={address},data={word:#x},data-len=4");
            command.args(["-device", &loader]);
        }
        command
            .args(["-display", "none", "-monitor", "none", "-serial", "none"])
            .args(["-qtest", "stdio", "-qtest-log", "none"])
            .env("QEMU_AUDIO_DRV", "none")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = match command.spawn() {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let required = std::env::var_os("LINERATE_REQUIRE_TOOLS").is_some();
                assert!(!required, "qemu-system-arm is required, but not there");
                println!("skipped: no qemu-system-arm (Debian: qemu-system-arm)");
                return None;
            }
            other => other.expect("QEMU starts"),
        };
        let mut requests = child.stdin.take().expect("piped");
        let mut answers = BufReader::new(child.stdout.take().expect("piped"));
        // An answer shows that the machine, and so its line, is there.
        ask(&mut requests, &mut answers, &format!("readb {BASE:#x}"));
        let (line, _) = listener.accept().expect("QEMU connects");
        line.set_read_timeout(Some(TIMEOUT)).expect("a timeout");
        Some(Self {
            child,
            requests,
            answers,
            line,
        })
    }

    fn ask(&mut self, request: &str) -> u32 {
        ask(&mut self.requests, &mut self.answers, request)
    }
}

/// Sends a request, and returns the number in the answer, if it has one.
fn ask(requests: &mut ChildStdin, answers: &mut BufReader<ChildStdout>, request: &str) -> u32 {
    writeln!(requests, "{request}").expect("QEMU runs");
    let mut answer = String::new();
    answers.read_line(&mut answer).expect("QEMU runs");
    let words: Vec<&str> = answer.split_whitespace().collect();
    match *words.as_slice() {
        ["OK"] => 0,
        ["OK", number] => {
            let digits = number.trim_start_matches("0x");
            u64::from_str_radix(digits, 16).expect("a number") as u32
        }
        _ => panic!("{request}: {answer}"),
    }
}

/// The letter of a width in the protocol.
fn width(octets: u32) -> char {
    match octets {
        1 => 'b',
        2 => 'w',
        _ => 'l',
    }
}

impl Chip for Qemu {
    fn read(&mut self, offset: u32, octets: u32) -> u32 {
        let address = BASE + offset;
        self.ask(&format!("read{} {address:#x}", width(octets)))
    }

    fn write(&mut self, offset: u32, octets: u32, value: u32) {
        let address = BASE + offset;
        self.ask(&format!("write{} {address:#x} {value:#x}", width(octets)));
    }

    fn deliver(&mut self, frame: &[u8]) {
        let bank = self.read(BANK, 1);
        self.write(BANK, 1, 0);
        let before = self.read(ALLOCATED, 1);
        let len = frame.len() as u32;
        let packet = [&len.to_be_bytes()[..], frame].concat();
        self.line.write_all(&packet).expect("QEMU receives");
        let arrived = (0..MAX_READS).any(|_| self.read(ALLOCATED, 1) != before);
        assert!(arrived, "QEMU does not receive a frame");
        self.write(BANK, 1, bank);
    }

    fn take_sent(&mut self) -> Vec<u8> {
        let mut len = [0; 4];
        self.line.read_exact(&mut len).expect("a frame from QEMU");
        let mut frame = vec![0; u32::from_be_bytes(len) as usize];
        self.line.read_exact(&mut frame).expect("a whole frame");
        frame
    }
}

impl Drop for Qemu {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
