use super::*;
use crate::board;
use crate::firmware::Image;
use crate::scenario::Record;

fn config(elf: Vec<u8>) -> MachineConfig {
    let board = board::find("esp32c6-bitbang").expect("known");
    let name = "test".into();
    MachineConfig {
        record: Record {
            profile: false,
            pcapng: true,
            vcd_ms: 1,
        },
        ..MachineConfig::new(board, Image { name, elf }, 1)
    }
}

fn error(elf: Vec<u8>) -> String {
    let error = open(&config(elf)).err().expect("must be refused");
    assert!(error.is_input());
    error.to_string()
}

/// An executable with one segment of code at `address`.
fn elf(address: u32, code: &[u32]) -> Vec<u8> {
    let mut out = vec![0x7F, b'E', b'L', b'F', 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let half = |out: &mut Vec<u8>, value: u16| out.extend(value.to_le_bytes());
    let word = |out: &mut Vec<u8>, value: u32| out.extend(value.to_le_bytes());
    half(&mut out, 2); // executable
    half(&mut out, 243); // RISC-V
    for value in [1, address, 52, 0, 0] {
        word(&mut out, value); // version, entry, program headers, sections, flags
    }
    for value in [52, 32, 1, 40, 0, 0] {
        half(&mut out, value);
    }
    let size = 4 * code.len() as u32;
    for value in [1, 84, address, address, size, size, 5, 4] {
        word(&mut out, value); // one segment to load, readable and executable
    }
    for instruction in code {
        word(&mut out, *instruction);
    }
    out
}

#[test]
fn unusable_firmware_is_rejected_in_one_sentence() {
    let loop_forever = elf(0x4080_0000, &[0x0000_006F]);
    assert!(open(&config(loop_forever.clone())).is_ok());
    assert_eq!(
        error(b"hello".to_vec()),
        "the firmware cannot be run: not an ELF file"
    );
    let truncated = error(loop_forever[..80].to_vec());
    assert!(
        truncated.starts_with("the firmware cannot be run: "),
        "{truncated}"
    );
    let mut other = loop_forever;
    other[18] = 0x3E;
    assert!(error(other).contains("needs a 32-bit little-endian RISC-V executable"));
    assert!(error(elf(0x2000_0000, &[0x6F])).contains("outside of the chip's memory"));
    let mut unknown = config(elf(0x4080_0000, &[0x6F]));
    let simulated = unknown.board.simulated.as_mut().expect("simulated");
    simulated.timing_table = "z80".into();
    assert!(
        open(&unknown)
            .err()
            .expect("refused")
            .to_string()
            .contains("no timing table `z80`")
    );
}

#[test]
fn an_exception_is_one_sentence_with_its_address() {
    // An all-zero word is an illegal instruction; there is no handler.
    let mut machine = open(&config(elf(0x4080_0000, &[0x0000_0013, 0]))).expect("loads");
    let error = machine.advance(1_000_000, &mut |_| {}).expect_err("faults");
    assert!(!error.is_input());
    let text = error.to_string();
    assert!(
        text.contains("0x40800004") && !text.contains('\n'),
        "{text}"
    );
}

#[test]
fn an_endless_loop_ends_after_silence() {
    let machine = open(&config(elf(0x4080_0000, &[0x0000_006F]))).expect("loads");
    let mut lines = 0;
    let error =
        crate::measure::follow(machine, None, &|| false, &mut |_| lines += 1).expect_err("silent");
    assert!(
        error
            .to_string()
            .starts_with("nothing happened for 20 s of virtual time"),
        "{error}"
    );
    assert_eq!(lines, 0);
}

#[test]
fn identity_and_artifacts_are_available() {
    let mut machine = open(&config(elf(0x4080_0000, &[0x0000_006F]))).expect("loads");
    let identity = machine.identity();
    assert_eq!(identity.board, "esp32c6-bitbang");
    assert!(
        identity
            .timing
            .iter()
            .any(|entry| entry.kind == linerate_results::record::SourceKind::Guess)
    );
    assert!(
        identity
            .timing
            .iter()
            .any(|entry| entry.name.ends_with("flash_miss_ns"))
    );
    machine.advance(2_000_000, &mut |_| {}).expect("runs");
    assert!(machine.now_ns() >= 2_000_000);
    let artifacts = machine.finish(&mut |_| {});
    assert_eq!(artifacts.files[0].0, "pcapng");
    // Section header block, little-endian (pcapng draft, section 4.1).
    assert_eq!(artifacts.files[0].1[..4], [0x0A, 0x0D, 0x0D, 0x0A]);
    assert_eq!(artifacts.trace_hash.len(), 16);
    assert!(
        artifacts
            .warnings
            .iter()
            .any(|warning| warning.contains("no counters"))
    );
}

#[test]
fn settings_are_refused_by_a_program_that_has_none() {
    let loop_forever = elf(0x4080_0000, &[0x0000_006F]);
    let mut config = config(loop_forever);
    config.boot = "sizes=10000x5".into();
    let error = open(&config).err().expect("no variable for it");
    assert_eq!(
        error.to_string(),
        "the firmware cannot be run: it has no variable `BOOT_LINE`, for the settings sizes=10000x5"
    );
}
