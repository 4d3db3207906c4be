use super::*;

#[test]
fn impairments_are_read_from_a_scenario() {
    let text = r"
        clock_ppm = 100
        jitter_ns = 13.5
        noise = { pulses_per_s = 10, width_ns = 20 }
        flap = { every_ms = 1000, down_ms = 200 }
    ";
    let read: Impairments = toml::from_str(text).unwrap();
    assert_eq!((read.clock_ppm, read.jitter_ns), (100.0, 13.5));
    assert_eq!(read.check(), Ok(()));
    assert_eq!(toml::from_str(""), Ok(Impairments::default()));
    let error = toml::from_str::<Impairments>("jiter_ns = 3").unwrap_err();
    assert!(error.to_string().contains("jitter_ns"), "{error}");
}

#[test]
fn a_field_out_of_range_is_named() {
    let jitter = |jitter_ns, duty_cycle_distortion_ns| Impairments {
        jitter_ns,
        duty_cycle_distortion_ns,
        ..Impairments::default()
    };
    assert_eq!(jitter(24.0, 0.0).check(), Ok(()));
    let error = jitter(20.0, 13.5).check().unwrap_err();
    assert_eq!(
        error.to_string(),
        "jitter_ns is 20: it must be between 0 and 17.75"
    );
    assert!(jitter(f64::NAN, 0.0).check().is_err());
    let text = "stations = 40";
    let hub = toml::from_str(text).unwrap();
    let config = Config {
        hub,
        ..Config::default()
    };
    assert_eq!(config.check().unwrap_err().field, "hub.stations");
}

#[test]
fn a_partner_that_advertises_any_ability_negotiates() {
    let read = |text| toml::from_str::<Partner>(text).unwrap();
    assert_eq!(read("").pulses(), Pulses::Nlp);
    let both = read(r#"advertise = ["10base-t-half", "100base-tx-full"]"#);
    assert_eq!(both.pulses(), Pulses::Flp);
    assert_eq!(
        both.advertise.bits(),
        LinkCodeWord::TEN_HALF | LinkCodeWord::HUNDRED_FULL
    );
    assert_eq!(read(r#"pulses = "none""#).pulses(), Pulses::None);
    let written = toml::to_string(&both).unwrap();
    assert_eq!(read(&written), both);
}

#[test]
fn a_cable_is_unplugged_at_every_multiple_but_not_at_first() {
    let flap = Flap {
        every_ms: 100,
        down_ms: 10,
    };
    let down: Vec<_> = [0, 5, 99, 100, 109, 110, 200, 209, 210]
        .into_iter()
        .filter(|&ms| flap.is_down(Instant::ZERO + Span::from_ms(ms)))
        .collect();
    assert_eq!(down, [100, 109, 200, 209]);
}
