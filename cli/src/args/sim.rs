//! Arguments of `linerate sim` and `linerate timing`.

use std::net::SocketAddrV4;
use std::path::PathBuf;

use clap::ValueEnum;
use linerate_bench::scenario::{Ability, Partner, Pulses};

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    linerate sim esp32c6-bitbang --program http_get --variant zero-copy --pcap get.pcapng\n  \
    linerate sim esp32c6-bitbang --program http_get --boot sizes=200000x3\n  \
    linerate sim esp32c6-bitbang --elf my-firmware.elf --seconds 5 --vcd pins.vcd\n  \
    linerate sim esp32c6-bitbang --program http_get --profile target/get.txt\n  \
    linerate sim esp32c6-bitbang --elf mine.elf --peer 10.0.0.1:8080 --file /10kB.txt=page.txt\n  \
    linerate sim esp32c6-bitbang --program http_server --tap tap0\n  \
    linerate sim esp32c6-bitbang --program ping --partner 100base-tx-half,100base-tx-full\n\n\
    With --tap, programs on this host (ping, curl) can reach the firmware. Create the interface\n\
    once: sudo ip tuntap add dev tap0 mode tap user $USER &&\n\
    sudo ip address add 169.254.10.1/16 dev tap0 && sudo ip link set tap0 up")]
pub struct Sim {
    /// Board (see `linerate boards`)
    pub board: String,
    /// Firmware, an ELF file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["program", "variant", "elf_dir"])]
    pub elf: Option<PathBuf>,
    /// Program of the board to run
    #[arg(long, value_name = "NAME", default_value = "hello")]
    pub program: String,
    /// Variant of the program [default: the board's]
    #[arg(long, value_name = "NAME")]
    pub variant: Option<String>,
    /// Folder with the firmware images, BOARD/PROGRAM-VARIANT.elf
    #[arg(long, value_name = "DIR", default_value = linerate_bench::firmware::DEFAULT_DIR)]
    pub elf_dir: PathBuf,
    /// Settings of the program, `name=value` words, in place of those of its build (the board's README lists them)
    #[arg(
        long,
        value_name = "WORDS",
        default_value = "",
        hide_default_value = true
    )]
    pub boot: String,
    /// Connect the board to this TAP interface, in real time
    #[arg(long, value_name = "IF")]
    pub tap: Option<String>,
    /// Address of the built-in peer and port of its HTTP server [default: 169.254.10.1:80]
    #[arg(long, value_name = "ADDRESS:PORT", conflicts_with = "tap")]
    pub peer: Option<SocketAddrV4>,
    /// Let the peer serve FILE at /PATH, besides /N, which has N octets; can be repeated
    #[arg(long, value_name = "/PATH=FILE", conflicts_with = "tap")]
    pub file: Vec<String>,
    /// Let the peer answer requests by this script (docs/simulator.md)
    #[arg(long, value_name = "FILE", conflicts_with = "tap")]
    pub answers: Option<PathBuf>,
    /// Write a capture of the wire to this file (pcapng)
    #[arg(long, value_name = "FILE")]
    pub pcap: Option<PathBuf>,
    /// Write a waveform of the pins to this file (VCD)
    #[arg(long, value_name = "FILE")]
    pub vcd: Option<PathBuf>,
    /// Length of the waveform from the first frame, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 50, requires = "vcd")]
    pub vcd_ms: u64,
    /// Count cycles by function: write a table to FILE, and folded stacks (.folded) and a flame graph
    /// (.svg) next to it; slows the simulation down several times
    #[arg(long, value_name = "FILE")]
    pub profile: Option<PathBuf>,
    /// Stop after N seconds of simulated time [default: when the program ends]
    #[arg(long, value_name = "N")]
    pub seconds: Option<u64>,
    /// Abilities of the link partner, separated by commas [default: no auto-negotiation, link forced
    /// up]
    #[arg(long, value_enum, value_name = "WORDS", value_delimiter = ',')]
    pub partner: Vec<PartnerWord>,
    /// Duplex of the link partner [default: half; with --partner auto]
    #[arg(long, value_enum)]
    pub duplex: Option<Duplex>,
    /// Timing of the chip: a timing table replacing the built-in one, or a console log of
    /// `cycle_counting`
    #[arg(long, value_name = "FILE")]
    pub timing: Option<PathBuf>,
    /// Random seed
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  \
    espflash flash --monitor target/firmware/esp32c6-bitbang/cycle_counting-line-rate.elf | tee chip.log\n  \
    linerate timing chip.log\n  \
    linerate run scenarios/beat-niccle.toml --timing chip.log")]
