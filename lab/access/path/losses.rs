//! What happens to a frame before the bottleneck.

use super::*;

impl Path {
    fn loss(&mut self, w: usize, f: &[u8], at: Ns) -> Option<&'static str> {
        let (u, v) = (self.uniform(), self.uniform());
        let passed = self.first.map_or(-1.0, |it| at.saturating_sub(it) as f64 / MS);
        let d = &mut self.ways[w];
        if d.get("mtu") > 0.0 && (f.len() - 14) as f64 > d.get("mtu") {
            return Some("too_long");
        }
        if tcp(f).is_some_and(|it| it.flags & 2 != 0) && d.seen < d.get("syn") {
            d.seen += 1.0;
            return Some("lost");
        }
        if d.get("outage_for") > 0.0 && passed >= d.get("outage") && passed < d.get("outage") + d.get("outage_for") {
            return Some("outage");
        }
        if d.get("police") > 0.0 {
            let fill = d.tokens + (at - d.filled) as f64 / 8e9 * d.get("police");
            d.tokens = if d.filled == 0 { d.get("burst") } else { fill.min(d.get("burst")) };
            d.filled = at;
            if d.tokens < f.len() as f64 {
                return Some("policed");
            }
            d.tokens -= f.len() as f64;
        }
        if u < d.get("loss") {
            return Some("lost");
        }
        if d.get("bad") > 0.0 {
            d.bad = if d.bad { v > 1.0 / d.get("bad_length") } else { v < d.get("bad") };
            if d.bad {
                return Some("lost");
            }
        }
        None
    }
    fn options(&mut self, w: usize, f: &mut [u8]) {
        let d = &mut self.ways[w];
        let Some(it) = tcp(f) else { return };
        let window = d.get("window") as u16;
        if window > 0 && u16::from_be_bytes([f[it.at + 14], f[it.at + 15]]) > window {
            f[it.at + 14..it.at + 16].copy_from_slice(&window.to_be_bytes());
            checksum_tcp(f, &it);
        }
        if it.flags & 2 == 0 {
            return;
        }
        let (mut i, end, mut changed) = (it.at + 20, it.at + it.head, false);
        while i + 1 < end && f[i] != 0 {
            if f[i] == 1 {
                i += 1;
                continue;
            }
            let (kind, length, mss) = (f[i], f[i + 1] as usize, d.get("mss") as u16);
            if length < 2 || i + length > end {
                break;
            }
            if kind == 2 && mss > 0 && u16::from_be_bytes([f[i + 2], f[i + 3]]) > mss {
                f[i + 2..i + 4].copy_from_slice(&mss.to_be_bytes());
                changed = true;
            }
            if (kind == 3 && d.get("noscale") > 0.0) || (kind == 4 && d.get("nosack") > 0.0) {
                f[i..i + length].fill(1);
                changed = true;
            }
            i += length;
        }
        if changed {
            checksum_tcp(f, &it);
            d.add("rewritten");
        }
    }
    pub fn arrived(&mut self, w: usize, mut f: Vec<u8>, at: Ns) {
        if w == self.side {
            self.capture(&f);
        }
        if f.len() >= 42 && f[12..14] == [8, 6] {
            if f[21] == 1 && f[38..42] != f[28..32] && self.ways[w].get("no_arp") == 0.0 {
                let (asked, asking): (Vec<u8>, Vec<u8>) = (f[38..42].to_vec(), f[22..32].to_vec());
                f[21] = 2;
                f[22..28].copy_from_slice(&router(w));
                f[28..32].copy_from_slice(&asked);
                f[32..42].copy_from_slice(&asking);
                self.put(w, f);
            }
            return;
        }
        if f.len() < 34 || f[12..14] != [8, 0] || f[30] != 10 || f[22] < 2 {
            return;
        }
        f[22] -= 1;
        checksum_ip(&mut f);
        self.ways[w].add("frames");
        if payload(&f) > 0 {
            self.first.get_or_insert(at);
            let d = &mut self.ways[w];
            if d.first == 0 {
                d.first = at
            }
            d.last = at;
        }
        if let Some(why) = self.loss(w, &f, at) {
            self.ways[w].add(why);
            return;
        }
        self.options(w, &mut f);
        let (u, v, x) = (self.uniform(), self.uniform(), self.uniform());
        if payload(&f) > 60 && u < self.ways[w].get("corrupt") {
            let i = f.len() - 1 - (v * 48.0) as usize;
            f[i] ^= 1 << (x * 8.0) as u8;
            self.ways[w].add("corrupted");
        }
        let back = self.ways[1 - w].get("sleep") * MS;
        if back > 0.0 {
            self.ways[1 - w].awake = at + back as u64;
        }
        let copies = if u > 1.0 - self.ways[w].get("copy") {
            self.ways[w].add("copied");
            2
        } else {
            1
        };
        if self.ways[w].get("thin") > 0.0 {
            if tcp(&f).is_some_and(|it| it.payload == 0 && it.flags == 16 && it.head <= 32) {
                let d = &mut self.ways[w];
                if d.kept.replace(Frame { octets: f, queued: at, begun: at }).is_some() {
                    d.add("suppressed");
                }
                d.collected += 1;
                let (number, later) = (d.collection, at + (d.get("thin_ms") * MS) as u64);
                if f64::from(d.collected) >= d.get("thin") {
                    self.thinned(w, number, at);
                } else if d.collected == 1 {
                    self.plan(later, Event::Thinned(w, number));
                }
                return;
            }
            let number = self.ways[w].collection;
            self.thinned(w, number, at);
        }
        for _ in 0..copies {
            self.enqueue(w, Frame { octets: f.clone(), queued: at, begun: at }, at);
        }
    }
    /// Only the last of the acknowledgments that were collected goes on.
    pub fn thinned(&mut self, w: usize, number: u64, at: Ns) {
        if self.ways[w].collection != number {
            return;
        }
        self.ways[w].collection += 1;
        self.ways[w].collected = 0;
        if let Some(f) = self.ways[w].kept.take() {
            self.enqueue(w, Frame { queued: at, ..f }, at);
        }
    }
}
