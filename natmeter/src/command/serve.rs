//! `natmeter serve`: web pages over a folder of runs.

use super::failed;
use crate::cli::{Output, ServeArgs};
use crate::exit::Exit;
use crate::serve::{Access, Server, Site, confine, new_token, token_of};
use crate::signals::end_on;
use crate::term::{self, err, out};
use record::store::is_run;
use serde::Serialize;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The line of `--json`.
#[derive(Serialize)]
#[serde(tag = "event", rename = "serving")]
struct Serving {
    /// Address of the list of runs, with the token if this process made it.
    url: String,
}

/// `natmeter serve [DIR]`.
pub(super) fn serve(args: &ServeArgs, output: Output) -> Result<Exit, Exit> {
    let folder = folder_of(&args.runs)?;
    let (access, login) = access(args)?;
    let server = Server::bind(args.listen).map_err(|error| {
        usage(&format!("{} cannot be used: {error}; name another address or port with --listen", args.listen))
    })?;
    let stop = Arc::new(AtomicBool::new(false));
    end_on(&stop).map_err(|error| failed(format!("signals cannot be handled: {error}")))?;
    if let Err(error) = confine(&folder) {
        err(&format!("note: the kernel does not confine the server to {}: {error}\n", folder.display()));
    }
    let address = server.address();
    let site = Site::new(&folder, access)
        .map_err(|error| failed(format!("{} cannot be read: {error}; make it readable", folder.display())))?;
    let url = format!("http://{address}/{login}");
    if output.json {
        term::json(&Serving { url });
    } else {
        out(&format!("Runs in {}: {url}\n", args.runs.display()));
        if !output.quiet {
            err("Ctrl-C ends the server.\n");
        }
    }
    if !address.ip().is_loopback() && !output.quiet {
        err(
            "note: pages and token cross the network without encryption: use a network that you trust, or an ssh tunnel\n",
        );
    }
    server.run(&Arc::new(site), &stop).map_err(failed)?;
    Ok(Exit::Done)
}

/// The folder of runs.
fn folder_of(runs: &Path) -> Result<std::path::PathBuf, Exit> {
    let folder = runs
        .canonicalize()
        .map_err(|error| usage(&format!("{}: {error}; name the folder in which run folders are", runs.display())))?;
    if !folder.is_dir() {
        return Err(usage(&format!("{} is not a folder; name the folder in which run folders are", runs.display())));
    }
    if is_run(&folder) {
        let parent = folder.parent().unwrap_or(&folder);
        return Err(usage(&format!("{} is one run; name the folder of runs: {}", runs.display(), parent.display())));
    }
    Ok(folder)
}

/// The access to the pages: with `--token-file`, or at an address other than localhost, requests need a token. Returns with it
/// the query with a new token; the token of a file is never printed.
fn access(args: &ServeArgs) -> Result<(Access, String), Exit> {
    match &args.token_file {
        Some(file) => {
            let token = token_of(file).map_err(|error| usage(&format!("{}: {error}", file.display())))?;
            Ok((Access::Token(token), String::new()))
        }
        None if args.listen.ip().is_loopback() => Ok((Access::Local, String::new())),
        None => {
            let token = new_token().map_err(|error| failed(format!("/dev/urandom: {error}")))?;
            let login = format!("?token={token}");
            Ok((Access::Token(token), login))
        }
    }
}

fn usage(text: &str) -> Exit {
    err(&format!("error: {text}\n"));
    Exit::Usage
}