pub struct Timing {
    /// Console log of `cycle_counting`, or a timing table
    pub log: PathBuf,
}

/// Abilities of a link partner, named as in `partner` of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PartnerWord {
    /// Advertise 10BASE-T half duplex
    #[value(name = "10base-t-half")]
    TenHalf,
    /// Advertise 10BASE-T full duplex
    #[value(name = "10base-t-full")]
    TenFull,
    /// Advertise 100BASE-TX half duplex, which gives no link with this board
    #[value(name = "100base-tx-half")]
    HundredHalf,
    /// Advertise 100BASE-TX full duplex
    #[value(name = "100base-tx-full")]
    HundredFull,
    /// Indicate a remote fault, in addition to the advertised abilities
    RemoteFault,
    /// Send normal link pulses only, without auto-negotiation; not with others
    Nlp,
    /// Send no pulses at all, as without a cable; not with others
    None,
}

/// Returns the link partner that `words` describe; `None` if they contradict each other.
pub fn partner(words: &[PartnerWord]) -> Option<Partner> {
    let ability = |word: &PartnerWord| match word {
        PartnerWord::TenHalf => Some(Ability::TenHalf),
        PartnerWord::TenFull => Some(Ability::TenFull),
        PartnerWord::HundredHalf => Some(Ability::HundredHalf),
        PartnerWord::HundredFull => Some(Ability::HundredFull),
        _ => None,
    };
    let offers: Vec<Ability> = words.iter().filter_map(ability).collect();
    let pulses = match words {
        [PartnerWord::Nlp] => Some(Pulses::Nlp),
        [PartnerWord::None] => Some(Pulses::None),
        _ if offers.is_empty() => return None,
        _ if words.contains(&PartnerWord::Nlp) || words.contains(&PartnerWord::None) => {
            return None;
        }
        _ => None,
    };
    Some(Partner {
        advertise: offers.into(),
        remote_fault: words.contains(&PartnerWord::RemoteFault),
        pulses,
        link_test: Some(true),
        ..Partner::default()
    })
}

/// Duplex of the link partner.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Duplex {
    /// One station at a time
    Half,
    /// Both at once
    Full,
    /// Result of auto-negotiation
    Auto,
}

impl From<Duplex> for linerate_bench::scenario::Duplex {
    fn from(duplex: Duplex) -> Self {
        match duplex {
            Duplex::Half => Self::Half,
            Duplex::Full => Self::Full,
            Duplex::Auto => Self::Auto,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_bench::scenario::Scenario;

    /// Partner of a scenario with these fields in `[partner]`.
    fn in_a_scenario(fields: &str) -> Partner {
        let text = format!(
            "schema = 1\nname = \"x\"\nboard = \"esp32c6-bitbang\"\n[partner]\n{fields}\n\
             [[run]]\nvariant = \"line-rate\"\nping = {{ count = 1 }}\n"
        );
        let scenario = Scenario::parse(&text, "x").unwrap_or_else(|error| panic!("{error}"));
        scenario.common.partner
    }

    #[test]
    fn partner_words_mean_the_same_as_in_a_scenario() {
        let half = PartnerWord::TenHalf;
        let mut offers = Vec::new();
        for &word in PartnerWord::value_variants() {
            let value = word.to_possible_value().expect("a word");
            let name = value.get_name();
            let (words, fields) = match word {
                PartnerWord::Nlp | PartnerWord::None => {
                    (vec![word], format!("pulses = \"{name}\""))
                }
                PartnerWord::RemoteFault => (
                    vec![half, word],
                    "advertise = [\"10base-t-half\"]\nremote_fault = true".to_owned(),
                ),
                offered => {
                    offers.push(offered);
                    (vec![word], format!("advertise = [\"{name}\"]"))
                }
            };
            let expected = in_a_scenario(&format!("{fields}\nlink_test = true"));
            assert_eq!(partner(&words), Some(expected), "{name}");
        }
        // Every ability of a scenario's partner has a word.
        let all = partner(&offers).expect("they go together").advertise;
        assert_eq!(Vec::from(all), Ability::ALL);
    }
}
