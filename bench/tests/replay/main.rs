//! Recorded hosts, replayed with the simulated one in their place: the published capture of real hardware
//! (`niccle/*.pcap.gz` in the folder `LINERATE_DATA`), and this repository's recordings of Linux 6.18 with CUBIC and
//! Reno under scripted losses (`captures`, made by `lab/replay/record.py`). The tables of `docs/replay.md` are those
//! that these tests make.

use std::fmt::Write;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use linerate_bench::replay::{Flow, Recording, Score, flows, replay};
use linerate_sim::peer::tcp::{Config, Congestion, Kernel};
use linerate_sim::time::Span;

const PUBLISHED: &str = "niccle/smoltcp_http_get_before_optimizations.pcap.gz";

/// Both were worked out on the odd connections. `tick`: retransmissions after 0.3 s and more are at 11.2 ms modulo
/// 32 ms. `turnaround`: the median time from an acknowledgment to the segment behind it.
const PUBLISHED_HOST: Recording = Recording {
    tick: Span::from_us(11_200),
    turnaround: Span::from_us(50),
};

/// Turnaround of the recordings in `captures`.
const TURNAROUND: Span = Span::from_us(20);

fn open(path: &Path) -> Vec<Flow> {
    let file = File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    flows(file).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn row(table: &mut String, name: &str, score: &Score) {
    let (recorded, found) = (score.pairings.len(), score.found());
    let (share, surplus) = (score.share() * 100.0, score.surplus.len());
    writeln!(
        table,
        "| {name} | {recorded} | {found} | {share:.1}% | {surplus} |"
    )
    .expect("text");
}

/// Fails unless the document has `table`, and prints it.
#[track_caller]
fn documented(table: &str) {
    println!("{table}");
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/replay.md");
    let page = fs::read_to_string(page).expect("the page");
    for line in table.lines() {
        assert!(page.contains(line), "docs/replay.md lacks: {line}");
    }
}

#[test]
fn the_published_host_s_segments_are_sent_by_the_simulated_one() {
    let Some(folder) = std::env::var_os("LINERATE_DATA").map(PathBuf::from) else {
        eprintln!("skipped: LINERATE_DATA names no folder with captures");
        return;
    };
    let flows = open(&folder.join(PUBLISHED));
    assert_eq!(flows.len(), 13);
    let mut table = String::new();
    let mut halves = [Score::default(), Score::default()];
    for (at, flow) in flows.iter().enumerate() {
        let score = replay(flow, Config::default(), PUBLISHED_HOST);
        let name = format!("{} (packet {})", at + 1, flow.packet);
        row(&mut table, &name, &score);
        halves[at % 2].add(score);
    }
    let [odd, even] = &halves;
    row(&mut table, "odd", odd);
    row(&mut table, "even", even);
    documented(&table);
    for half in &halves {
        assert!(half.share() > 0.995, "{table}");
    }
}

#[test]
fn linux_6_18_s_segments_are_sent_by_the_simulated_host() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/replay/captures");
    let ticks = fs::read_to_string(folder.join("ticks.txt")).expect("beside the captures");
    let mut table = String::new();
    let mut shares = Vec::new();
    for line in ticks.lines() {
        let (name, tick_us) = line.split_once(' ').expect("a name and a time");
        let config = Config {
            congestion: match name.split_once('-') {
                Some(("reno", _)) => Congestion::Reno,
                _ => Congestion::Cubic,
            },
            kernel: Kernel::Since6_10,
            ..Config::default()
        };
        let recording = Recording {
            tick: Span::from_us(tick_us.parse().expect("microseconds")),
            turnaround: TURNAROUND,
        };
        let flows = open(&folder.join(format!("{name}.gz")));
        let score = replay(&flows[0], config, recording);
        row(&mut table, name.trim_end_matches(".pcap"), &score);
        shares.push(score.share());
    }
    documented(&table);
    assert_eq!(shares.len(), 20);
    // docs/replay.md has the reasons of the rest.
    let good = shares.iter().filter(|&&share| share > 0.97).count();
    assert!(good >= 14, "{table}");
}

#[test]
fn another_host_s_behaviour_is_found_out() {
    // The test must be able to fail: Reno is not CUBIC, and the older kernel is not the newer.
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/replay/captures");
    let flow = &open(&folder.join("reno-outage.pcap.gz"))[0];
    let recording = Recording {
        tick: Span::from_us(1_221_438),
        turnaround: TURNAROUND,
    };
    let reno = Config {
        congestion: Congestion::Reno,
        kernel: Kernel::Since6_10,
        ..Config::default()
    };
    assert!(replay(flow, reno, recording).share() > 0.99);
    let older = Config {
        kernel: Kernel::Before6_10,
        ..reno
    };
    assert!(replay(flow, older, recording).share() < 0.9);
}
