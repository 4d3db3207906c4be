//! Checks the layout of reports in a desktop and a phone window, in light and dark colours.

use super::browser::{Browser, PROGRAM};
use crate::sh;
use crate::steps::Outcome;
use anyhow::{Result, bail};
use serde_json::json;
use std::path::PathBuf;

/// Windows: width and height in pixels, and true for a phone.
const WINDOWS: [(u32, u32, bool); 2] = [(1280, 900, false), (390, 844, true)];
const SCHEMES: [&str; 2] = ["light", "dark"];
/// Function that returns the faults of a page and its number of charts.
const CHECKS: &str = include_str!("checks.js");

/// A page to check.
pub struct Page {
    pub file: PathBuf,
    /// Permitted height on a desktop screen before anything is unfolded, pixels.
    pub max_height: Option<u32>,
}

/// Checks each of `pages` in every window and colour scheme.
///
/// # Errors
/// A page has faults; the error lists them.
pub fn check_pages(pages: &[Page]) -> Result<Outcome> {
    if !sh::has(PROGRAM) {
        return Ok(Outcome::Skipped(format!(
            "checking the report needs {PROGRAM}: apt-get install {PROGRAM} or cargo xtask setup"
        )));
    }
    let mut browser = Browser::start(&sh::out("chromium"))?;
    let (mut wrong, mut charts) = (Vec::new(), 0);
    for page in pages {
        for (width, height, is_phone) in WINDOWS {
            let window = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": is_phone});
            browser.call("Emulation.setDeviceMetricsOverride", &window)?;
            for scheme in SCHEMES {
                let feature = json!({"name": "prefers-color-scheme", "value": scheme});
                let media = json!({"features": [feature]});
                browser.call("Emulation.setEmulatedMedia", &media)?;
                browser.open(&page.file)?;
                let max_height = page.max_height.filter(|_| !is_phone);
                let asked = json!({"maxHeight": max_height, "isWide": !is_phone});
                let seen = browser.evaluate(&format!("{CHECKS}({asked})"))?;
                charts += seen["charts"].as_u64().unwrap_or(0);
                let faults = seen["wrong"].as_array().into_iter().flatten();
                let faults = faults.filter_map(|it| it.as_str().map(str::to_owned));
                let faults = faults.chain(browser.errors());
                let place = format!("{}, {width} pixels, {scheme}", page.file.display());
                wrong.extend(faults.map(|it| format!("{place}: {it}")));
            }
        }
    }
    if !wrong.is_empty() {
        bail!("{}", wrong.join("\n"));
    }
    let views = (WINDOWS.len() * SCHEMES.len()) as u64;
    Ok(Outcome::Done(format!(
        "{} charts on {} pages at {} widths, light and dark",
        charts / views,
        pages.len(),
        WINDOWS.len()
    )))
}
