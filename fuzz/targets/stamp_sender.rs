//! The STAMP sender and a reflector that sends anything.
#![no_main]

use linerate_agent::stamp::{Clock, LEN, Plan, Probe, Reflection, Sender};
use linerate_fuzz::{Result, Rules, SendRule, Unstructured, play, server};
use std::time::Duration;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    // An input that is too short is skipped.
    let _ = run(&mut Unstructured::new(data));
});

fn run(input: &mut Unstructured) -> Result<()> {
    let synchronised: bool = input.arbitrary()?;
    let plan = Plan {
        to: server(),
        count: input.arbitrary::<u16>()?.into(),
        interval: Duration::from_micros(input.arbitrary::<u32>()?.into()),
        octets: input.arbitrary::<u16>()?.into(),
        timeout: Duration::from_millis(input.arbitrary::<u16>()?.into()),
        clock: if synchronised {
            Clock::synchronised(input.arbitrary()?, Duration::from_nanos(input.arbitrary()?))
        } else {
            Clock::free(Duration::from_nanos(input.arbitrary()?))
        },
        stateful: input.arbitrary()?,
        session: input.arbitrary()?,
    };
    let rules = Rules {
        send_rule: SendRule::OnlyTo(server().ip()),
        forgets_within: None,
        phrases: &[&[0; LEN], &[0xff; LEN]],
        answer: reflected,
    };
    let mut sender = Sender::<4>::new(plan);
    play(&mut sender, &rules, input, |sender, now| {
        while sender.take_sample().is_some() {}
        let outcome = sender.outcome();
        let lost = outcome.loss.forward + outcome.loss.backward + outcome.loss.unknown;
        assert_eq!(outcome.sent, outcome.answered + lost, "{outcome:?}");
        sender.is_done(now)
    });
    Ok(())
}

/// A reflector's answer to a packet.
fn reflected(octets: &[u8]) -> Vec<u8> {
    let mut answer = octets.to_vec();
    if let Some(probe) = Probe::parse(octets) {
        let reflection = Reflection {
            number: probe.number,
            sent: probe.sent,
            error: probe.error,
            received: probe.sent,
            probe,
            ttl: 64,
        };
        reflection.emit(&mut answer);
    }
    answer
}
