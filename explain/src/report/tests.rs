use std::collections::BTreeMap;

use super::*;
use crate::sample::{self, published};
use linerate_results::record::{
    Direction, HttpGet, Ledger, Measurement, Provenance, Run, SCHEMA, Setting, SizeSweep,
    SizeSweepMetrics, SizeSweepParams, WindowSweep, WindowSweepMetrics, WindowSweepParams,
};

#[test]
fn page_is_whole_and_needs_nothing_else() {
    let page = html(&sample::run(), &published());
    for section in [
        "overview",
        "sizes",
        "ladder",
        "stages",
        "findings",
        "requests",
        "gap",
        "profile",
        "time",
        "ledger",
        "scope",
        "line",
        "others",
        "ping",
        "provenance",
    ] {
        assert!(
            page.contains(&format!("<section id=\"{section}\"")),
            "{section} is missing"
        );
    }
    assert!(page.contains("<svg class=\"scope zoom\" role=\"img\""));
    assert!(page.contains("flash.miss_ns"), "guesses are shown");
    // The script names the namespace of what it draws; nothing is fetched from there.
    let page = page.replace("http://www.w3.org/2000/svg", "");
    for forbidden in [
        "http://",
        "https://",
        "<script src",
        "fetch(",
        "url(",
        "@import",
    ] {
        assert!(
            !page.contains(forbidden),
            "{forbidden} would need the network"
        );
    }
    // Boxes within a chart have titles, charts have labels.
    let inner =
        page.matches("<svg class=\"f h").count() + page.matches("<svg class=\"wave\"").count();
    assert_eq!(
        page.matches("<svg").count() - inner,
        page.matches("role=\"img\"").count()
    );
    assert_eq!(
        html(&sample::run(), &published()),
        html(&sample::run(), &published()),
        "the same record gives the same page"
    );
}

#[test]
fn text_of_a_record_is_escaped() {
    let mut run = sample::run();
    run.title = "<script>alert(1)</script>".into();
    run.provenance.host = "a & b".into();
    if let Some(Measurement::HttpGet(get)) = run.results.get_mut(1) {
        get.params.setting.variant = "\"><script>".into();
    }
    let page = html(&run, &published());
    assert_eq!(page.matches("<script").count(), 1, "markup from a record");
    assert!(page.contains("a &amp; b"));
}

#[test]
fn empty_run_is_still_a_page() {
    let run = Run {
        schema: SCHEMA,
        scenario: "empty".into(),
        title: String::new(),
        provenance: Provenance::default(),
        results: Vec::new(),
        findings: Vec::new(),
        not_measured: Vec::new(),
        failures: Vec::new(),
        profiles: BTreeMap::new(),
        frame_counts: BTreeMap::new(),
        matrix: None,
    };
    assert!(html(&run, &published()).contains("nothing was measured"));
    assert!(markdown(&run, &published()).starts_with("# empty"));
}

#[test]
fn a_page_without_downloads_shows_the_other_results() {
    let mut run = sample::run();
    run.results
        .retain(|result| matches!(result, Measurement::LossSurface(_)));
    let page = html(&run, &published());
    for section in [
        "overview", "sizes", "stages", "findings", "requests", "time", "ledger",
    ] {
        assert!(
            !page.contains(&format!("<section id=\"{section}\"")),
            "{section} is empty"
        );
    }
    assert!(!page.contains("Line rate is 0") && !page.contains("CRC-32"));
    let verdict = verdict(&run);
    assert!(
        verdict.ends_with("of 6,000 frames within the standard's clock offset and jitter."),
        "{verdict}"
    );
    assert!(page.contains("<i class=\"swatch loss0\"></i>none lost"));
}

#[test]
fn a_storm_alone_has_a_headline_of_its_own() {
    let mut run = sample::run();
    run.results
        .retain(|result| matches!(result, Measurement::Storm(_)));
    assert_eq!(
        verdict(&run),
        "niccle: windowed, storm of 892857 frames: 0 uncounted; then a ping after 0.9 ms, a \
         connection after 12.0 ms, the old one never."
    );
    let mut unnamed = run.clone();
    *unnamed.results[0].setting_mut() = Setting::default();
    assert!(verdict(&unnamed).starts_with("niccle: storm of 892857 frames"));
    let row = "<th scope=\"row\">storm</th><td>storm</td>";
    assert!(html(&unnamed, &published()).contains(row));
    let storm = run.results[0].clone();
    run.results = vec![storm; 5];
    assert!(verdict(&run).ends_with("; and 2 more results."));
}

