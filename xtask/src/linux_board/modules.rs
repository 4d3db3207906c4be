//! Kernel modules in the order in which they can be loaded.

use super::{read, walk};
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A kernel module.
#[derive(Debug)]
pub struct Module {
    /// Its name, with underscores.
    pub name: String,
    /// The object file.
    pub content: Vec<u8>,
}

/// The `wanted` modules of `system` and those that they need, each after its dependencies.
///
/// # Errors
/// The kernel's package has not one of the wanted modules.
pub fn with_dependencies(system: &Path, wanted: &[&str]) -> Result<Vec<Module>> {
    let files: BTreeMap<String, PathBuf> = walk(&system.join("lib/modules"))?
        .into_iter()
        .filter_map(|file| {
            let name = file.file_name()?.to_str()?.strip_suffix(".ko")?;
            Some((name.replace('-', "_"), file.clone()))
        })
        .collect();
    let mut modules = Vec::new();
    for name in wanted {
        add(&files, name, &mut modules)?;
    }
    Ok(modules)
}

fn add(files: &BTreeMap<String, PathBuf>, name: &str, to: &mut Vec<Module>) -> Result<()> {
    if to.iter().any(|module| module.name == name) {
        return Ok(());
    }
    let file = files
        .get(name)
        .with_context(|| format!("the kernel has no module {name}"))?;
    let content = read(file)?;
    for needed in dependencies(&content) {
        add(files, &needed, to)?;
    }
    to.push(Module {
        name: name.to_owned(),
        content,
    });
    Ok(())
}

/// The modules that this one names in its section `.modinfo`, whose fields end with a zero.
fn dependencies(module: &[u8]) -> Vec<String> {
    const FIELD: &[u8] = b"\0depends=";
    let Some(at) = module.windows(FIELD.len()).position(|at| at == FIELD) else {
        return Vec::new();
    };
    let value = &module[at + FIELD.len()..];
    let end = value.iter().position(|octet| *octet == 0).unwrap_or(0);
    String::from_utf8_lossy(&value[..end])
        .split(',')
        .filter(|name| !name.is_empty())
        .map(|name| name.replace('-', "_"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{dependencies, with_dependencies};

    #[test]
    fn dependencies_come_first_and_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let modules = folder.path().join("lib/modules/6.1/kernel");
        std::fs::create_dir_all(&modules).expect("made");
        let module = |name: &str, needs: &str| {
            let text = format!("ELF\0license=GPL\0depends={needs}\0name={name}\0");
            std::fs::write(modules.join(format!("{name}.ko")), text).expect("written");
        };
        module("fec", "libphy,of-mdio");
        module("of-mdio", "libphy");
        module("libphy", "");
        let found = with_dependencies(folder.path(), &["fec", "libphy"]).expect("all there");
        let names: Vec<&str> = found.iter().map(|module| module.name.as_str()).collect();
        assert_eq!(names, ["libphy", "of_mdio", "fec"]);
        let error = with_dependencies(folder.path(), &["dwmac"]).expect_err("absent");
        assert_eq!(error.to_string(), "the kernel has no module dwmac");
    }

    #[test]
    fn a_module_without_the_field_needs_none() {
        assert!(dependencies(b"ELF").is_empty());
        assert!(dependencies(b"\0depends=").is_empty());
    }
}
