//! The report of a capture: the JSON of `linerate explain --json`.

use linerate_capture::traffic::{
    ConnectionReport, Counts, OtherConnections, Path, Station, TracedConnection, Traffic,
    UdpStreamReport, traced_connections,
};
use serde::Serialize;

use crate::cause::{self, PathFinding};

/// What captures tell.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Version of this format.
    pub schema: u32,
    /// What was read.
    pub captures: Vec<Source>,
    /// When the first packet was captured: nanoseconds since 1970.
    pub start_ns: u64,
    /// From there to the last.
    pub duration_ns: u64,
    /// Packets by kind.
    pub packets: Counts,
    /// Who sent frames, on Ethernet.
    pub stations: Vec<Station>,
    /// TCP connections in the order of their first packets.
    pub connections: Vec<ConnectionReport>,
    /// The sum of those that there were too many of to be told one by one.
    pub other_connections: OtherConnections,
    /// UDP streams of iperf 2 and iperf 3, in the order of their first packets.
    pub udp_streams: Vec<UdpStreamReport>,
    /// How many more there were.
    pub other_udp_streams: u64,
    /// Why it is slow, what cost the most time first.
    pub findings: Vec<PathFinding>,
    /// Connections over time, if [pictures](linerate_capture::traffic::Traffic::with_traces) were asked for, what cost most first.
    #[serde(skip)]
    pub pictures: Vec<TracedConnection>,
}

/// A capture that was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Source {
    /// Its file.
    pub file: String,
    /// Packets read.
    pub packets: u64,
    /// What kept it from being read to its end.
    pub fault: Option<String>,
}

impl Report {
    /// The report of `traffic`, which was read from `captures`.
    pub fn of(traffic: Traffic, captures: Vec<Source>) -> Self {
        let analysis = traffic.finish();
        let start_ns = analysis.start_ns;
        let paths = Path::from_flows(&analysis.flows);
        let mut findings = cause::of_traffic(&analysis.counts, analysis.duration_ns, &paths);
        for finding in &mut findings {
            cause::name_packets(finding, &paths, analysis.broadcasts, analysis.pauses);
        }
        findings.extend(cause::of_udp_streams(&analysis.udp_streams));
        drop(paths);
        let pictures = traced_connections(&analysis.flows);
        // Each flow is freed as soon as it is reported: there may be thousands.
        let flows = analysis.flows.into_iter();
        let connections = flows.map(|flow| ConnectionReport::new(&flow, start_ns));
        let streams = analysis.udp_streams.iter();
        Self {
            schema: 1,
            captures,
            start_ns,
            duration_ns: analysis.duration_ns,
            packets: analysis.counts,
            stations: analysis.stations,
            connections: connections.collect(),
            other_connections: analysis.other_connections,
            udp_streams: streams
                .map(|stream| UdpStreamReport::new(stream, start_ns))
                .collect(),
            other_udp_streams: analysis.other_udp_streams,
            findings,
            pictures,
        }
    }
}
