//! Loss over two axes as a table of coloured fields.

use super::Svg;
use linerate_results::format;
use linerate_results::stats;

/// A point of the surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Clock offset, parts per million.
    pub clock_ppm: f64,
    /// Jitter, nanoseconds to either side.
    pub jitter_ns: f64,
    /// Frames sent.
    pub sent: u64,
    /// Frames lost.
    pub lost: u64,
    /// Frames received with wrong content.
    pub wrong: u64,
}

impl Point {
    /// Frames sent and lost at the `points` within the limits of the standard, where a receiver must lose none.
    pub fn within_the_standard(points: &[Self]) -> (u64, u64) {
        let allowed = |point: &&Self| {
            point.clock_ppm.abs() <= STANDARD_PPM && point.jitter_ns <= STANDARD_JITTER_NS
        };
        let sum = |(sent, lost), point: &Self| (sent + point.sent, lost + point.lost);
        points.iter().filter(allowed).fold((0, 0), sum)
    }

    fn loss(&self) -> f64 {
        stats::ratio(self.lost as f64, self.sent as f64)
    }

    /// One colour per decade of loss, one from half of the frames on, and one for corrupted frames, which
    /// are worse than any loss.
    fn class(&self) -> usize {
        match self.loss() {
            _ if self.wrong > 0 => 6,
            0.0 => 0,
            l if l < 0.001 => 1,
            l if l < 0.01 => 2,
            l if l < 0.1 => 3,
            l if l < 0.5 => 4,
            _ => 5,
        }
    }
}

/// Classes of fields and their meaning.
const CLASSES: [(&str, &str); 7] = [
    ("loss0", "none lost"),
    ("loss1", "below 0.1% lost"),
    ("loss2", "below 1%"),
    ("loss3", "below 10%"),
    ("loss4", "below half"),
    ("loss5", "half or more"),
    ("wrong", "corrupted frames received"),
];

/// The colours that occur among `points`, from no loss on, with their meaning.
pub fn legend<'a>(
    points: impl Iterator<Item = &'a Point>,
) -> impl Iterator<Item = (&'static str, &'static str)> {
    let mut occurs = [false; CLASSES.len()];
    occurs[0] = true;
    points.for_each(|point| occurs[point.class()] = true);
    CLASSES
        .into_iter()
        .zip(occurs)
        .filter_map(|(class, occurs)| occurs.then_some(class))
}

/// Room for the name of the upward axis, pixels.
const TOP: f64 = 24.0;
const ROW: f64 = 30.0;
/// Room for the labels at the left, per cent.
const LEFT: f64 = 12.0;
/// The jitter that the standard allows a transmitter and its cable, nanoseconds to either side
/// (IEEE 802.3, 14.3.1.3.1: a receiver tolerates edges within 13.5 ns of their nominal position).
const STANDARD_JITTER_NS: f64 = 13.5;
/// Clock offset that the standard allows, parts per million (IEEE 802.3, 7.3.2: 0.01%).
const STANDARD_PPM: f64 = 100.0;

