//! `natmeter serve`: web pages over a folder of runs.

use super::{failed, usage};
use crate::cli::{Output, ServeArgs};
use crate::exit::Exit;
use crate::serve::{Access, Site, new_token, serve as answer, token_of};
use crate::signals::end_on;
use crate::term::{self, err, out};
use gateway::privileges::limit_to_reading;
use record::store::is_run;
use serde_json::json;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// How often the command looks whether it must stop.
const TICK: Duration = Duration::from_millis(100);

pub(super) fn serve(args: &ServeArgs, output: Output) -> Result<Exit, Exit> {
    let folder = folder_of(&args.runs)?;
    let (access, login) = access(args)?;
    let unusable =
        |error| usage(format!("{} cannot be used: {error}; name another address or port with --listen", args.listen));
    let listener = TcpListener::bind(args.listen).map_err(unusable)?;
    let address = listener.local_addr().map_err(unusable)?;
    let stop = Arc::new(AtomicBool::new(false));
    end_on(&stop).map_err(|error| failed(format!("signals cannot be handled: {error}")))?;
    // A fault of the server then cannot disclose another file.
    if let Err(error) = limit_to_reading(&folder) {
        err(&format!("note: the kernel does not confine the server to {}: {error}\n", folder.display()));
    }
    let site = Site::new(&folder, access)
        .map_err(|error| failed(format!("{} cannot be read: {error}; make it readable", folder.display())))?;
    let url = format!("http://{address}/{login}");
    if output.json {
        term::json(&json!({ "event": "serving", "url": url }));
    } else {
        out(&format!("Runs in {}: {url}\n", args.runs.display()));
        if !output.quiet {
            err("Ctrl-C ends the server.\n");
        }
    }
    if !address.ip().is_loopback() && !output.quiet {
        err("note: the network sees pages and token in plain: use a network that you trust, or an ssh tunnel\n");
    }
    thread::spawn(move || answer(&listener, &Arc::new(site)));
    while !stop.load(Ordering::Relaxed) {
        thread::sleep(TICK);
    }
    Ok(Exit::Done)
}

fn folder_of(runs: &Path) -> Result<PathBuf, Exit> {
    let (shown, fix) = (runs.display(), "name the folder in which run folders are");
    match runs.canonicalize() {
        Err(error) => Err(usage(format!("{shown}: {error}; {fix}"))),
        Ok(folder) if !folder.is_dir() => Err(usage(format!("{shown} is not a folder; {fix}"))),
        Ok(folder) if is_run(&folder) => {
            let parent = folder.parent().unwrap_or(&folder).display();
            Err(usage(format!("{shown} is one run; name the folder of runs: {parent}")))
        }
        Ok(folder) => Ok(folder),
    }
}

/// With `--token-file`, or at an address other than localhost, requests need a token. Returns with
/// the access the query with a new token; the token of a file is never printed.
fn access(args: &ServeArgs) -> Result<(Access, String), Exit> {
    match &args.token_file {
        Some(file) => {
            let token = token_of(file).map_err(|why| usage(format!("{}: {why}", file.display())))?;
            Ok((Access::Token(token), String::new()))
        }
        None if args.listen.ip().is_loopback() => Ok((Access::Local, String::new())),
        None => {
            let token = new_token().map_err(|error| failed(format!("/dev/urandom: {error}")))?;
            Ok((Access::Token(token.clone()), format!("?token={token}")))
        }
    }
}