#[test]
fn a_surface_beyond_the_standard_does_not_mention_the_standard() {
    let mut run = sample::run();
    run.results.retain(
        |result| matches!(result, Measurement::LossSurface(point) if point.params.jitter_ns > 20.0),
    );
    let page = html(&run, &published());
    assert!(!page.contains("0 of 0"), "{}", verdict(&run));
    assert!(!page.contains("within the standard"), "{}", verdict(&run));
    assert!(verdict(&run).starts_with("niccle: windowed, "));
}

#[test]
fn runs_of_one_variant_are_distinguished_by_their_names() {
    let mut run = sample::run();
    run.results.clear();
    for name in ["turnaround-0", "turnaround-200"] {
        let mut get = sample::get("windowed", 10_000);
        name.clone_into(&mut get.params.setting.run);
        run.results.push(Measurement::HttpGet(get));
    }
    run.results
        .push(Measurement::HttpGet(sample::get("zero-copy", 10_000)));
    let text = markdown(&run, &published());
    for name in ["turnaround-0", "turnaround-200", "zero-copy"] {
        assert_eq!(text.matches(&format!("\n| {name} |")).count(), 1, "{text}");
        assert_eq!(
            text.matches(&format!("\n- **{name}**: ")).count(),
            1,
            "{text}"
        );
    }
    assert!(!text.contains("| windowed |"), "{text}");
}

/// A run with a download of `bytes` by `variant` as the run `name`.
fn add_download(run: &mut Run, name: &str, variant: &str, bytes: u64) -> usize {
    let mut get = sample::get(variant, bytes);
    name.clone_into(&mut get.params.setting.run);
    run.results.push(Measurement::HttpGet(get));
    run.results.len() - 1
}