/// The surface: clock offset across, jitter upwards. An outline marks the limits of the standard.
pub fn surface(points: &[Point], label: &str) -> String {
    let axis = |of: fn(&Point) -> f64| {
        let mut values: Vec<f64> = points.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        values
    };
    let (ppms, jitters) = (axis(|point| point.clock_ppm), axis(|point| point.jitter_ns));
    let bottom = TOP + ROW * jitters.len() as f64;
    let mut svg = Svg::new("surface", (bottom + 40.0) as u32, label);
    let width = (100.0 - LEFT) / ppms.len().max(1) as f64;
    let x = |column: usize| LEFT + width * column as f64;
    let y = |row: usize| TOP + ROW * (jitters.len() - 1 - row) as f64;
    svg.text("axis strong", (0.0, 14.0), "start", "jitter of each edge");
    for (row, jitter) in jitters.iter().enumerate() {
        let text = format!("±{jitter} ns");
        svg.text("axis", (LEFT - 1.0, y(row) + 19.0), "end", &text);
        for (column, ppm) in ppms.iter().enumerate() {
            let here = |point: &&Point| {
                point.clock_ppm.total_cmp(ppm).is_eq() && point.jitter_ns.total_cmp(jitter).is_eq()
            };
            if let Some(point) = points.iter().find(here) {
                field(&mut svg, point, (x(column), width), y(row));
            }
        }
    }
    for (column, ppm) in ppms.iter().enumerate() {
        let middle = x(column) + width / 2.0;
        svg.text(
            "axis",
            (middle, bottom + 16.0),
            "middle",
            &format!("{ppm:+}"),
        );
    }
    svg.text(
        "axis strong",
        (LEFT + (100.0 - LEFT) / 2.0, bottom + 34.0),
        "middle",
        "clock offset of the sender, ppm",
    );
    let within: Vec<usize> = (0..ppms.len())
        .filter(|column| ppms[*column].abs() <= STANDARD_PPM)
        .collect();
    let rows = jitters
        .iter()
        .filter(|jitter| **jitter <= STANDARD_JITTER_NS)
        .count();
    if let (Some(first), Some(last)) = (within.first(), within.last())
        && rows > 0
    {
        svg.raw(format_args!(
            r#"<rect class="allowed" x="{:.3}%" width="{:.3}%" y="{}" height="{}"/>"#,
            x(*first),
            width * (last - first + 1) as f64,
            y(rows - 1),
            ROW * rows as f64,
        ));
    }
    svg.finish()
}

fn field(svg: &mut Svg, point: &Point, (x, width): (f64, f64), y: f64) {
    let class = point.class();
    let title = format!(
        "{:+} ppm, ±{} ns: {} of {} frames lost, {} corrupted",
        point.clock_ppm,
        point.jitter_ns,
        format::count(point.lost),
        format::count(point.sent),
        format::count(point.wrong),
    );
    svg.rect(
        &format!("loss {}", CLASSES[class].0),
        (x, width),
        (y, ROW),
        &title,
    );
    if width >= 5.0 {
        let text = if class >= 4 { "on-part" } else { "on-loss" };
        let loss = match point.lost {
            0 => "0".to_owned(),
            _ => format::percent(point.loss()),
        };
        svg.text(text, (x + width / 2.0, y + 19.0), "middle", &loss);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_point_has_a_field_and_the_standard_s_are_framed() {
        let mut points = Vec::new();
        for ppm in [-200.0, -100.0, 0.0, 100.0, 200.0] {
            for jitter in [0.0, 13.5, 20.0] {
                points.push(Point {
                    clock_ppm: ppm,
                    jitter_ns: jitter,
                    sent: 1_000,
                    lost: if jitter > 14.0 { 120 } else { 0 },
                    wrong: 0,
                });
            }
        }
        let svg = surface(&points, "loss");
        assert_eq!(svg.matches("class=\"loss loss0\"").count(), 10);
        assert_eq!(svg.matches("class=\"loss loss4\"").count(), 5);
        assert_eq!(svg.matches("class=\"allowed\"").count(), 1);
        // Clock offset and jitter are named, and the frame ends with the standard's 13.5 ns.
        assert!(svg.contains(">clock offset of the sender, ppm<") && svg.contains(">±13.5 ns<"));
        let frame = svg.split_once("class=\"allowed\"").expect("a frame").1;
        assert!(frame.contains(&format!("y=\"{}\" height=\"{}\"", TOP + ROW, 2.0 * ROW)));
        let names: Vec<&str> = legend(points.iter()).map(|(_, about)| about).collect();
        assert_eq!(names, ["none lost", "below half"]);
        points[0].wrong = 1;
        assert_eq!(
            legend(points.iter()).last().map(|(class, _)| class),
            Some("wrong")
        );
        assert!(surface(&[], "nothing").ends_with("</svg>"));
    }
}
