//! Maps of other chips, from vendors' SVD files.

use std::fmt::Write as _;

use svd_parser::svd::{Access, ModifiedWriteValues, ReadAction, ValidateLevel};
use svd_parser::svd::{EnumeratedValue, FieldInfo, RegisterInfo};
use svd_parser::{Config, parse_with_config};

/// The file is no SVD file, or is inconsistent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SvdError(String);

/// Converts an SVD file to a map ([`linerate_regs`] describes the format); returns also the number of registers left
/// out because they are wider than 32 bits.
///
/// # Errors
/// [`SvdError`].
pub fn map(xml: &str) -> Result<(String, usize), SvdError> {
    let config = Config::default()
        .expand(true)
        .expand_properties(true)
        .validate_level(ValidateLevel::Disabled);
    let unreadable = |error| SvdError(one_line(&format!("{error:#}")));
    let device = parse_with_config(xml, &config).map_err(unreadable)?;
    let name = one_word(&device.name.to_ascii_lowercase());
    let mut text = format!(
        "map {name} {}\nsource SVD of {} {}\n",
        one_line(&device.description),
        one_line(&device.name),
        one_line(&device.version)
    );
    let mut left_out = 0;
    for peripheral in &device.peripherals {
        let Ok(base) = u32::try_from(peripheral.base_address) else {
            left_out += peripheral.all_registers().count();
            continue;
        };
        let title = one_line(peripheral.description.as_deref().unwrap_or_default());
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "block {} {base:x} - {title}",
            one_word(&peripheral.name)
        );
        let mut registers: Vec<&RegisterInfo> = peripheral.all_registers().map(|r| &**r).collect();
        registers.sort_by_key(|register| register.address_offset);
        for info in registers {
            match register(info) {
                Some(lines) => text.push_str(&lines),
                None => left_out += 1,
            }
        }
    }
    Ok((text, left_out))
}

fn register(info: &RegisterInfo) -> Option<String> {
    let width = info.properties.size.unwrap_or(32);
    if width > 32 {
        return None;
    }
    let reset = info.properties.reset_value.unwrap_or(0) & (u64::MAX >> (64 - width.max(1)));
    let effects = (info.modified_write_values, info.read_action);
    let mut text = format!(
        "{:x} {} {reset:x} /{width} {} - {}\n",
        info.address_offset,
        one_word(&info.name),
        access(info.properties.access, effects).unwrap_or("rw"),
        one_line(info.description.as_deref().unwrap_or_default())
    );
    let mut fields: Vec<&FieldInfo> = info.fields.iter().flatten().map(|field| &**field).collect();
    fields.sort_by_key(|field| std::cmp::Reverse(field.bit_range.offset));
    for field in fields {
        text.push_str(&self::field(field).unwrap_or_default());
    }
    Some(text)
}

fn field(info: &FieldInfo) -> Option<String> {
    let (low, count) = (info.bit_range.offset, info.bit_range.width);
    let high = low.checked_add(count.checked_sub(1)?)?;
    let bits = match count {
        1 => low.to_string(),
        _ if high < 32 => format!("{high}:{low}"),
        _ => return None,
    };
    let effects = (info.modified_write_values, info.read_action);
    let access = access(info.access, effects).map_or_else(String::new, |word| format!(" {word}"));
    let title = one_line(info.description.as_deref().unwrap_or_default());
    let mut text = format!(" {bits} {}{access} - {title}\n", one_word(&info.name));
    for EnumeratedValue {
        name,
        value,
        description,
        ..
    } in info
        .enumerated_values
        .iter()
        .flat_map(|values| &values.values)
    {
        let title = one_line(description.as_deref().unwrap_or_default());
        if let Some(value) = value.and_then(|value| u32::try_from(value).ok()) {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "  {value:x} {} {title}", one_word(name));
        }
    }
    Some(text)
}

/// The map's access keyword, if any is defined.
fn access(
    access: Option<Access>,
    effects: (Option<ModifiedWriteValues>, Option<ReadAction>),
) -> Option<&'static str> {
    match (effects, access) {
        ((Some(ModifiedWriteValues::OneToClear), _), _) => Some("w1c"),
        ((_, Some(ReadAction::Clear)), _) => Some("rc"),
        ((_, Some(_)), _) => Some("re"),
        (_, Some(Access::ReadOnly)) => Some("ro"),
        (_, Some(Access::WriteOnly | Access::WriteOnce)) => Some("wo"),
        (_, Some(Access::ReadWrite | Access::ReadWriteOnce)) => Some("rw"),
        (_, None) => None,
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn one_word(text: &str) -> String {
    let word: String = text.split_whitespace().collect::<Vec<_>>().join("_");
    if word.is_empty() {
        "_".to_owned()
    } else {
        word
    }
}