fn download(run: &mut Run, at: usize) -> &mut HttpGet {
    match &mut run.results[at] {
        Measurement::HttpGet(get) => get,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_headline_compares_downloads_of_one_size() {
    let mut run = sample::run();
    let headline = "The windowed firmware downloads 100 kB at 5.24 Mbit/s (655 kB/s), 55% of line rate, without losing a frame: 101 \
                    times as fast as isr-all. isr-all reaches 52 kbit/s (6.5 kB/s) and loses 41% of the frames.";
    assert_eq!(verdict(&run), headline);
    // Larger downloads of some stages change nothing.
    add_download(&mut run, "windowed", "windowed", 30_000_000);
    assert_eq!(verdict(&run), headline);
    // One stage alone is compared with nothing.
    run.results.retain(|result| result.variant() == "windowed");
    assert_eq!(
        verdict(&run),
        "The windowed firmware downloads 30 MB at 5.24 Mbit/s (655 kB/s), 55% of line rate, without losing a frame."
    );
}

#[test]
fn a_loss_at_another_size_is_in_the_headline() {
    let mut run = sample::run();
    run.results.clear();
    let small = add_download(&mut run, "windowed", "windowed", 10_000);
    add_download(&mut run, "windowed", "windowed", 100_000);
    let get = download(&mut run, small);
    get.ledger
        .lose(linerate_ether::ledger::DropCause::QueueFull, 1);
    get.metrics.frame_loss_rate = 0.013;
    let verdict = verdict(&run);
    assert!(
        verdict.ends_with("and loses 0% of the frames (1.3% at 10 kB)."),
        "{verdict}"
    );
}

#[test]
fn what_flatters_the_factor_is_beside_it() {
    let mut run = sample::run();
    run.results.clear();
    run.provenance.peer.disregards_sack_blocks = true;
    add_download(&mut run, "isr-all", "isr-all", 100_000);
    add_download(&mut run, "windowed", "windowed", 100_000);
    let text = verdict(&run);
    assert!(
        text.contains(
            ": 101 times as fast as isr-all where the peer ignores SACK blocks. isr-all reaches"
        ),
        "{text}"
    );
    assert!(
        text.ends_with("flatters the factor; no download with a peer that uses them was measured."),
        "{text}"
    );
    let with_sack = add_download(&mut run, "isr-all-sack", "isr-all", 100_000);
    let get = download(&mut run, with_sack);
    get.params.setting.conditions.disregards_sack_blocks = Some(false);
    get.metrics.goodput_bytes_per_s_p50 = 65_500.0;
    let headline = "101 times as fast as isr-all where the peer ignores SACK blocks, 10 times where it uses them.";
    let text = verdict(&run);
    assert!(text.contains(headline), "{text}");
    assert!(
        text.contains(
            "with a peer that uses SACK blocks (isr-all-sack) it reaches 524 kbit/s (65.5 kB/s)."
        ),
        "{text}"
    );
    assert!(html(&run, &published()).contains(&format!("{headline}</h1>")));
    // What was published is for the other peer.
    let row = markdown(&run, &published());
    let row = row
        .lines()
        .find(|line| line.starts_with("| isr-all-sack |"));
    assert!(
        row.is_some_and(|row| row.contains("| 65.5 kB/s | – | – |")),
        "{row:?}"
    );
}

#[test]
fn details_are_folded_below_an_overview_only() {
    let mut run = sample::run();
    let page = html(&run, &published());
    assert!(!page.contains("class=\"fold\"><details open>"));
    run.results
        .retain(|result| matches!(result, Measurement::LossSurface(_)));
    let page = html(&run, &published());
    assert!(page.contains("<section id=\"line\" class=\"fold\"><details open>"));
}

#[test]
fn each_verdict_is_printed_once() {
    let mut run = sample::run();
    let size = SizeSweep {
        params: SizeSweepParams::default(),
        metrics: SizeSweepMetrics::default(),
        ledger: Ledger::default(),
    };
    let window = WindowSweep {
        params: WindowSweepParams {
            direction: Direction::FromDevice,
            ..WindowSweepParams::default()
        },
        metrics: WindowSweepMetrics::default(),
        ledger: Ledger::default(),
    };
    run.results = vec![
        Measurement::SizeSweep(size),
        Measurement::WindowSweep(window),
    ];
    let summaries = crate::summary::all(&run);
    assert_eq!(summaries.len(), 2);
    for report in [html(&run, &published()), markdown(&run, &published())] {
        for summary in &summaries {
            assert_eq!(report.matches(&summary.verdict).count(), 1, "{report}");
        }
    }
}

#[test]
fn entries_of_a_legend_have_colours_of_their_own() {
    let page = html(&sample::run(), &published());
    for legend in page.split("<ul class=\"legend\">").skip(1) {
        let (legend, _) = legend.split_once("</ul>").expect("an end");
        let classes = legend.split("<i class=\"swatch ").skip(1);
        let mut classes: Vec<&str> = classes.filter_map(|it| it.split('"').next()).collect();
        let all = classes.len();
        classes.sort_unstable();
        classes.dedup();
        assert_eq!(classes.len(), all, "{legend}");
    }
}

/// The text of the page without styles and drawings, in order.
#[test]
fn text_of_the_page() {
    let page = html(&sample::run(), &published());
    let mut text = String::new();
    let mut skip: Option<&str> = None;
    for part in page.split('<').skip(1) {
        let (tag, rest) = part.split_once('>').unwrap_or((part, ""));
        let name = tag.split([' ', '/']).next().unwrap_or("");
        match skip {
            Some(end) if tag == end => skip = None,
            Some(_) => continue,
            None if name == "svg" => skip = Some("/svg"),
            None if name == "style" => skip = Some("/style"),
            None if name == "script" => skip = Some("/script"),
            None => {}
        }
        if skip.is_none() && !rest.trim().is_empty() {
            text.push_str(rest.trim());
            text.push(
                if tag.starts_with('h') || tag.starts_with('p') || tag == "/p" {
                    '\n'
                } else {
                    ' '
                },
            );
        }
        if tag == "/tr" || tag == "/p" || tag == "/li" {
            text.push('\n');
        }
    }
    insta::assert_snapshot!(text);
}

#[test]
fn markdown_summary() {
    insta::assert_snapshot!(markdown(&sample::run(), &published()));
}

/// This version writes the file in `results/tests/fixtures`: a change of the format shows there.
/// `LINERATE_BLESS=1` rewrites it.
#[test]
fn format_is_that_of_the_fixture() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../results/tests/fixtures/run.json"
    );
    let run = sample::run();
    if std::env::var_os("LINERATE_BLESS").is_some() {
        std::fs::write(path, run.to_json()).expect("the fixture can be written");
    }
    let text = std::fs::read_to_string(path).expect("the fixture is there");
    assert!(
        text == run.to_json(),
        "the format changed; if intended, set LINERATE_BLESS=1"
    );
    assert_eq!(Run::from_json(&text).expect("reads what it wrote"), run);
}

#[test]
fn limits_that_were_not_kept_and_no_tags_are_in_every_report() {
    let mut run = sample::run();
    run.title = "<script>alert(1)</script> & more".to_owned();
    run.failures = vec!["goodput of windowed is 5 kB/s, below <b>10 kB/s".to_owned()];
    let (page, text) = (html(&run, &published()), markdown(&run, &published()));
    for report in [&page, &text] {
        assert!(report.contains("goodput of windowed is 5 kB"));
    }
    assert!(text.contains("**Failed:** goodput of windowed"), "{text}");
    assert!(!page.contains("<script>alert") && !page.contains("below <b>"));
    assert!(text.contains("\\<script>alert(1)\\</script>"), "{text}");
    let junit = linerate_results::export::junit::junit(&run);
    assert!(junit.contains("failures=\"1\""), "{junit}");
}
