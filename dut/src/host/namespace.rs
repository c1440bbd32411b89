//! This machine's kernel as the device under test, in network namespaces that have no name: they are held by
//! descriptors of this process only, so that nothing of them outlives it, however it ends. With root, or inside a
//! user namespace.

use super::here::{no_such_program, run_within_limit, write_setting};
use super::{Here, Host, Output};
use crate::step::{Action, NETNS_OF_DUT, Place};
use crate::tool;
use port::PortError;
use port::netns::{Netns, Sight};
use std::io;

/// The namespaces of one test bed.
#[derive(Clone, Debug)]
pub struct Namespace {
    dut: Netns,
    tester: Netns,
    machine: Here,
}

impl Namespace {
    /// New, empty namespaces: one for the DUT, and one for the tester's ends of its cables.
    ///
    /// # Errors
    /// Without the privilege to make them.
    pub fn new() -> Result<Namespace, PortError> {
        Ok(Namespace { dut: Netns::new()?, tester: Netns::new()?, machine: Here::new() })
    }

    /// The namespace of one place; none for the whole machine.
    pub fn at(&self, place: Place) -> Option<&Netns> {
        match place {
            Place::Machine => None,
            Place::Dut => Some(&self.dut),
            Place::Tester => Some(&self.tester),
        }
    }

    fn run(&self, ns: &Netns, program: &str, args: &[&str], stdin: Option<&str>) -> io::Result<Output> {
        let program = tool::find(program).ok_or_else(|| no_such_program(program))?;
        // Only a file of `/sys` needs the mount that shows the namespace's own.
        let sight = if args.iter().any(|a| a.starts_with("/sys/")) { Sight::NetworkAndSysfs } else { Sight::Network };
        let dut = self.dut.path();
        let args = args.iter().map(|&a| if a == NETNS_OF_DUT { dut.as_os_str() } else { a.as_ref() });
        run_within_limit(ns.command(program, sight).args(args), stdin)
    }
}

impl Host for Namespace {
    fn perform(&mut self, place: Place, why: &str, action: &Action) -> io::Result<Output> {
        let Some(ns) = self.at(place) else { return self.machine.perform(place, why, action) };
        match action {
            Action::Command { program, args, stdin } => {
                let args: Vec<&str> = args.iter().map(String::as_str).collect();
                self.run(ns, program, &args, stdin.as_deref())
            }
            // `/sys` shows the namespace it was mounted in, so that only a command with a mount of its own sees ours.
            Action::Write { path, value } if path.starts_with("/sys/") => {
                let output = self.run(ns, "tee", &[path], Some(value))?;
                if output.ok() { Ok(Output::default()) } else { Err(io::Error::other(output.stderr)) }
            }
            Action::Set { .. } => self.machine.perform(Place::Machine, why, action),
            Action::Write { path, value } => {
                ns.run_in(|| write_setting(path, value)).map_err(io::Error::other)?.map(|()| Output::default())
            }
        }
    }

    fn read(&mut self, place: Place, path: &str) -> io::Result<String> {
        let Some(ns) = self.at(place) else { return self.machine.read(place, path) };
        if path.starts_with("/sys/") {
            let output = self.run(ns, "cat", &[path], None)?;
            return if output.ok() { Ok(output.stdout) } else { Err(io::Error::other(output.stderr)) };
        }
        let text = ns.run_in(|| std::fs::read_to_string(path)).map_err(io::Error::other)??;
        Ok(text.trim_end().to_owned())
    }
}
