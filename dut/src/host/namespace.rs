//! This machine's kernel as the device, in unnamed network namespaces, which vanish with this
//! process. Needs root or a user namespace.

use super::here::{no_such_program, run_within_limit, write_setting};
use super::{Host, LocalHost, Output};
use crate::step::{Action, NETNS_OF_DUT, Target};
use crate::tool;
use port::PortError;
use port::netns::{Netns, Sight};
use std::io;

#[derive(Clone, Debug)]
pub struct Namespace {
    dut: Netns,
    tester: Netns,
    server: Option<Netns>,
    machine: LocalHost,
}

impl Namespace {
    /// Namespaces for the DUT, and for the tester's ends.
    pub fn new() -> Result<Namespace, PortError> {
        Ok(Namespace::between(Netns::new()?, Netns::new()?))
    }

    pub fn between(tester: Netns, dut: Netns) -> Namespace {
        Namespace { dut, tester, server: None, machine: LocalHost::new() }
    }

    /// A host with one for a server behind the DUT.
    pub fn with_server() -> Result<Namespace, PortError> {
        Ok(Namespace { server: Some(Netns::new()?), ..Namespace::new()? })
    }

    /// Namespace of a target, if it has one.
    pub fn at(&self, target: Target) -> Option<&Netns> {
        match target {
            Target::Machine => None,
            Target::Dut => Some(&self.dut),
            Target::Tester => Some(&self.tester),
            Target::Server => self.server.as_ref(),
        }
    }

    fn run(&self, ns: &Netns, program: &str, args: &[&str], stdin: Option<&str>) -> io::Result<Output> {
        let program = tool::find(program).ok_or_else(|| no_such_program(program))?;
        // A command on `/sys` needs a mount of the namespace's `/sys`.
        let sight = if args.iter().any(|a| a.starts_with("/sys/")) { Sight::NetworkAndSysfs } else { Sight::Network };
        let dut = self.dut.path();
        let args = args.iter().map(|&a| if a == NETNS_OF_DUT { dut.as_os_str() } else { a.as_ref() });
        run_within_limit(ns.command(program, sight).args(args), stdin)
    }
}

impl Host for Namespace {
    fn perform(&mut self, target: Target, why: &str, action: &Action) -> io::Result<Output> {
        let Some(ns) = self.at(target) else { return self.machine.perform(target, why, action) };
        match action {
            Action::Command { program, args, stdin } => {
                let args: Vec<&str> = args.iter().map(String::as_str).collect();
                self.run(ns, program, &args, stdin.as_deref())
            }
            // `/sys` shows the namespace in which it was mounted.
            Action::Write { path, value } if path.starts_with("/sys/") => {
                let output = self.run(ns, "tee", &[path], Some(value))?;
                if output.ok() { Ok(Output::default()) } else { Err(io::Error::other(output.stderr)) }
            }
            Action::Set { .. } => self.machine.perform(Target::Machine, why, action),
            Action::Write { path, value } => {
                ns.run_in(|| write_setting(path, value)).map_err(io::Error::other)?.map(|()| Output::default())
            }
        }
    }

    fn read(&mut self, target: Target, path: &str) -> io::Result<String> {
        let Some(ns) = self.at(target) else { return self.machine.read(target, path) };
        if path.starts_with("/sys/") {
            let output = self.run(ns, "cat", &[path], None)?;
            return if output.ok() { Ok(output.stdout) } else { Err(io::Error::other(output.stderr)) };
        }
        let text = ns.run_in(|| std::fs::read_to_string(path)).map_err(io::Error::other)??;
        Ok(text.trim_end().to_owned())
    }
}
