//! The iperf 2 client and a server that sends anything.
#![no_main]

use linerate_agent::iperf2::{
    Amount, Client, DatagramHeader, Plan, Progress, Report, ReturnTest, Test,
};
use linerate_fuzz::{Result, Rules, SendRule, Unstructured, play, server};
use std::time::Duration;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    // An input that is too short is skipped.
    let _ = run(&mut Unstructured::new(data));
});

fn run(input: &mut Unstructured) -> Result<()> {
    let udp = input.arbitrary()?;
    let test = Test {
        port: input.arbitrary()?,
        buffer_octets: input.arbitrary()?,
        amount: if input.arbitrary()? {
            Amount::Octets(input.arbitrary()?)
        } else {
            Amount::Span(Duration::from_millis(input.arbitrary::<u32>()?.into()))
        },
        rate_bits_per_s: input.arbitrary()?,
        return_test: match input.arbitrary::<u8>()? % 4 {
            0 | 1 => ReturnTest::No,
            2 => ReturnTest::AfterTest,
            _ => ReturnTest::Simultaneous,
        },
        reverse: input.arbitrary()?,
        full_duplex: input.arbitrary()?,
    };
    let plan = Plan {
        to: server(),
        udp,
        test,
        timeout: Duration::from_millis(input.arbitrary::<u16>()?.into()),
    };
    let mut data = vec![0; 100];
    DatagramHeader::emit(1, Default::default(), &mut data);
    let mut last = vec![0; 100];
    DatagramHeader::emit(-2, Default::default(), &mut last);
    let rules = Rules {
        send_rule: SendRule::OnlyTo(server().ip()),
        forgets_within: None,
        phrases: &[&data, &last, &[0; 1000]],
        answer: report,
    };
    let mut client = Client::new(plan);
    play(&mut client, &rules, input, |client, now| {
        let _ = client.outcome(now);
        client.progress(now) != Progress::Running
    });
    Ok(())
}

/// A server's answer to the datagram that ends a stream.
fn report(octets: &[u8]) -> Vec<u8> {
    let mut answer = octets.to_vec();
    Report::default().emit(&mut answer);
    answer
}
