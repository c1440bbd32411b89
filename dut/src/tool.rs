//! The programs that steps run, and the Debian packages they come in. Its own file because what is missing must be
//! named before anything is touched, whoever needs it.

use crate::DutError;
use std::path::{Path, PathBuf};

/// A program that steps run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tool {
    /// Its name.
    pub program: &'static str,
    /// The Debian package it comes in.
    pub package: &'static str,
    /// Arguments that make it tell its version.
    pub version: &'static [&'static str],
}

/// Interfaces, addresses, neighbours and routes.
pub const IP: Tool = Tool { program: "ip", package: "iproute2", version: &["-V"] };
/// Offloads.
pub const ETHTOOL: Tool = Tool { program: "ethtool", package: "ethtool", version: &["--version"] };
/// Emptying the connection tracking table.
pub const CONNTRACK: Tool = Tool { program: "conntrack", package: "conntrack", version: &["--version"] };
/// nftables.
pub const NFT: Tool = Tool { program: "nft", package: "nftables", version: &["--version"] };
/// iptables over the kernel's own tables.
pub const IPTABLES_LEGACY: Tool = Tool { program: "iptables-legacy", package: "iptables", version: &["--version"] };
/// iptables over nftables.
pub const IPTABLES_NFT: Tool = Tool { program: "iptables-nft", package: "iptables", version: &["--version"] };

/// Where programs are looked for: as the user's shell would, then where Debian keeps those of the administrator,
/// which are not on everybody's path.
pub fn search_path() -> String {
    let own = std::env::var("PATH").unwrap_or_default();
    format!("{own}:/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin")
}

/// The file of a program.
pub fn find(program: &str) -> Option<PathBuf> {
    find_in(&search_path(), program)
}

fn find_in(path: &str, program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(PathBuf::from(program));
    }
    path.split(':').filter(|d| d.starts_with('/')).map(|d| Path::new(d).join(program)).find(|p| is_executable(p))
}

fn is_executable(path: &Path) -> bool {
    path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

/// See that all of these are installed.
///
/// # Errors
/// All that are missing, with their packages.
pub fn require(tools: &[Tool]) -> Result<(), DutError> {
    let missing: Vec<Tool> = tools.iter().copied().filter(|t| find(t.program).is_none()).collect();
    if missing.is_empty() { Ok(()) } else { Err(DutError::MissingTools(missing)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn only_executable_files_are_programs() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("nft");
        std::fs::write(&file, "").unwrap();
        let path = format!("relative:{}", dir.path().display());
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(find_in(&path, "nft"), Some(file));
        assert_eq!(find_in(&path, "iptables"), None);
    }

    #[test]
    fn what_is_missing_is_named_and_the_rest_is_not() {
        let none = Tool { program: "natmeter-has-no-such-tool", package: "nothing", version: &[] };
        let sh = Tool { program: "sh", package: "dash", version: &[] };
        let Err(DutError::MissingTools(missing)) = require(&[sh, none]) else {
            panic!("sh is there, the other is not")
        };
        assert_eq!(missing, [none]);
    }
}
