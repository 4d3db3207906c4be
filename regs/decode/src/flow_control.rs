//! Flow control as configured in registers: by the MAC, by the PHY's advertisement, and as negotiated.

use super::decode::Value;

/// The bit that makes a MAC obey pause frames: map, register, field.
const ENABLES: [(&str, &str, &str); 3] = [
    ("dwmac", "ETH.MACFCR", "RFCE"),
    ("imx6", "ENET.RCR", "FCE"),
    ("lan9118", "MAC.FLOW", "FCEN"),
];

/// Bits of a base page (IEEE 802.3 clause 28.2.4.1.3).
#[derive(Clone, Copy)]
struct Page {
    pause: bool,
    asymmetric: bool,
}

/// One-line summary, if `values` has any of these registers; of a register read several times, the last value counts.
pub fn summary(values: &[Value]) -> Option<String> {
    let enables = ENABLES.iter().find_map(|(chip, register, field)| {
        let on = bit(values, Some(chip), register, field)?;
        Some((format!("{register}.{field}"), on))
    });
    let own = page(values, "MII.ANAR");
    let partner = page(values, "MII.ANLPAR");
    let mut parts = Vec::new();
    if let Some((name, on)) = &enables {
        parts.push(format!("{name} is {}", u8::from(*on)));
    }
    for (page, who) in [(own, "advertised"), (partner, "the partner's")] {
        let word = |page: Page| {
            let bits = [page.pause, page.asymmetric].map(u8::from);
            format!("{who} PAUSE {} ASM_DIR {}", bits[0], bits[1])
        };
        parts.extend(page.map(word));
    }
    if parts.is_empty() {
        return None;
    }
    let agreed = own.zip(partner).map(|(own, partner)| agreed(own, partner));
    let verdict = agreed.map(|agreed| verdict(agreed, enables.as_ref()));
    let verdict = verdict.map_or_else(String::new, |verdict| format!(": {verdict}"));
    Some(format!("flow control: {}{verdict}\n", parts.join(", ")))
}

/// Result of the negotiation: if the partner obeys pause frames from here, and if those from the partner are to be
/// obeyed (Table 28B-3).
const fn agreed(own: Page, partner: Page) -> (bool, bool) {
    let both = own.pause && partner.pause;
    let asymmetric = own.asymmetric && partner.asymmetric;
    (
        both || (asymmetric && partner.pause),
        both || (asymmetric && own.pause),
    )
}

fn verdict(agreed: (bool, bool), enables: Option<&(String, bool)>) -> String {
    let agreement = match agreed {
        (true, true) => "pause frames are negotiated in both directions",
        (true, false) => "pause frames from here are negotiated",
        (false, true) => "pause frames from the partner are negotiated",
        (false, false) => "no pause frames are negotiated",
    };
    let but = match (agreed, enables) {
        ((false, false), Some((_, true))) => ", but they are enabled in the MAC",
        ((true, _) | (_, true), Some((_, false))) => ", but they are disabled in the MAC",
        _ => "",
    };
    format!("{agreement}{but}")
}

fn page(values: &[Value], register: &str) -> Option<Page> {
    Some(Page {
        pause: bit(values, None, register, "PAUSE")?,
        asymmetric: bit(values, None, register, "ASM_DIR")?,
    })
}

fn bit(values: &[Value], chip: Option<&str>, register: &str, field: &str) -> Option<bool> {
    let is =
        |value: &&Value| value.register == register && chip.is_none_or(|chip| value.chip == chip);
    let value = values.iter().rfind(is)?;
    let found = value.fields.iter().find(|it| it.name == field)?;
    Some(found.value != 0)
}
