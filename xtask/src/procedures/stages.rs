//! Pages with downloads of all stages of the demo.

use super::look::Page;
use crate::sh;
use anyhow::{Context, Result};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// Three screens of 1280 x 800 pixels, and a little.
const MAX_HEIGHT: u32 = 2560;
/// Results with downloads of five variants.
const SAMPLE: &str = "results/tests/fixtures/run.json";
const DEMO: &str = "scenarios/niccle.toml";
/// The variant in the sample that stands for the runs that it lacks: one with all sizes.
const COPIED: &str = "windowed";

/// A page of the sample with a stage for each run of the demo, and the page of the last demo, if there is one; in
/// `folder`.
///
/// # Errors
/// The sample is no record, or `linerate report` failed.
pub fn pages(linerate: &Path, folder: &Path) -> Result<Vec<Page>> {
    fs::create_dir_all(folder)?;
    let text = fs::read_to_string(sh::root().join(SAMPLE))?;
    let scenario: toml::Table = toml::from_str(&fs::read_to_string(sh::root().join(DEMO))?)?;
    let runs = scenario["run"].as_array().context("no runs")?;
    let names = runs
        .iter()
        .filter_map(|run| run.get("name").or(run.get("variant"))?.as_str());
    let sample = folder.join("sample.json");
    fs::write(
        &sample,
        with_stages(serde_json::from_str(&text)?, names)?.to_string(),
    )?;
    let demo = sh::out("demo").join("run.json");
    let records = [Some(sample), demo.is_file().then_some(demo)];
    let pages = (0..).zip(records.into_iter().flatten());
    pages
        .map(|(number, record)| page(linerate, &record, folder.join(format!("{number}.html"))))
        .collect()
}

/// Adds stages to `run` until it has one for each of `names`.
fn with_stages<'a>(mut run: Value, names: impl Iterator<Item = &'a str>) -> Result<Value> {
    for name in names {
        let results = run["results"].as_array_mut().context("no results")?;
        let is_of = |it: &Value, name: &str| it["params"]["run"] == name;
        if results.iter().any(|it| is_of(it, name)) {
            continue;
        }
        let is_stage = |it: &Value| it["measurement"] == "http_get" || it["measurement"] == "ping";
        let copied = results
            .iter()
            .filter(|it| is_of(it, COPIED) && is_stage(it));
        let mut copies: Vec<Value> = copied.cloned().collect();
        for copy in &mut copies {
            copy["params"]["run"] = name.into();
            copy["params"]["variant"] = name.into();
        }
        results.extend(copies);
    }
    Ok(run)
}

fn page(linerate: &Path, record: &Path, file: PathBuf) -> Result<Page> {
    let mut report = sh::cmd(linerate);
    sh::read(report.arg("report").arg(record).arg("--out").arg(&file))?;
    Ok(Page {
        file,
        max_height: Some(MAX_HEIGHT),
    })
}
