//! Charts as inline SVG.
//!
//! Horizontal positions are per cent and text keeps its size, so a chart fits a phone and a desktop
//! screen. Colours are the page's classes. Every mark has a `<title>`, every chart a label.

pub(crate) mod curve;
pub(super) mod dots;
pub(super) mod flame;
pub(super) mod lanes;
pub(super) mod scope;
pub(super) mod stack;
pub(super) mod surface;
pub(crate) mod trace;

use std::fmt::Write;

/// Colours of the style sheet. More entries than these in one picture repeat them.
const COLOURS: usize = 16;

/// The class of the entry at this place of a picture. Each place has a colour of its own.
pub(super) fn colour(at: usize) -> String {
    format!("series{}", at % COLOURS)
}

/// A chart being drawn.
pub(super) struct Svg {
    body: String,
}

impl Svg {
    /// A chart of `height` pixels with `label` as its accessible description.
    pub fn new(class: &str, height: u32, label: &str) -> Self {
        Self::with(class, height, label, "")
    }

    /// The same with further `attributes`, as markup.
    pub fn with(class: &str, height: u32, label: &str, attributes: &str) -> Self {
        let mut svg = Self {
            body: String::new(),
        };
        svg.raw(format_args!(
            r#"<svg class="{class}" role="img" width="100%" height="{height}" aria-label="{}"{attributes}>"#,
            escape(label),
        ));
        svg
    }

    /// Adds `markup` to the chart unchanged.
    pub fn raw(&mut self, markup: std::fmt::Arguments<'_>) -> &mut Self {
        // Writing to a string cannot fail.
        let _ = self.body.write_fmt(markup);
        self
    }

    /// A box from `x` over `width` (per cent), with its tooltip.
    pub fn rect(
        &mut self,
        class: &str,
        (x, width): (f64, f64),
        (y, height): (f64, f64),
        title: &str,
    ) -> &mut Self {
        self.raw(format_args!(
            r#"<rect class="{class}" x="{x:.3}%" width="{width:.3}%" y="{y}" height="{height}"><title>{}</title></rect>"#,
            escape(title),
        ))
    }

    /// A line between two points: per cent across, pixels down.
    pub fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) -> &mut Self {
        self.raw(format_args!(
            r#"<line class="{class}" x1="{:.3}%" y1="{:.1}" x2="{:.3}%" y2="{:.1}"/>"#,
            from.0, from.1, to.0, to.1,
        ))
    }

    /// A dot around (`x`, `y`), with `title` as its tooltip.
    pub fn dot(&mut self, class: &str, (x, y, radius): (f64, f64, f64), title: &str) -> &mut Self {
        self.raw(format_args!(
            r#"<circle class="{class}" cx="{x:.3}%" cy="{y:.1}" r="{radius}"><title>{}</title></circle>"#,
            escape(title)
        ))
    }

    /// Text at a point; `anchor` is `start`, `middle` or `end`.
    pub fn text(&mut self, class: &str, (x, y): (f64, f64), anchor: &str, text: &str) -> &mut Self {
        self.raw(format_args!(
            r#"<text class="{class}" x="{x:.3}%" y="{y:.1}" text-anchor="{anchor}">{}</text>"#,
            escape(text),
        ))
    }

    /// The finished markup.
    pub fn finish(mut self) -> String {
        self.body.push_str("</svg>");
        self.body
    }
}

/// Escapes text for markup and attributes.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_a_record_cannot_become_markup() {
        let mut svg = Svg::new("x", 10, "a \"b\" <c>");
        svg.rect("y", (0.0, 50.0), (0.0, 10.0), "</title><script>");
        let markup = svg.finish();
        assert!(
            !markup.contains("<script>") && !markup.contains("<c>"),
            "{markup}"
        );
        assert!(markup.contains("a &quot;b&quot; &lt;c&gt;"), "{markup}");
    }
}
