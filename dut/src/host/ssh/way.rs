//! The host to which ssh connects first, destination or jump host.

use super::{CONFIG_VARIABLE, check};
use crate::tool;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const HOPS: usize = 8;

/// Name or address; none without ssh or with a `ProxyCommand`.
pub fn first_host(destination: &str, config: Option<&Path>) -> Option<String> {
    let own = std::env::var_os(CONFIG_VARIABLE).map(PathBuf::from);
    let config = config.or(own.as_deref());
    let mut to = destination.to_owned();
    for _ in 0..HOPS {
        check(&to).ok()?;
        let said = configuration(&to, config)?;
        match next(&said)? {
            Next::Jump(jump) => to = jump,
            Next::Host(host) => return Some(host),
        }
    }
    None
}

fn configuration(destination: &str, config: Option<&Path>) -> Option<String> {
    let mut command = Command::new(tool::find(tool::SSH.program)?);
    if let Some(file) = config {
        command.arg("-F").arg(file);
    }
    let output = command.args(["-G", "--", destination]).stdin(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

#[derive(Debug, PartialEq, Eq)]
enum Next {
    Host(String),
    Jump(String),
}

fn next(said: &str) -> Option<Next> {
    let get = |key: &str| said.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' ')).map(str::trim);
    let is_given = |value: &&str| !value.is_empty() && *value != "none";
    if let Some(jumps) = get("proxyjump").filter(is_given) {
        // `ssh -G` expects no port behind the name.
        let first = jumps.split(',').next()?;
        let (user, host) = first.rsplit_once('@').map_or(("", first), |(user, host)| (user, host));
        let host = match host.strip_prefix('[') {
            Some(six) => six.split(']').next()?,
            None if host.matches(':').count() == 1 => host.split(':').next()?,
            None => host,
        };
        return Some(Next::Jump(if user.is_empty() { host.to_owned() } else { format!("{user}@{host}") }));
    }
    if get("proxycommand").as_ref().is_some_and(is_given) {
        return None;
    }
    get("hostname").map(|host| Next::Host(host.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jump_hosts_come_first() {
        let host = |name: &str| Some(Next::Host(name.to_owned()));
        let jump = |name: &str| Some(Next::Jump(name.to_owned()));
        for (said, expected) in [
            ("user root\nhostname 10.0.0.1\nproxycommand none\n", host("10.0.0.1")),
            ("hostname p095\nproxyjump a@gate:2222,b\n", jump("a@gate")),
            ("hostname p095\nproxyjump [fd00::1]:22\n", jump("fd00::1")),
            ("hostname p095\nproxyjump none\n", host("p095")),
            ("hostname p095\nproxycommand nc %h %p\n", None),
            ("", None),
        ] {
            assert_eq!(next(said), expected, "{said}");
        }
    }
}
