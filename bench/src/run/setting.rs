//! The conditions of a run, as recorded in results.

use linerate_results::record::{Conditions, Duplex, Setting};
use linerate_sim::wire::config::{self, Impairments};
use serde_json::Value;

use crate::scenario::{Environment, Run};

/// The setting of results of `run` in `environment`.
pub fn of(run: &Run, environment: &Environment) -> Setting {
    let Environment {
        peer, wire, hub, ..
    } = environment;
    let advertise = serde_json::to_value(environment.partner.advertise).unwrap_or_default();
    let names = advertise.as_array().into_iter().flatten();
    let conditions = Conditions {
        turnaround_ns: peer.turnaround_us * 1_000,
        turnaround_jitter_ns: peer.turnaround_jitter_us * 1_000,
        background_arp_ms: peer.background_arp_ms,
        disregards_sack_blocks: Some(peer.disregard_sack_blocks),
        wire: impairments(wire),
        hub_stations: u64::from(hub.stations),
        hub_offered_load: (hub.stations > 0).then_some(hub.offered_load),
        partner: names.filter_map(Value::as_str).map(str::to_owned).collect(),
    };
    Setting {
        variant: run.variant.clone(),
        run: run.name.clone(),
        duplex: duplex(environment.duplex),
        cell: None,
        notes: Vec::new(),
        conditions,
    }
}

/// The configured duplex; a link with auto-negotiation is half duplex until it is resolved.
pub const fn duplex(asked: config::Duplex) -> Duplex {
    match asked {
        config::Duplex::Half | config::Duplex::Auto => Duplex::Half,
        config::Duplex::Full => Duplex::Full,
    }
}

/// Every nonzero impairment by its name, with parts of a table after a dot.
fn impairments(wire: &Impairments) -> std::collections::BTreeMap<String, f64> {
    let mut found = std::collections::BTreeMap::new();
    let value = serde_json::to_value(wire).unwrap_or_default();
    collect("", &value, &mut found);
    found
}

fn collect(name: &str, value: &Value, found: &mut std::collections::BTreeMap<String, f64>) {
    let number = match value {
        Value::Object(parts) => {
            for (part, value) in parts {
                let dot = if name.is_empty() { "" } else { "." };
                collect(&format!("{name}{dot}{part}"), value, found);
            }
            return;
        }
        Value::Bool(yes) => f64::from(u8::from(*yes)),
        value => value.as_f64().unwrap_or(0.0),
    };
    if number != 0.0 {
        found.insert(name.to_owned(), number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_impairments_are_recorded() {
        let mut environment = Environment::default();
        let run = Run {
            name: "a".to_owned(),
            variant: "windowed".to_owned(),
            environment: environment.clone(),
            plans: Vec::new(),
            profile: false,
        };
        assert!(of(&run, &environment).conditions.wire.is_empty());
        environment.wire.clock_ppm = -100.0;
        environment.wire.noise.width_ns = 20.0;
        environment.wire.swapped_polarity = true;
        environment.partner.advertise = vec![config::Ability::TenHalf].into();
        let conditions = of(&run, &environment).conditions;
        let wire: Vec<(&str, f64)> = conditions
            .wire
            .iter()
            .map(|(k, v)| (k.as_str(), *v))
            .collect();
        assert_eq!(
            wire,
            [
                ("clock_ppm", -100.0),
                ("noise.width_ns", 20.0),
                ("swapped_polarity", 1.0)
            ]
        );
        assert_eq!(conditions.partner, ["10base-t-half"]);
    }
}
