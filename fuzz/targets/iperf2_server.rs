//! The iperf 2 server and hostile clients.
#![no_main]

use linerate_agent::iperf2::{Amount, DatagramHeader, PORT, ReturnTest, Server, Test};
use linerate_fuzz::{Result, Rules, Unstructured, limits, play};
use std::time::Duration;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    // An input that is too short is skipped.
    let _ = run(&mut Unstructured::new(data));
});

fn run(input: &mut Unstructured) -> Result<()> {
    let sends_datagrams = input.arbitrary()?;
    let (streams, datagrams) = requests();
    let phrases: Vec<&[u8]> = streams
        .iter()
        .chain(&datagrams)
        .map(Vec::as_slice)
        .collect();
    let rules = Rules::of_iperf_server(sends_datagrams, &phrases);
    let mut server = Server::<4>::new(PORT, limits(sends_datagrams));
    play(&mut server, &rules, input, |server, _| {
        while server.take_finished().is_some() {}
        false
    });
    Ok(())
}

/// Clients' requests for each kind of test, over TCP and over UDP; over UDP also the end of a stream.
fn requests() -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let (mut streams, mut datagrams) = (Vec::new(), Vec::new());
    let kinds = [
        (ReturnTest::No, false, false),
        (ReturnTest::AfterTest, false, false),
        (ReturnTest::Simultaneous, false, false),
        (ReturnTest::No, true, false),
        (ReturnTest::No, false, true),
    ];
    for (back, reverse, full_duplex) in kinds {
        for amount in [Amount::Octets(5000), Amount::Span(Duration::from_secs(2))] {
            let test = Test {
                port: 40_001,
                buffer_octets: 200,
                amount,
                rate_bits_per_s: 100_000,
                return_test: back,
                reverse,
                full_duplex,
            };
            let mut stream = vec![0; Test::LEN];
            test.emit(&mut stream, false);
            streams.push(stream);
            let mut datagram = vec![0; 200];
            DatagramHeader::emit(1, Default::default(), &mut datagram);
            test.emit(&mut datagram[DatagramHeader::LEN..], true);
            datagrams.push(datagram);
        }
    }
    for (number, len) in [(2, 100), (-3, 100), (-3, 12), (0, 12), (0, 56)] {
        let mut datagram = vec![0; len];
        DatagramHeader::emit(number, Default::default(), &mut datagram);
        datagrams.push(datagram);
    }
    (streams, datagrams)
}
