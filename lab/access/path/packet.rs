//! Headers of frames and their checksums.

pub struct Tcp {
    pub at: usize,
    pub head: usize,
    pub flags: u8,
    pub payload: usize,
}
pub fn tcp(f: &[u8]) -> Option<Tcp> {
    if f.len() < 54 || f[12..14] != [8, 0] || f[23] != 6 {
        return None;
    }
    let (at, total) = (14 + (f[14] & 15) as usize * 4, (f[16] as usize) << 8 | f[17] as usize);
    let head = (f[at + 12] >> 4) as usize * 4;
    (14 + total <= f.len() && 14 + total >= at + head).then(|| Tcp {
        at,
        head,
        flags: f[at + 13],
        payload: 14 + total - at - head,
    })
}
pub fn payload(f: &[u8]) -> usize {
    match tcp(f) {
        Some(it) => it.payload,
        None if f.len() >= 42 && f[12..14] == [8, 0] && f[23] == 17 => {
            ((f[16] as usize) << 8 | f[17] as usize).saturating_sub(28)
        }
        None => 0,
    }
}
fn sum(data: &[u8], mut sum: u32) -> u16 {
    for pair in data.chunks(2) {
        sum += (pair[0] as u32) << 8 | *pair.get(1).unwrap_or(&0) as u32;
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}
pub fn checksum_ip(f: &mut [u8]) {
    let end = 14 + (f[14] & 15) as usize * 4;
    f[24..26].fill(0);
    let it = sum(&f[14..end], 0);
    f[24..26].copy_from_slice(&it.to_be_bytes());
}
pub fn checksum_tcp(f: &mut [u8], it: &Tcp) {
    let end = it.at + it.head + it.payload;
    let pseudo = f[26..34].chunks(2).map(|p| (p[0] as u32) << 8 | p[1] as u32).sum::<u32>() + 6 + (end - it.at) as u32;
    f[it.at + 16..it.at + 18].fill(0);
    let sum = sum(&f[it.at..end], pseudo);
    f[it.at + 16..it.at + 18].copy_from_slice(&sum.to_be_bytes());
}
