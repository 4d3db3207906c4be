//! Description of a peer that lies or stalls.

/// The control connection of an iperf 3 server, up to the start of the test.
macro_rules! start {
    ($($step:expr),*) => {
        &[
            Read(COOKIE), Send(&[9]), ReadJson, Send(&[10]), Await(Event::StreamOpen),
            Send(&[1, 2]), Signal(Event::Started), $($step),*
        ]
    };
}

/// The same up to its results.
macro_rules! control {
    ($($step:expr),*) => {
        start!(Read(1), Signal(Event::Ended), Send(&[13]), ReadJson, $($step),*)
    };
}

/// Event of a test, for its other connections.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// The stream has its cookie (iperf 3), or the socket its hello.
    StreamOpen,
    /// The start was announced.
    Started,
    /// Data have arrived.
    HasData,
    /// The client has announced the end.
    Ended,
}

/// A step of a script on a TCP connection.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// Reads so many octets.
    Read(usize),
    /// Reads up to the empty line that ends the head of an HTTP request.
    ReadHead,
    /// Reads the body that the head announced.
    ReadBody,
    /// Reads JSON behind its length (iperf 3).
    ReadJson,
    /// Reads until the other end has no more.
    Drain,
    /// Reads for so many milliseconds.
    DrainFor(u64),
    /// Sends these octets.
    Send(&'static [u8]),
    /// Sends JSON behind its length (iperf 3).
    SendJson(&'static str),
    /// Sends a text so many times.
    Repeat(&'static [u8], usize),
    /// Sends these octets again and again, with so many milliseconds between, until the connection is gone.
    Forever(&'static [u8], u64),
    /// The same for so many milliseconds.
    SendFor(&'static [u8], u64),
    /// The same until the event.
    SendUntil(&'static [u8], Event),
    /// Waits for so many milliseconds without reading.
    Wait(u64),
    /// Waits for the event.
    Await(Event),
    /// Tells the other connections of the test.
    Signal(Event),
    /// Keeps the connection open without reading.
    Hang,
    /// Sends FIN, and keeps the other direction open.
    Finish,
    /// Sends RST.
    Reset,
}

/// Values of an iperf 2 report in place of the right ones.
#[derive(Clone, Copy, Debug, Default)]
pub struct Report {
    pub octets: Option<u64>,
    pub span_us: Option<u64>,
    pub lost: Option<i32>,
    pub out_of_order: Option<i32>,
    pub datagrams: Option<i32>,
    pub jitter_us: Option<u64>,
    /// Without the flag that marks a report.
    pub is_plain: bool,
}

/// Datagrams that the peer sends as an iperf 2 or iperf 3 server.
#[derive(Clone, Copy, Debug)]
pub struct Stream {
    /// Number of each, from its index.
    pub number: fn(i64) -> i64,
    /// So many; then the end, if any.
    pub count: i64,
    /// Between two of them: datagram `index` leaves `index` intervals after the first, however late others did.
    pub interval_ms: u64,
    /// Number that ends an iperf 2 stream.
    pub end: Option<i64>,
}

/// One reflected STAMP packet: what is sent back for it.
#[derive(Clone, Debug)]
pub struct Reflection {
    pub octets: Vec<u8>,
    pub copies: usize,
    pub delay_ms: u64,
    pub from_other_port: bool,
}

/// Behaviour on the UDP port.
#[derive(Clone, Copy, Debug)]
pub enum Datagrams {
    /// Nothing is answered.
    Ignored,
    /// iperf 2: the end of a stream is answered with a report.
    Reported(Report),
    /// iperf 2: a stream is sent after the first datagram.
    Streamed(Stream),
    /// iperf 3: a hello is answered, and nothing else.
    Greeted,
    /// iperf 3: a hello is answered, and a stream is sent.
    GreetedAndStreamed(Stream),
    /// STAMP: each packet is reflected as this function changes it.
    Reflected(fn(&mut Reflection)),
}

/// Exit codes of the command.
pub const MEASURED: i32 = 0;
pub const LIMIT: i32 = 1;
pub const FAILED: i32 = 3;

/// A peer, and the command that meets it.
#[derive(Clone, Copy, Debug)]
pub struct Behaviour {
    pub name: &'static str,
    /// `test iperf3 -R`: the command, the scheme with the path, and arguments, in which `{port}` is the peer's.
    pub command: &'static str,
    /// Scripts of successive connections, which begin again after the last one.
    pub connections: &'static [&'static [Step]],
    pub datagrams: Datagrams,
    pub exit: i32,
    /// Text that the outputs contain.
    pub contains: &'static str,
}

impl Behaviour {
    pub const fn tcp(
        name: &'static str,
        command: &'static str,
        connections: &'static [&'static [Step]],
        exit: i32,
        contains: &'static str,
    ) -> Self {
        Self {
            name,
            command,
            connections,
            datagrams: Datagrams::Ignored,
            exit,
            contains,
        }
    }

    pub const fn udp(
        name: &'static str,
        command: &'static str,
        datagrams: Datagrams,
        exit: i32,
        contains: &'static str,
    ) -> Self {
        Self {
            name,
            command,
            connections: &[],
            datagrams,
            exit,
            contains,
        }
    }
}
