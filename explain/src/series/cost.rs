//! What a send costs whatever is in it, and what each octet of it costs.

/// A line tells a curve if no point is further from it than this share of its time.
const FITS: f64 = 0.15;
/// Any line fits two points.
const FIT_POINTS: usize = 3;

/// The time of sends as a straight line over their octets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cost {
    pub(crate) send_ns: f64,
    pub(crate) octet_ns: f64,
}

impl Cost {
    /// Through `points` (octets of a send, its time in nanoseconds), each weighed by its share of its time; `None`
    /// where no line fits.
    pub(crate) fn of(points: &[(f64, f64)]) -> Option<Self> {
        if points.len() < FIT_POINTS {
            return None;
        }
        let (mut w, mut wx, mut wy, mut wxx, mut wxy) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for (x, y) in points {
            let weight = 1.0 / (y * y);
            w += weight;
            wx += weight * x;
            wy += weight * y;
            wxx += weight * x * x;
            wxy += weight * x * y;
        }
        let bottom = w * wxx - wx * wx;
        if bottom <= 0.0 {
            return None;
        }
        let octet_ns = (w * wxy - wx * wy) / bottom;
        let send_ns = (wy - octet_ns * wx) / w;
        let off = |(x, y): &(f64, f64)| (send_ns + octet_ns * x - y).abs() / y;
        let fits = points.iter().all(|point| off(point) <= FITS);
        (fits && send_ns > 0.0 && octet_ns >= 0.0).then_some(Self { send_ns, octet_ns })
    }

    /// A send of so many octets.
    pub(crate) fn ns(&self, octets: f64) -> f64 {
        self.send_ns + self.octet_ns * octets
    }
}
