//! Where the commands of a box run: the words of `on`.

use key::kind::{own, text_of as words};
use key::{Value, Wrong};
use serde_json::json;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum On {
    /// On the tester's machine.
    Local,
    /// In a namespace that natmeter creates, with both ports.
    Namespace,
    /// On another machine, through OpenSSH: its destination.
    Ssh(String),
    /// In a virtual machine that natmeter boots, with both ports.
    Guest(GuestKind),
}

/// What runs the kernel of a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuestKind {
    /// User-Mode Linux.
    Uml,
    /// QEMU.
    Qemu,
}

const GUESTS: &[(&str, GuestKind)] =
    &[("guest", GuestKind::Uml), ("guest:uml", GuestKind::Uml), ("guest:qemu", GuestKind::Qemu)];

/// Where hooks run.
pub(super) fn place() -> impl key::ValueKind<Out = On> {
    fn parse(value: &Value) -> Result<On, Wrong> {
        let written = words(value)?;
        if let Some((_, kind)) = GUESTS.iter().find(|(name, _)| *name == written) {
            return Ok(On::Guest(*kind));
        }
        match (written.as_str(), written.strip_prefix("ssh:")) {
            ("local", _) => Ok(On::Local),
            ("namespace", _) => Ok(On::Namespace),
            (_, Some(to)) if !to.is_empty() && !to.starts_with('-') && !to.contains(char::is_whitespace) => {
                Ok(On::Ssh(to.to_owned()))
            }
            _ => Err(Wrong::new(
                format!("unknown place `{written}`"),
                "write \"local\", \"namespace\", \"guest\", or \"ssh:\" and a destination, such as \"ssh:root@p095\"",
            )),
        }
    }
    own(parse, "`\"local\"`, `\"namespace\"`, `\"guest\"` or `\"ssh:DESTINATION\"`", || json!({ "type": "string" }))
}
