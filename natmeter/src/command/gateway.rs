//! `natmeter gateway`: the gateway as a program, and requests to a running gateway.

use super::{failed, usage};
use crate::cli::{GatewayArgs, GatewayRequest, Output};
use crate::exit::Exit;
use crate::gateway::{self, EndRequest, GatewayError};
use crate::term::{err, out};
use ::gateway::control;
use ::gateway::file::{Files, Reader, Writer};
use ::gateway::neighbour::NeighbourError;
use record::store::Dir;
use scenario::ScenarioError;
use scenario::gateway as config;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

pub(super) fn gateway(args: &GatewayArgs, output: Output) -> Result<Exit, Exit> {
    if let Some(word) = args.word {
        return ask(word, args);
    }
    let Some(file) = &args.config else {
        return Err(usage("--config is missing: use natmeter gateway --config gateway.toml (see docs/gateway.md)"));
    };
    let gateway = config::read(file, tech::ALL).map_err(|error| match error {
        ScenarioError::Wrong(complaints) => {
            err(&format!("{}\n", complaints.render(true)));
            Exit::Usage
        }
        error @ ScenarioError::Unreadable { .. } => usage(error),
    })?;
    let ended = if args.pcap_in.is_empty() {
        on_interfaces(&gateway, file, args, output)
    } else {
        between_files(&gateway, args, output)
    };
    ended.map(|()| Exit::Done).map_err(|error| {
        failed(&error);
        exit(&error)
    })
}

fn exit(error: &GatewayError) -> Exit {
    match error {
        GatewayError::Lost(_) => Exit::InterfaceLost,
        GatewayError::Neighbour(NeighbourError::Stopped(_)) => Exit::Interrupted,
        error if error.is_usage() => Exit::Usage,
        _ => Exit::Failed,
    }
}

fn ask(word: GatewayRequest, args: &GatewayArgs) -> Result<Exit, Exit> {
    if args.allow_removal && word != GatewayRequest::Reload {
        let word = word.text();
        return Err(usage(format_args!("--allow-removal has no meaning for {word}: use it with reload, or remove it")));
    }
    let option = if args.allow_removal { " allow-removal" } else { "" };
    let socket = args.socket.clone().unwrap_or_else(config::default_socket);
    let answer = control::ask(&socket, &format!("{}{option}", word.text())).map_err(|error| {
        let path = socket.display();
        failed(format_args!(
            "no gateway answers at {path}: {error}; start one, or name its control socket with --socket"
        ))
    })?;
    out(&answer);
    Ok(if answer.starts_with("error") { Exit::Failed } else { Exit::Done })
}

fn between_files(gateway: &config::Gateway, args: &GatewayArgs, output: Output) -> Result<(), GatewayError> {
    let mut files = Files::default();
    for (side, path) in pairs(&args.pcap_in)? {
        files.inputs[side] = Some(Reader::open(&path)?);
    }
    for (side, path) in pairs(&args.pcap_out)? {
        let (folder, name) = Dir::of_file(&path)?;
        files.outputs[side] = Some(Writer::new(folder.rewrite(name)?, &path)?);
    }
    let linger = args.linger.map_or(0, |t| t.0);
    let text = gateway::replay(gateway, &mut files, args.seed.unwrap_or(1), linger, output.json)?;
    if !output.quiet {
        out(&text);
    }
    Ok(())
}

/// `left=a.pcap`, `right=b.pcap`.
fn pairs(given: &[String]) -> Result<Vec<(usize, PathBuf)>, GatewayError> {
    let pair = |text: &String| {
        let side = |name: &str| ["left", "right"].iter().position(|s| *s == name);
        let found = text.split_once('=').and_then(|(name, path)| Some((side(name)?, PathBuf::from(path))));
        found.ok_or_else(|| GatewayError::Usage(format!("`{text}` names no side: use left=FILE or right=FILE")))
    };
    let all: Vec<_> = given.iter().map(pair).collect::<Result<_, _>>()?;
    match all.as_slice() {
        [] | [_] => Ok(all),
        [(a, _), (b, _)] if a != b => Ok(all),
        _ => Err(GatewayError::Usage("more than one file for a side: use left=FILE,right=FILE".into())),
    }
}

fn on_interfaces(
    gateway: &config::Gateway,
    file: &Path,
    args: &GatewayArgs,
    output: Output,
) -> Result<(), GatewayError> {
    let ending = EndRequest::on_signals().map_err(GatewayError::Signals)?;
    let say = |text: &str| {
        if !output.quiet {
            out(text);
        }
    };
    let seed = args.seed.map_or_else(drawn, Ok)?;
    say(&format!(
        "seed {seed}: keep it secret, because it determines ports and identifications (RFC 6056, RFC 7739)\n"
    ));
    gateway::run(gateway, file, seed, ending, &say)
}

fn drawn() -> Result<u64, GatewayError> {
    let mut octets = [0; 8];
    File::open("/dev/urandom")
        .and_then(|mut source| source.read_exact(&mut octets))
        .map_err(|e| GatewayError::Usage(format!("/dev/urandom gives no seed: {e}; give one with --seed")))?;
    Ok(u64::from_ne_bytes(octets))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_gateways_draw_different_seeds() {
        assert_ne!(drawn().unwrap(), drawn().unwrap());
    }
}
