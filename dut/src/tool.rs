//! The programs that steps run, with their Debian packages.

use std::path::{Path, PathBuf};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tool {
    pub program: &'static str,
    /// Debian package.
    pub package: &'static str,
    /// Arguments that make the tool print its version.
    pub version: &'static [&'static str],
}

impl Tool {
    /// Returns a tool that prints its version when it is called with `--version`.
    pub(crate) const fn of(program: &'static str, package: &'static str) -> Tool {
        Tool { program, package, version: &["--version"] }
    }
}

pub const IP: Tool = Tool { version: &["-V"], ..Tool::of("ip", "iproute2") };
pub const ETHTOOL: Tool = Tool::of("ethtool", "ethtool");
pub const CONNTRACK: Tool = Tool::of("conntrack", "conntrack");
pub const NFT: Tool = Tool::of("nft", "nftables");
pub const IPTABLES_LEGACY: Tool = Tool::of("iptables-legacy", "iptables");
pub const IPTABLES_NFT: Tool = Tool::of("iptables-nft", "iptables");
pub const KNOT: Tool = Tool::of("knotd", "knot");
pub const UNBOUND: Tool = Tool { version: &["-V"], ..Tool::of("unbound", "unbound") };
pub const PERF: Tool = Tool::of("perf", "linux-perf");
pub const SSH: Tool = Tool { version: &["-V"], ..Tool::of("ssh", "openssh-client") };

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", missing(.0))]
pub struct MissingTools(pub Vec<Tool>);

fn missing(tools: &[Tool]) -> String {
    let mut packages: Vec<&str> = tools.iter().map(|t| t.package).collect();
    packages.sort_unstable();
    packages.dedup();
    let programs: Vec<&str> = tools.iter().map(|t| t.program).collect();
    let verb = if programs.len() == 1 { "is" } else { "are" };
    format!("{} {verb} not installed: apt-get install {}", programs.join(", "), packages.join(" "))
}

/// PATH, and Debian's folders for administrators.
pub fn search_path() -> String {
    let own = std::env::var("PATH").unwrap_or_default();
    format!("{own}:/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin")
}

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

pub fn require(tools: &[Tool]) -> Result<(), MissingTools> {
    let missing: Vec<Tool> = tools.iter().copied().filter(|t| find(t.program).is_none()).collect();
    if missing.is_empty() { Ok(()) } else { Err(MissingTools(missing)) }
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
    fn only_missing_programs_are_named() {
        let none = Tool { program: "natmeter-has-no-such-tool", package: "nothing", version: &[] };
        let sh = Tool { program: "sh", package: "dash", version: &[] };
        let Err(MissingTools(missing)) = require(&[sh, none]) else { panic!("sh is installed, the other is not") };
        assert_eq!(missing, [none]);
    }

    #[test]
    fn missing_tools_name_each_package_once() {
        let tool = |program, package| Tool { program, package, version: &[] };
        let error = MissingTools(vec![
            tool("nft", "nftables"),
            tool("iptables-nft", "iptables"),
            tool("iptables-legacy", "iptables"),
        ]);
        assert_eq!(
            error.to_string(),
            "nft, iptables-nft, iptables-legacy are not installed: apt-get install iptables nftables"
        );
    }
}
