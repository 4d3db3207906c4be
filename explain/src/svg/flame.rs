//! A flame graph, top down: callers above, callees below, widths proportional to cycles.

use std::collections::BTreeMap;

use super::{Svg, escape};
use crate::profile;
use linerate_results::format;
use linerate_results::record::Profile;

/// Height of a row.
const ROW: u32 = 18;
/// A box narrower than this (per cent) is not drawn.
const NARROWEST: f64 = 0.08;
/// Colours.
const HUES: usize = 6;

#[derive(Default)]
struct Node<'a> {
    cycles: u64,
    children: BTreeMap<&'a str, Node<'a>>,
}

impl Node<'_> {
    fn depth(&self) -> u32 {
        1 + self.children.values().map(Node::depth).max().unwrap_or(0)
    }
}

/// The graph of `profile` as part of a page, whose script zooms it.
pub fn flame(profile: &Profile) -> String {
    let mut root = Node::default();
    for stack in &profile.stacks {
        let names = stack.path.iter().map(|id| profile::name(profile, *id));
        let mut node = &mut root;
        node.cycles += stack.cycles;
        for name in std::iter::once(profile::thread(stack.interrupt)).chain(names) {
            node = node.children.entry(name).or_default();
            node.cycles += stack.cycles;
        }
    }
    let height = (root.depth() - 1).max(1) * ROW;
    let label = format!(
        "Flame graph of {} cycles: {} in interrupts",
        format::count(root.cycles),
        format::percent(linerate_results::stats::ratio(
            profile::cycles_of(profile, true) as f64,
            root.cycles as f64
        )),
    );
    let mut svg = Svg::new("flame zoom", height, &label);
    let whole = root.cycles.max(1) as f64;
    draw(&mut svg, &root, (0.0, 0), whole, profile.frames);
    svg.finish()
}

fn draw(svg: &mut Svg, parent: &Node<'_>, (x, row): (f64, u32), whole: f64, frames: u64) {
    let mut children: Vec<_> = parent.children.iter().collect();
    children.sort_by(|a, b| b.1.cycles.cmp(&a.1.cycles).then(a.0.cmp(b.0)));
    let mut x = x;
    for (name, node) in children {
        let width = node.cycles as f64 / whole * 100.0;
        if width >= NARROWEST {
            svg.raw(format_args!(
                r#"<svg class="f h{}" x="{x:.3}%" width="{width:.3}%" y="{}" height="{}"><rect width="100%" height="100%"/><text x="3" y="12">{}</text><title>{}: {} cycles, {}, {:.0} per frame</title></svg>"#,
                hue(name),
                row * ROW,
                ROW - 1,
                escape(&short(name)),
                escape(name),
                format::count(node.cycles),
                escape(&format::percent(width / 100.0)),
                linerate_results::stats::ratio(node.cycles as f64, frames as f64),
            ));
            draw(svg, node, (x, row + 1), whole, frames);
        }
        x += width;
    }
}

/// Functions of one crate have one colour.
fn hue(name: &str) -> usize {
    let first = name.trim_start_matches(['<', '&']);
    let end = first.find("::").unwrap_or(first.len().min(6));
    let sum: usize = first.bytes().take(end).map(usize::from).sum();
    sum % HUES
}

/// The last two parts of a path, without type parameters.
fn short(name: &str) -> String {
    let mut depth = 0;
    let plain: String = name
        .chars()
        .filter(|char| {
            depth += i32::from(*char == '<');
            let keep = depth <= 0;
            depth -= i32::from(*char == '>' && depth > 0);
            keep
        })
        .collect();
    let parts: Vec<&str> = plain.split("::").filter(|part| !part.is_empty()).collect();
    if parts.is_empty() {
        return name.to_owned();
    }
    parts[parts.len().saturating_sub(2)..].join("::")
}

/// The flame graph as a separate file.
pub fn flame_file(profile: &Profile) -> String {
    let graph = flame(profile);
    let (Some(rest), Some(end)) = (graph.strip_prefix("<svg "), graph.find('>')) else {
        return graph;
    };
    let body = &graph[end + 1..];
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" {}<style>{}</style>{}<script>//<![CDATA[\n{}\n//]]></script></svg>\n",
        &rest[..=end - 5],
        include_str!("../templates/flame.css"),
        body.strip_suffix("</svg>").unwrap_or(body),
        include_str!("../templates/zoom.js"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn names_are_short_and_crates_share_a_colour() {
        assert_eq!(
            short("smoltcp::iface::interface::Interface::poll"),
            "Interface::poll"
        );
        assert_eq!(
            short("linerate_nic::mac::receive::Main<S,C>::receive"),
            "Main::receive"
        );
        assert_eq!(short("memcpy"), "memcpy");
        assert_eq!(hue("smoltcp::a"), hue("smoltcp::b::c"));
    }

    #[test]
    fn a_tiny_share_is_no_markup() {
        let mut profile = sample::profile();
        profile.stacks[3].cycles = 270_000;
        let svg = flame(&profile);
        assert!(svg.contains("&lt;0.1%") && !svg.contains(" <0.1%"), "{svg}");
    }

    #[test]
    fn the_file_stands_alone() {
        let file = flame_file(&sample::profile());
        assert_eq!(file.matches("<svg").count(), file.matches("</svg>").count());
        assert!(file.contains("<script>") && !file.contains("href"));
        assert!(flame_file(&Profile::default()).ends_with("</svg>\n"));
    }
}
