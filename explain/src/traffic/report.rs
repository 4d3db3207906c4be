//! The report of a capture: the JSON of `linerate explain --json`.

use linerate_capture::traffic::{
    Analysis, ConnectionReport, Counts, OtherConnections, Station, TracedConnection, Traffic,
    UdpStreamReport, traced_connections,
};
use serde::Serialize;

use crate::cause::{self, PathFinding};

/// The analysis of one or more captures.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Version of this format.
    pub schema: u32,
    /// The captures that were read.
    pub captures: Vec<Source>,
    /// Time of the first packet: nanoseconds since 1970.
    pub start_ns: u64,
    /// From the first packet to the last.
    pub duration_ns: u64,
    /// Packets by kind.
    pub packets: Counts,
    /// Stations that sent frames, on Ethernet.
    pub stations: Vec<Station>,
    /// TCP connections in the order of their first packets.
    pub connections: Vec<ConnectionReport>,
    /// The sum of further connections, which are not listed.
    pub other_connections: OtherConnections,
    /// UDP streams of iperf 2 and iperf 3, in the order of their first packets.
    pub udp_streams: Vec<UdpStreamReport>,
    /// Number of further streams, which are not listed.
    pub other_udp_streams: u64,
    /// Why it is slow, largest share of the time first.
    pub findings: Vec<PathFinding>,
    /// What takes too little of the time to be the reason, largest share first.
    pub minor_findings: Vec<PathFinding>,
    /// Connections over time, if [pictures](linerate_capture::traffic::Traffic::with_traces) were requested,
    /// costliest first.
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
    /// The fault that stopped reading before the end.
    pub fault: Option<String>,
}

impl Report {
    /// The report of `traffic`, read from `captures`.
    pub fn of(traffic: Traffic, captures: Vec<Source>) -> Self {
        Self::of_analysis(traffic.finish(), captures)
    }

    pub(super) fn of_analysis(analysis: Analysis, captures: Vec<Source>) -> Self {
        let start_ns = analysis.start_ns;
        let mut explained = cause::explain_traffic(&analysis);
        let mut findings = std::mem::take(&mut explained.findings);
        cause::add_datagram_findings(&mut findings, &analysis);
        let pictures = traced_connections(&analysis.flows);
        // Each flow is freed as soon as it is reported: there may be thousands.
        let flows = analysis.flows.into_iter().zip(explained.times);
        let connections = flows.map(|(flow, time)| ConnectionReport::new(&flow, time, start_ns));
        let connections: Vec<ConnectionReport> = connections.collect();
        cause::calibrate(&mut findings, &connections);
        let minor_findings = cause::take_minor(&mut findings);
        let streams = cause::numbered_streams(&analysis.udp_streams);
        Self {
            schema: 1,
            captures,
            start_ns,
            duration_ns: analysis.duration_ns,
            packets: analysis.counts,
            stations: analysis.stations,
            connections,
            other_connections: analysis.other_connections,
            udp_streams: streams
                .map(|stream| UdpStreamReport::new(stream, start_ns))
                .collect(),
            other_udp_streams: analysis.other_udp_streams,
            findings,
            minor_findings,
            pictures,
        }
    }
}
