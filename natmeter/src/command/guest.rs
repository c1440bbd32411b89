//! `natmeter guest`: builds, lists, tries, runs and removes guests.

use super::{guest_run, show};
use crate::cli::{GuestArgs, GuestCommand, Hardware, Output};
use crate::exit::Exit;
use crate::term::{self, err, out};
use dut::DutError;
use dut::guest::{self, Cache, Guest, Hypervisor, Image};
use dut::host::runner::Limits;
use record::store::date::rfc3339;
use serde_json::json;
use std::collections::BTreeMap;
use std::io::{self, BufRead, IsTerminal};
use std::time::{Duration, Instant};

/// Longest session of `natmeter guest shell`.
const LIMIT: Duration = Duration::from_secs(3600);

pub(super) fn guest(args: &GuestArgs, output: Output) -> Result<Exit, DutError> {
    let cache = args.cache.as_deref().map_or_else(Cache::of_this_user, |folder| Ok(Cache::at(folder)))?;
    match &args.command {
        GuestCommand::Build { kind, perf } => build(*kind, *perf, &cache, output),
        GuestCommand::List => Ok(list(&cache, output)),
        GuestCommand::Shell { kind, command, hardware } => shell(*kind, *hardware, command.as_deref(), &cache),
        GuestCommand::Run(args) => guest_run::run(args, &cache, output).map(|()| Exit::Done),
        GuestCommand::Clean => clean(&cache),
    }
}

fn build(kind: Hypervisor, perf: bool, cache: &Cache, output: Output) -> Result<Exit, DutError> {
    let begun = Instant::now();
    let mut say = |doing: &str| {
        if !output.quiet && !output.json {
            err(&format!("{doing}\n"));
        }
    };
    let image = guest::build::build(kind, perf, cache, &mut say)?;
    let text = || format!("{} is built ({:.0} s)\n", image.folder.display(), begun.elapsed().as_secs_f64());
    show(output, &document(&image), text);
    Ok(Exit::Done)
}

fn document(image: &Image) -> serde_json::Value {
    let packages = image.packages();
    let packages: BTreeMap<&str, &str> = packages.lines().filter_map(|line| line.split_once(' ')).collect();
    json!({ "event": "guest", "kind": image.kind.name(), "folder": image.folder, "built": image.built().map(rfc3339), "packages": packages })
}

fn list(cache: &Cache, output: Output) -> Exit {
    let images = cache.images();
    for image in &images {
        if output.json {
            term::json(&document(image));
            continue;
        }
        let built = image.built().map(rfc3339).unwrap_or_default();
        out(&format!("{}: {}, built {built}\n", image.folder.display(), image.kind.name()));
        if !output.quiet {
            out(&image.packages().lines().map(|line| ["    ", line, "\n"].concat()).collect::<String>());
        }
    }
    if images.is_empty() && !output.json {
        out(&format!("no guest is in {}; build one with `natmeter guest build`\n", cache.folder().display()));
    }
    Exit::Done
}

fn clean(cache: &Cache) -> Result<Exit, DutError> {
    let removed = cache.clean()?;
    for folder in &removed {
        out(&format!("{} is removed\n", folder.display()));
    }
    if removed.is_empty() {
        out("nothing to clean: no guest is built\n");
    }
    Ok(Exit::Done)
}

fn shell(kind: Hypervisor, hardware: Hardware, command: Option<&str>, cache: &Cache) -> Result<Exit, DutError> {
    let image = cache.latest(kind)?;
    if !rustix::process::geteuid().is_root() {
        port::netns::enter_user_namespace()?;
    }
    let begun = Instant::now();
    let config = guest_run::config(kind, hardware)?;
    let mut guest = Guest::boot(&config, &image, Vec::new())?;
    let took = begun.elapsed();
    if let Some(line) = command {
        return in_guest(&mut guest, line);
    }
    let is_terminal = io::stdin().is_terminal();
    if is_terminal {
        err(&format!(
            "{} was ready after {:.2} s. Each line is a command of its own; Ctrl-D ends the guest.\n",
            kind.name(),
            took.as_secs_f64()
        ));
    }
    let prompt = || {
        if is_terminal {
            err("guest# ");
        }
    };
    prompt();
    let mut last = Exit::Done;
    for line in io::stdin().lock().lines().map_while(Result::ok) {
        if !line.trim().is_empty() {
            last = in_guest(&mut guest, &line)?;
        }
        prompt();
    }
    Ok(if is_terminal { Exit::Done } else { last })
}

fn in_guest(guest: &mut Guest, line: &str) -> Result<Exit, DutError> {
    let output = guest.run(line, b"", &Limits::of_hook(LIMIT))?.output;
    let lines = |text: &str| if text.is_empty() { String::new() } else { format!("{text}\n") };
    out(&lines(&output.stdout));
    err(&lines(&output.stderr));
    Ok(if output.ok() { Exit::Done } else { Exit::Failed })
}
