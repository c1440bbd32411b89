//! Why a host cannot be reached by ssh, from the output of the OpenSSH client.

use std::fmt;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SshFailure {
    pub destination: String,
    pub kind: SshKind,
    /// Last line that ssh printed, if any.
    pub said: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SshKind {
    #[error("refuses the connection")]
    Refused,
    #[error("has a host key that differs from the one in known_hosts")]
    HostKeyChanged,
    #[error("has a host key that is not in known_hosts")]
    HostKeyUnknown,
    #[error("accepts no key of this user")]
    NotAuthorised,
    #[error("is an unknown host name")]
    NameUnknown,
    #[error("is not reachable: there is no route to it")]
    NoRoute,
    #[error("does not answer")]
    TimedOut,
    /// An open connection is lost and cannot be opened again; the run can be resumed.
    #[error("is not reachable any more: the connection is lost")]
    Lost,
    #[error("is not reachable by ssh")]
    Other,
}

/// Messages of the OpenSSH client; the first that occurs decides.
const SAID: &[(&str, SshKind)] = &[
    ("HOST IDENTIFICATION HAS CHANGED", SshKind::HostKeyChanged),
    ("Host key verification failed", SshKind::HostKeyUnknown),
    ("Could not resolve hostname", SshKind::NameUnknown),
    ("Connection refused", SshKind::Refused),
    ("No route to host", SshKind::NoRoute),
    ("Network is unreachable", SshKind::NoRoute),
    ("timed out", SshKind::TimedOut),
    ("Timeout, server", SshKind::TimedOut),
    ("Permission denied (", SshKind::NotAuthorised),
    ("Too many authentication failures", SshKind::NotAuthorised),
];

impl SshFailure {
    pub(super) fn from_words(destination: &str, stderr: &str) -> SshFailure {
        let kind = SAID.iter().find(|(text, _)| stderr.contains(text)).map_or(SshKind::Other, |(_, kind)| *kind);
        SshFailure { destination: destination.to_owned(), kind, said: last_line(stderr) }
    }

    /// Host as known_hosts and `ssh-keygen -R` name it, unless configured otherwise.
    fn host(&self) -> &str {
        self.destination.rsplit_once('@').map_or(&*self.destination, |(_, host)| host)
    }

    fn way_out(&self) -> String {
        let SshFailure { destination, .. } = self;
        match self.kind {
            SshKind::Refused => "start sshd there, or name its port in ~/.ssh/config".to_owned(),
            SshKind::HostKeyChanged => format!(
                "if the host was reinstalled, run `ssh-keygen -R {}`, then `ssh {destination}` once by hand; if not, \
                 another machine may answer in its place",
                self.host()
            ),
            SshKind::HostKeyUnknown => {
                format!("run `ssh {destination}` once by hand, compare the key, and confirm it")
            }
            SshKind::NotAuthorised => "start ssh-agent and add a key with `ssh-add`, or name a key in ~/.ssh/config; \
                                       natmeter uses no passwords"
                .to_owned(),
            SshKind::NameUnknown => "correct the name, or add it to ~/.ssh/config".to_owned(),
            SshKind::NoRoute => "check the address and the routes of this machine".to_owned(),
            SshKind::TimedOut => "check the address, the management network, and firewalls".to_owned(),
            SshKind::Lost => {
                "repair the management network, then run `natmeter resume`, or `natmeter clean` to restore \
                              the host without continuing"
                    .to_owned()
            }
            SshKind::Other => format!("run `ssh -v {destination} true` to find the cause"),
        }
    }
}

impl fmt::Display for SshFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.destination, self.kind, self.way_out())?;
        if self.said.is_empty() { Ok(()) } else { write!(f, ". ssh said: {}", self.said) }
    }
}

/// Last line that is not empty, without control characters.
pub(super) fn last_line(text: &str) -> String {
    let line = text.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or_default();
    line.replace(char::is_control, " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines as OpenSSH 9.2 prints them.
    #[test]
    fn each_cause_is_recognised_and_has_its_way_out() {
        for (stderr, kind, way_out) in [
            ("ssh: connect to host 10.0.0.2 port 22: Connection refused", SshKind::Refused, "start sshd there"),
            (
                "@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\r\nHost key verification failed.\r\n",
                SshKind::HostKeyChanged,
                "`ssh-keygen -R p095`, then `ssh root@p095` once",
            ),
            ("Host key verification failed.", SshKind::HostKeyUnknown, "run `ssh root@p095` once by hand"),
            ("root@p095: Permission denied (publickey).", SshKind::NotAuthorised, "start ssh-agent"),
            (
                "ssh: Could not resolve hostname p095: Name or service not known",
                SshKind::NameUnknown,
                "correct the name",
            ),
            ("ssh: connect to host 10.0.0.2 port 22: No route to host", SshKind::NoRoute, "routes of this machine"),
            ("ssh: connect to host 10.0.0.2 port 22: Connection timed out", SshKind::TimedOut, "firewalls"),
            ("kex_exchange_identification: read: Connection reset by peer", SshKind::Other, "`ssh -v root@p095 true`"),
        ] {
            let failure = SshFailure::from_words("root@p095", stderr);
            let text = failure.to_string();
            assert_eq!(failure.kind, kind, "{text}");
            assert!(text.starts_with("root@p095 ") && text.contains(way_out), "{text}");
            assert!(text.ends_with(&format!(". ssh said: {}", last_line(stderr))), "{text}");
        }
    }
}
