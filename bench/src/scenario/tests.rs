use proptest::prelude::*;

use super::*;

const GOOD: &str = r#"schema = 1
name = "niccle"
board = "esp32c6-bitbang"
duplex = "half"
seed = 7

[peer]
turnaround_us = 100

[[run]]
variant = "windowed"
ping = { count = 10 }
http_get = { bytes = [10_000], requests = 5 }

[[expect]]
variant = "windowed"
bytes = 10_000
frame_loss_rate_max = 0.0
"#;

fn error(text: &str) -> String {
    Scenario::parse(text, "x.toml")
        .expect_err("must be refused")
        .to_string()
}

#[test]
fn whole_scenario_is_read() {
    let scenario = Scenario::parse(GOOD, "x.toml").expect("valid");
    assert_eq!(scenario.seed, 7);
    assert_eq!(scenario.duplex, Duplex::Half);
    assert_eq!(
        scenario.peer,
        Peer {
            turnaround_us: 100,
            turnaround_jitter_us: 0,
            background_arp_ms: 0,
            disregard_sack_blocks: false,
        }
    );
    assert_eq!(
        scenario.runs[0].http_get.as_ref().expect("a plan").bytes,
        [10_000]
    );
    assert_eq!(scenario.expect[0].frame_loss_rate_max, Some(0.0));
}

#[test]
fn the_scenarios_that_come_with_it_are_valid() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../scenarios");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).expect("there are scenarios") {
        let path = entry.expect("readable").path();
        if path
            .extension()
            .is_some_and(|extension| extension == "toml")
        {
            let text = std::fs::read_to_string(&path).expect("readable");
            let scenario = Scenario::parse(&text, &path.to_string_lossy())
                .unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(
                path.file_stem().and_then(|stem| stem.to_str()),
                Some(scenario.name.as_str())
            );
            seen += 1;
        }
    }
    assert!(seen > 0);
}

#[test]
fn mistakes_are_named_with_file_line_and_nearest_name() {
    let cases = [
        GOOD.replace("duplex =", "duplx ="),
        GOOD.replace("\"half\"", "\"hlaf\""),
        GOOD.replace("esp32c6-bitbang", "esp32c6-bitbagn"),
        GOOD.replacen("\"windowed\"", "\"window\"", 1),
        GOOD.replace("count = 10", "cuont = 10"),
        GOOD.replace("count = 10", "count = 0"),
        GOOD.replace("count = 10", "count = \"ten\""),
        GOOD.replace("[10_000], requests", "[], requests"),
        GOOD.replace("requests = 5", "requests = 0"),
        GOOD.replace("seed = 7", "seed = -7"),
        GOOD.replace("schema = 1", "schema = 2"),
        GOOD.replace("\"niccle\"", "\"../niccle\""),
        GOOD.replace(
            "[[expect]]\nvariant = \"windowed\"",
            "[[expect]]\nvariant = \"isr-all\"",
        ),
        GOOD.replace(
            "[[run]]",
            "[[run]]\nvariant = \"windowed\"\nping = { count = 1 }\n\n[[run]]",
        ),
        GOOD.replace(
            "ping = { count = 10 }\nhttp_get = { bytes = [10_000], requests = 5 }\n",
            "",
        ),
        GOOD.replace("[peer]", "[peer"),
        "schema = 1\nname = \"x\"\nboard = \"esp32c6-bitbang\"\nrun = []\n".to_owned(),
        String::new(),
    ];
    let errors: Vec<String> = cases.iter().map(|text| error(text)).collect();
    insta::assert_snapshot!(errors.join("\n"));
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,200}") {
        let _ = Scenario::parse(&text, "x.toml");
    }

    #[test]
    fn a_cut_scenario_is_read_or_refused(end in 0..GOOD.len()) {
        let _ = Scenario::parse(&GOOD[..end], "x.toml");
    }
}
