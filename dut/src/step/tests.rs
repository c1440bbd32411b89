//! Tests of steps, and a function that prints steps for snapshots.

use super::*;

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let target = match self.target {
            Target::Machine => "machine",
            Target::Dut => "dut",
            Target::Tester => "tester",
            Target::Server => "server",
        };
        writeln!(f, "# {}", self.why)?;
        write!(f, "[{target}] {}", self.action)?;
        match &self.undo {
            Some(undo) => write!(f, "\n    undo: {undo}"),
            None if self.is_machine_wide() => write!(f, "\n    undo: the old value, from the journal"),
            None => Ok(()),
        }
    }
}

pub(crate) fn listing(steps: &[Step]) -> String {
    steps.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

#[test]
fn an_action_is_shown_as_typed_into_a_shell() {
    assert_eq!(Action::words("ip link set lo up").to_string(), "ip link set lo up");
    assert_eq!(Action::sysctl("net/ipv4/ip_forward", 1).to_string(), "echo 1 > /proc/sys/net/ipv4/ip_forward");
    assert_eq!(Action::reading("nft -f -", "table ip x {\n}\n").to_string(), "nft -f - <<'END'\ntable ip x {\n}\nEND");
    let odd = Action::Command { program: "echo".into(), args: vec!["it's".into(), String::new()], stdin: None };
    assert_eq!(odd.to_string(), r"echo 'it'\''s' ''");
}
