use super::*;
use proptest::prelude::*;

fn error(text: &str) -> String {
    let error = text.parse::<Impairment>().expect_err(text);
    error.to_string()
}

#[test]
fn every_setting_can_be_written() {
    let text = "spare=20,loss=1%, burst_loss=0.5%/20%,bit_errors=1e-6,corrupt=1e-7,duplicate=0.5%,\
                reorder=1%/3,delay=5ms,jitter=1ms,overtake=yes,rate=10M,queue=50";
    let all: Impairment = text.parse().expect("settings");
    let expected = Impairment {
        spare: 20,
        loss: 0.01,
        burst_loss: Some(BurstLoss {
            enter: 0.005,
            leave: 0.2,
            loss: 1.0,
        }),
        bit_errors: 1e-6,
        corrupt: 1e-7,
        duplicate: 0.005,
        reorder: Some(Reorder { share: 0.01, by: 3 }),
        delay_ns: 5_000_000,
        jitter_ns: 1_000_000,
        overtake: true,
        rate_bits_per_s: Some(10_000_000),
        queue: Some(Queue::Frames(50)),
    };
    assert_eq!(all, expected);
    for (_, example) in EXAMPLES {
        let with_a_delay = format!("delay=1s,{example}");
        let either = example.parse::<Impairment>();
        let either = either.or_else(|_| with_a_delay.parse());
        either.unwrap_or_else(|error| panic!("{example}: {error}"));
    }
    let octets: Impairment = "queue=64kB".parse().expect("settings");
    assert_eq!(octets.queue, Some(Queue::Octets(64_000)));
    assert_eq!("".parse(), Ok(Impairment::default()));
}

#[test]
fn errors_name_the_setting_and_its_valid_values() {
    for (text, expected) in [
        (
            "los=1%",
            "unknown setting `los` (did you mean `loss`?); settings are spare, loss,",
        ),
        ("loss", "`loss` has no value; example: `loss=1%`"),
        ("loss=", "`loss=` has no value; example: `loss=1%`"),
        (
            "delay=5",
            "invalid value `5` for `delay`; example: `delay=5ms`",
        ),
        (
            "overtake=maybe",
            "invalid value `maybe` for `overtake`; example: ",
        ),
        ("loss=1%,loss=2%", "`loss` is given more than once"),
        ("loss=101%", "`loss` cannot be 101%: the range is 0 to 100%"),
        (
            "reorder=51%",
            "`reorder` cannot be 51%: the range is 0 to 50%",
        ),
        (
            "reorder=1%/0",
            "`reorder` cannot be by 0 frames: the range is 1 to 1000 frames",
        ),
        (
            "jitter=1ms",
            "`jitter` cannot be 1ms: the maximum is the delay",
        ),
        ("delay=61s", "`delay` cannot be 61s: the maximum is 60s"),
        (
            "rate=0",
            "`rate` cannot be 0: the range is 1 bit/s to 100G bit/s",
        ),
        (
            "corrupt=0.5",
            "`corrupt` cannot be 50%: the maximum is 10% of the bits",
        ),
        (
            "burst_loss=1%",
            "invalid value `1%` for `burst_loss`; example: ",
        ),
    ] {
        let error = error(text);
        assert!(error.starts_with(expected), "{text}: {error}");
    }
}

#[test]
fn applying_settings_changes_only_those_given() {
    let mut impairment: Impairment = "rate=10M,loss=1%".parse().expect("settings");
    impairment.apply("loss=2%,delay=1ms").expect("settings");
    assert_eq!(impairment.to_string(), "loss=2%,delay=1ms,rate=10M");
    // A failed call changes nothing.
    impairment.apply("loss=3%,delay=x").expect_err("no delay");
    assert_eq!(impairment.to_string(), "loss=2%,delay=1ms,rate=10M");
}

#[test]
fn mean_burst_loss_follows_from_its_settings() {
    let burst: Impairment = "burst_loss=1%/19%/50%".parse().expect("settings");
    let share = burst.burst_loss.expect("a burst").mean_loss();
    assert!((share - 0.025).abs() < 1e-12, "{share}");
}

prop_compose! {
    pub fn any_impairment()(
        spare in prop_oneof![Just(0), 0..50_u64],
        [loss, duplicate] in [0.0..=1.0_f64, 0.0..=1.0],
        [bit_errors, corrupt] in [0.0..=1e-3_f64, 0.0..=1e-3],
        burst_loss in proptest::option::of((0.0..=1.0_f64, 0.0..=1.0_f64, 0.0..=1.0_f64)),
        reorder in proptest::option::of((0.0..=0.5_f64, 1..=8_u32)),
        delay_ns in 0..20_000_000_u64,
        jitter in 0.0..=1.0_f64,
        overtake: bool,
        rate_bits_per_s in proptest::option::of(100_000..10_000_000_000_u64),
        queue in proptest::option::of(prop_oneof![
            (0..60_u64).prop_map(Queue::Frames), (0..60_000_u64).prop_map(Queue::Octets),
        ]),
    ) -> Impairment {
        Impairment {
            spare, loss, bit_errors, corrupt, duplicate, delay_ns, overtake, rate_bits_per_s, queue,
            burst_loss: burst_loss.map(|(enter, leave, loss)| BurstLoss { enter, leave, loss }),
            reorder: reorder.map(|(share, by)| Reorder { share, by }),
            jitter_ns: (delay_ns as f64 * jitter) as u64,
        }
    }
}

proptest! {
    #[test]
    fn text_and_json_preserve_every_setting(impairment in any_impairment()) {
        prop_assert_eq!(impairment.validate(), Ok(()));
        prop_assert_eq!(impairment.to_string().parse(), Ok(impairment.clone()));
        let json = serde_json::to_string(&impairment).expect("JSON");
        let again: Impairment = serde_json::from_str(&json).expect("settings");
        let close = |a: f64, b: f64| (a - b).abs() <= 1e-12;
        prop_assert!(close(again.loss, impairment.loss) && close(again.corrupt, impairment.corrupt));
        prop_assert_eq!(again.queue, impairment.queue);
        prop_assert_eq!(again.delay_ns, impairment.delay_ns);
    }

    #[test]
    fn no_text_panics(text in "[a-z_=%/,.0-9 -]{0,40}") {
        if let Ok(impairment) = text.parse::<Impairment>() {
            prop_assert_eq!(impairment.validate(), Ok(()));
        }
    }
}
