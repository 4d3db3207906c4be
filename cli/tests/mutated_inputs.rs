//! The parsers of what users get from others, on mutations of the fuzzer's seeds: the same inputs in each run.
//!
//! The fuzz targets of the same names search further (`cargo xtask test --long fuzz`); their instrumented build takes too
//! long for each change.

use linerate_ether::random::Random;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

/// Inputs for each target. A dump is searched in all maps, which takes 15 ms.
const INPUTS: u64 = 5_000;
const REGISTER_INPUTS: u64 = 1_000;
/// Mutations of an input: at most 2 to this power.
const MAX_DOUBLINGS: u64 = 5;
/// Longest range that is removed or copied, octets.
const MAX_RANGE: usize = 64;
/// Values at which lengths and offsets wrap, and the delimiters of texts.
const SPECIAL: &[u8] = b"\x00\x01\x7F\x80\xFF \n\t:=\"[]{}#-09x";

#[test]
fn captures_hold() {
    run("capture", INPUTS, linerate_explain::exercise::capture);
}

#[test]
fn scenarios_hold() {
    run(
        "scenario",
        INPUTS,
        as_text(linerate_bench::exercise::scenario),
    );
}

#[test]
fn register_dumps_hold() {
    run(
        "registers",
        REGISTER_INPUTS,
        as_text(linerate_regs_decode::exercise::registers),
    );
}

#[test]
fn interface_counters_hold() {
    let check = linerate_regs_decode::exercise::interface_counters;
    run("interface_counters", INPUTS, as_text(check));
}

/// Applies `check` to what is UTF-8 in its input.
fn as_text(check: fn(&str)) -> impl Fn(&[u8]) + std::panic::RefUnwindSafe {
    move |octets| check(&String::from_utf8_lossy(octets))
}

/// Applies `check` to the seeds of `target` and to `inputs` mutations of them; keeps the first that fails.
fn run(target: &str, inputs: u64, check: impl Fn(&[u8]) + std::panic::RefUnwindSafe) {
    let seeds = seeds(target);
    let mut random = Random::new(1);
    for number in 0..inputs {
        let mut input = seeds[number as usize % seeds.len()].clone();
        if number >= seeds.len() as u64 {
            let doublings = random.below(MAX_DOUBLINGS + 1);
            for _ in 0..=random.below(1 << doublings) {
                mutate(&mut input, &seeds, &mut random);
            }
        }
        if catch_unwind(|| check(&input)).is_err() {
            let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("crash-{target}"));
            std::fs::write(&kept, &input).expect("writable");
            panic!("input {number} of {target}: {}", kept.display());
        }
    }
}

/// The files in the folder of the target's seeds, in the order of their names.
fn seeds(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../fuzz/seeds")
        .join(target);
    let entries = std::fs::read_dir(&folder).expect("a folder of seeds");
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("readable").path())
        .collect();
    files.sort();
    assert!(!files.is_empty(), "{}", folder.display());
    files
        .iter()
        .map(|file| std::fs::read(file).expect("readable"))
        .collect()
}

/// Changes one octet, or removes, repeats or replaces a range.
fn mutate(input: &mut Vec<u8>, seeds: &[Vec<u8>], random: &mut Random) {
    if input.is_empty() {
        input.push(random.next_u64() as u8);
    }
    let at = index(random, input.len());
    let end = (at + 1 + index(random, MAX_RANGE)).min(input.len());
    match random.below(6) {
        0 => input[at] ^= 1 << random.below(8),
        1 => input[at] = random.next_u64() as u8,
        2 => input[at] = SPECIAL[index(random, SPECIAL.len())],
        3 => drop(input.drain(at..end)),
        4 => {
            let range = input[at..end].to_vec();
            let to = index(random, input.len());
            input.splice(to..to, range);
        }
        _ => {
            let other = &seeds[index(random, seeds.len())];
            if !other.is_empty() {
                let from = index(random, other.len());
                let range = &other[from..other.len().min(from + MAX_RANGE)];
                input.splice(at..end, range.iter().copied());
            }
        }
    }
}

/// An index below `len`, which is not zero.
fn index(random: &mut Random, len: usize) -> usize {
    random.below(len as u64) as usize
}
