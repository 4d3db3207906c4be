//! The throttled links: how each is made, and the causes that are right for it.
//!
//! They are made by other means than linerate's where the system has one: stock iperf with its own buffers, `tc tbf`,
//! nftables, programs and a relay in Python, boards in QEMU. The relay adds delay, loss and a rate.

/// A throttled link.
pub(super) struct Case {
    /// Its name.
    pub(super) name: &'static str,
    /// The network.
    pub(super) place: Place,
    /// Shell command of the device, in the right namespace; empty for a board.
    pub(super) device: &'static str,
    /// Shell commands before the test, in the left namespace; `RIGHT` is the name of the other one.
    pub(super) before: &'static str,
    /// Arguments of `linerate test`.
    pub(super) test: &'static str,
    /// Causes that are right, as in results.
    pub(super) causes: &'static [&'static str],
    /// Words that its summary must contain, if the name of the cause alone is no answer.
    pub(super) words: &'static str,
    /// The right cause is among so many first ones.
    pub(super) within: usize,
}

/// A network between linerate and a device.
#[derive(Clone, Copy)]
pub(super) enum Place {
    /// `linerate relay` with these arguments, between two namespaces.
    Relay(&'static str),
    /// A board in QEMU, with its firmware.
    Emulated {
        board: &'static str,
        variant: &'static str,
        /// Time of its instructions, as QEMU's `-icount`.
        icount: &'static str,
    },
    /// The simulated board, a half-duplex 10BASE-T station, behind a TAP interface.
    Simulated,
    /// lab/links/relay.py with these words, between two namespaces; `LEFT` and `RIGHT` are its interfaces.
    Sleeper(&'static str),
}

/// A case over the relay, whose first cause must be right.
const fn relayed(
    name: &'static str,
    link: &'static str,
    device: &'static str,
    test: &'static str,
    causes: &'static [&'static str],
) -> Case {
    Case {
        name,
        place: Place::Relay(link),
        device,
        before: "",
        test,
        causes,
        words: "",
        within: 1,
    }
}

/// A server that takes 150 ms for each answer.
const SLOW_SERVER: &str = "python3 -c '
import http.server, time
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        time.sleep(0.15)
        self.send_response(200)
        self.send_header(\"Content-Length\", \"20000\")
        self.end_headers()
        self.wfile.write(bytes(20000))
    def log_message(self, *words): pass
http.server.ThreadingHTTPServer((\"10.0.0.2\", 80), Handler).serve_forever()'";

/// A server like that of iperf 2, which reads 8 kB each 10 ms.
const SLOW_READER: &str = "python3 -c '
import socket, time
listener = socket.create_server((\"10.0.0.2\", 5001))
while True:
    connection = listener.accept()[0]
    while connection.recv(8192): time.sleep(0.01)
    connection.close()'";

/// Drops above 1 MB/s what arrives in the right namespace.
const POLICER: &str = "ip netns exec RIGHT nft add table inet police; \
    ip netns exec RIGHT nft add chain inet police in '{ type filter hook input priority 0; }'; \
    ip netns exec RIGHT nft add rule inet police in ip saddr 10.0.0.1 \
    limit rate over 1000 kbytes/second burst 20 kbytes drop;";

/// The device's receiver sleeps after 50 ms without a frame, and wakes up 100 ms after the next one: the beacon interval
/// of Wi-Fi.
const SLEEPER: Place = Place::Sleeper(
    r#"{"left": "LEFT", "right": "RIGHT", "forward": {"delay_ms": 1, "wake": {"idle_ms": 50, "delay_ms": 100}},
        "backward": {"delay_ms": 1}}"#,
);

/// A Cortex-A9 with 15.6 million instructions a second and an interrupt for each frame.
const SLOW_PROCESSOR: Place = Place::Emulated {
    board: "qemu-sabrelite",
    variant: "interrupt_per_frame",
    icount: "shift=6,sleep=on,align=on",
};

const PROCESSOR: &[&str] = &["main-thread-bound", "per-frame-cost", "path-rate"];

/// The ten that are scored.
pub(super) const CASES: &[Case] = &[
    relayed(
        "window of the device",
        "--both delay=10ms",
        "iperf -s -w 8K",
        "iperf2://10.0.0.2 --forward",
        &["receive-window"],
    ),
    relayed(
        "rate, to the device",
        "--forward delay=1ms,rate=8500k,queue=100 --backward delay=1ms",
        "iperf3 -s",
        "iperf3://10.0.0.2 --forward",
        &["path-rate"],
    ),
    relayed(
        "loss, to the device",
        "--both delay=5ms --forward loss=1%,delay=5ms",
        "iperf3 -s",
        "iperf3://10.0.0.2 --forward",
        &["random-loss"],
    ),
    relayed(
        "delay (a window of 64 kB)",
        "--both delay=50ms",
        "iperf -s -w 64K",
        "iperf2://10.0.0.2 --forward",
        &["receive-window"],
    ),
    relayed(
        "slow server",
        "--both delay=2ms",
        SLOW_SERVER,
        "http://10.0.0.2/file -R",
        &["server-think-time"],
    ),
    Case {
        place: SLOW_PROCESSOR,
        words: "processor is the limit",
        ..relayed("CPU-bound board (QEMU)", "", "", "iperf2://QEMU", PROCESSOR)
    },
    Case {
        place: Place::Simulated,
        words: "half-duplex line of 10 Mbit/s",
        ..relayed(
            "half duplex (simulated board)",
            "",
            "",
            "iperf2://BOARD --forward",
            &["path-rate"],
        )
    },
    Case {
        before: POLICER,
        ..relayed(
            "policer (nftables)",
            "--both delay=5ms",
            "iperf3 -s",
            "iperf3://10.0.0.2 --forward",
            &["policed", "shallow-queue"],
        )
    },
    Case {
        place: SLEEPER,
        ..relayed(
            "wake-up latency",
            "",
            "iperf -s",
            "iperf2://10.0.0.2 --forward -n 20k",
            &["wake-up-latency"],
        )
    },
    Case {
        words: "line rate of 100 Mbit/s",
        ..relayed(
            "full duplex at line rate",
            "--busy --both delay=200us,rate=100M,queue=200",
            "iperf3 -s",
            "iperf3://10.0.0.2 --forward",
            &["path-rate", "at-line-rate"],
        )
    },
];

/// Further ones, which are not scored.
pub(super) const FURTHER: &[Case] = &[
    relayed(
        "rate, from the device",
        "--forward delay=1ms --backward delay=1ms,rate=8500k,queue=100",
        "iperf3 -s",
        "iperf3://10.0.0.2 -R",
        &["path-rate"],
    ),
    Case {
        before: "tc qdisc add dev eth0 root tbf rate 20mbit burst 10kb latency 50ms;",
        ..relayed(
            "shaper (tc tbf)",
            "--both delay=2ms",
            "iperf3 -s",
            "iperf3://10.0.0.2 --forward",
            &["path-rate"],
        )
    },
    relayed(
        "slow reader",
        "--both delay=2ms",
        SLOW_READER,
        "iperf2://10.0.0.2 --forward",
        &["receiver-reads-slowly"],
    ),
    Case {
        place: SLEEPER,
        within: 2,
        ..relayed(
            "wake-up latency, long transfer",
            "",
            "iperf3 -s",
            "iperf3://10.0.0.2 --forward",
            &["wake-up-latency"],
        )
    },
    Case {
        place: Place::Emulated {
            board: "qemu-mps2-an385",
            variant: "budgeted",
            icount: "shift=6,sleep=on,align=on",
        },
        words: "processor is the limit",
        ..relayed(
            "CPU-bound Cortex-M3 (QEMU)",
            "",
            "",
            "iperf2://QEMU",
            PROCESSOR,
        )
    },
    Case {
        place: Place::Emulated {
            board: "qemu-riscv32-virt",
            variant: "interrupt_per_frame",
            icount: "shift=7,sleep=on,align=on",
        },
        words: "processor is the limit",
        ..relayed(
            "CPU-bound RISC-V (QEMU)",
            "",
            "",
            "iperf3://QEMU",
            PROCESSOR,
        )
    },
    Case {
        place: Place::Simulated,
        words: "half-duplex line of 10 Mbit/s",
        ..relayed(
            "half duplex, both directions (simulated board)",
            "",
            "",
            "iperf2://BOARD",
            &["path-rate"],
        )
    },
    relayed(
        "full duplex, both directions",
        "--both delay=1ms,rate=20M,queue=100",
        "iperf -s",
        "iperf2://10.0.0.2",
        &["path-rate"],
    ),
];
