//! Each field of a scenario that describes the line changes the signal at the device.

use serde::de::DeserializeOwned;
use toml::Table;

use super::*;
use crate::peer::{Generator, generator};

/// A table of a scenario, its base content, and each of its fields with another value.
struct Fields {
    table: &'static str,
    base: &'static str,
    changes: &'static [&'static str],
}

/// All tables. The traffic is short frames at line rate; a silent device receives the first
/// milliseconds.
const ALL: [Fields; 4] = [
    Fields {
        table: "wire",
        base: "",
        changes: &[
            "clock_ppm = 100",
            "drift_ppm_per_s = 1000",
            "jitter_ns = 13.5",
            "duty_cycle_distortion_ns = 13.5",
            "noise = { pulses_per_s = 10_000, width_ns = 20 }",
            "lost_preamble_bits = 5",
            "dribble_bits = 7",
            "swapped_polarity = true",
            "bit_error_rate = 0.001",
            "flap = { every_ms = 10, down_ms = 5 }",
        ],
    },
    Fields {
        table: "partner",
        base: "advertise = [\"10base-t-half\"]\npulses = \"flp\"\nlink_test = true",
        changes: &[
            "advertise = [\"10base-t-half\", \"100base-tx-full\"]",
            "next_page = true",
            "remote_fault = true",
            "pulses = \"nlp\"",
        ],
    },
    Fields {
        table: "hub",
        base: "stations = 1\nframe_octets = 100",
        changes: &[
            "stations = 2",
            "offered_load = 0.3",
            "frame_octets = 1000",
            "destination = \"broadcast\"",
        ],
    },
    Fields {
        table: "traffic",
        base: "",
        changes: &[
            "from_ms = 3",
            "for_ms = 5",
            "frames = 10",
            "frame_octets = 65",
            "gap_bits = 47",
            "load = 0.5",
            "destination = \"foreign\"",
            "case = \"runts\"",
            "babble_ms = 10",
        ],
    },
];
/// On a tested link a silent device receives pulses only, so this field has a separate test.
const APART: &str = "link_test";

/// The table called `name` of `tables`.
fn table<T: DeserializeOwned>(tables: &Table, name: &str) -> T {
    let table = tables.get(name).cloned();
    let table = table.unwrap_or_else(|| Table::new().into());
    table.try_into().expect("a table of a scenario")
}

/// The edges that a silent device receives in 20 ms.
fn edges(tables: &Table) -> Vec<(Instant, bool)> {
    let mut partner: Partner = table(tables, "partner");
    // An unplugged cable must have no effect other than the missing frames.
    partner.link_test.get_or_insert(false);
    let config = Config {
        duplex: Duplex::Auto,
        impairments: table(tables, "wire"),
        partner,
        hub: table(tables, "hub"),
        seed: 3,
        ..Config::default()
    };
    let traffic: generator::Config = table(tables, "traffic");
    let mut link = Link::new(config, Generator::new(&traffic));
    let mut seen = Vec::new();
    let mut last = Instant::ZERO;
    loop {
        let edge = link.next_edge(last);
        let at = edge.min(link.deadline());
        if at > us(20_000) {
            return seen;
        }
        if at == edge {
            seen.push((edge, link.level(edge)));
            last = edge;
        } else {
            link.poll(at);
        }
    }
}

fn with(fields: &Fields, field: Option<&str>) -> Vec<(Instant, bool)> {
    let mut inner: Table = toml::from_str(fields.base).expect("a base");
    inner.extend(toml::from_str::<Table>(field.unwrap_or("")).expect("a field"));
    let mut tables = Table::new();
    tables.insert(fields.table.into(), inner.into());
    edges(&tables)
}

#[test]
fn every_field_has_an_effect() {
    for fields in &ALL {
        let before = with(fields, None);
        assert_eq!(before, with(fields, None), "{}", fields.table);
        for field in fields.changes {
            assert_ne!(
                before,
                with(fields, Some(field)),
                "{}: {field}",
                fields.table
            );
        }
    }
}

#[test]
fn a_partner_that_tests_its_link_sends_no_frame_to_a_silent_device() {
    let fields = Fields {
        table: "partner",
        base: "",
        changes: &[],
    };
    let frames = |field| with(&fields, Some(field)).len();
    assert!(frames("link_test = false") > 10_000);
    // One link pulse.
    assert_eq!(frames("link_test = true"), 2);
}

/// The field names that a table accepts, from its error for an unknown one.
fn names<T: DeserializeOwned>() -> Vec<String> {
    let Err(error) = toml::from_str::<T>("nonesuch = 1") else {
        return Vec::new();
    };
    let message = error.message().to_owned();
    let known = message.split("expected one of").nth(1).unwrap_or_default();
    let mut names: Vec<_> = known
        .split('`')
        .skip(1)
        .step_by(2)
        .map(str::to_owned)
        .collect();
    names.sort();
    names
}

#[test]
fn every_field_is_listed_above() {
    for (at, known) in [
        names::<Impairments>(),
        names::<Partner>(),
        names::<Hub>(),
        names::<generator::Config>(),
    ]
    .iter()
    .enumerate()
    {
        let fields = ALL[at]
            .changes
            .iter()
            .filter_map(|field| field.split(' ').next());
        let mut listed: Vec<&str> = fields.collect();
        if known.iter().any(|name| name == APART) {
            listed.push(APART);
        }
        listed.sort_unstable();
        assert_eq!(*known, listed, "{}", ALL[at].table);
    }
}
