//! The throttled links: how each is made, and the causes that are right for it.
//!
//! They are made by other means than linerate's where the system has one: stock iperf with its own buffers, `tc tbf`,
//! nftables, programs in Python. The relay adds delay, loss and a rate.

/// A throttled link.
pub(super) struct Case {
    /// Its name.
    pub(super) name: &'static str,
    /// Arguments of `linerate relay`.
    pub(super) link: &'static str,
    /// Shell command of the device, in the right namespace.
    pub(super) device: &'static str,
    /// Shell commands before the test, in the left namespace; `RIGHT` is the name of the other one.
    pub(super) before: &'static str,
    /// Arguments of `linerate test`.
    pub(super) test: &'static str,
    /// Causes that are right, as in results.
    pub(super) causes: &'static [&'static str],
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

/// All of them.
pub(super) const CASES: &[Case] = &[
    Case {
        name: "window of the device",
        link: "--both delay=10ms",
        device: "iperf -s -w 8K",
        before: "",
        test: "iperf2://10.0.0.2 --forward",
        causes: &["receive-window"],
    },
    Case {
        name: "window on a long path",
        link: "--both delay=50ms",
        device: "iperf -s -w 64K",
        before: "",
        test: "iperf2://10.0.0.2 --forward",
        causes: &["receive-window"],
    },
    Case {
        name: "rate, to the device",
        link: "--forward delay=1ms,rate=8500k,queue=100 --backward delay=1ms",
        device: "iperf3 -s",
        before: "",
        test: "iperf3://10.0.0.2 --forward",
        causes: &["path-rate"],
    },
    Case {
        name: "rate, from the device",
        link: "--forward delay=1ms --backward delay=1ms,rate=8500k,queue=100",
        device: "iperf3 -s",
        before: "",
        test: "iperf3://10.0.0.2 -R",
        causes: &["path-rate"],
    },
    Case {
        name: "shaper (tc tbf)",
        link: "--both delay=2ms",
        device: "iperf3 -s",
        before: "tc qdisc add dev eth0 root tbf rate 20mbit burst 10kb latency 50ms;",
        test: "iperf3://10.0.0.2 --forward",
        causes: &["path-rate"],
    },
    Case {
        name: "loss, to the device",
        link: "--both delay=5ms --forward loss=1%,delay=5ms",
        device: "iperf3 -s",
        before: "",
        test: "iperf3://10.0.0.2 --forward",
        causes: &["random-loss"],
    },
    Case {
        name: "policer (nftables)",
        link: "--both delay=5ms",
        device: "iperf3 -s",
        before: POLICER,
        test: "iperf3://10.0.0.2 --forward",
        causes: &["policed", "shallow-queue"],
    },
    Case {
        name: "slow server",
        link: "--both delay=2ms",
        device: SLOW_SERVER,
        before: "",
        test: "http://10.0.0.2/file -R",
        causes: &["server-think-time"],
    },
    Case {
        name: "slow reader",
        link: "--both delay=2ms",
        device: SLOW_READER,
        before: "",
        test: "iperf2://10.0.0.2 --forward",
        causes: &["receiver-reads-slowly"],
    },
    Case {
        name: "line of 100 Mbit/s",
        link: "--both delay=200us,rate=100M,queue=200",
        device: "iperf3 -s",
        before: "",
        test: "iperf3://10.0.0.2 --forward",
        causes: &["path-rate", "at-line-rate"],
    },
];
