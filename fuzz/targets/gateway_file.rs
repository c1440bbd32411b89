//! Any text as a gateway's file: a gateway that can be built or says why not, or complaints that can be drawn.

#![no_main]

use gateway::file::Heap;
use libfuzzer_sys::fuzz_target;
use plane::{Side4, Side6};
use scenario::gateway::{Gateway, parse};
use std::io;
use std::path::Path;
use tech::{Job, Links};
use wire::Mac;

/// No file is opened: what a text names may be anything.
fn open(_: &Path) -> io::Result<Box<dyn io::BufRead>> {
    Err(io::ErrorKind::NotFound.into())
}

fn built(gateway: &Gateway) {
    let mac = Mac::default();
    let four = Side4 { mac, next_hop: mac, address: [198, 18, 0, 1].into(), mtu: gateway.left.mtu };
    let six = Side6 { mac, next_hop: mac, address: [0x2001, 2, 0, 0, 0, 0, 0, 1].into(), mtu: gateway.right.mtu };
    let links = Links { left4: four, left6: six, right4: four, right6: six };
    let job = Job { plays: gateway.plays, links, workers: 2, seed: 1, open: &open, live: None };
    match gateway.technology.build(&job) {
        Ok(built) => assert_eq!(built.functions.boxed::<Heap>().len(), 2, "one function a worker"),
        Err(why) => assert!(!why.is_empty(), "it says why"),
    }
}

fuzz_target!(|file: &str| match parse("any.toml", file, tech::ALL) {
    Ok(gateway) => {
        // A binding table of a large prefix only takes time.
        if gateway.technology.name() != "lw4o6" {
            built(&gateway.without_tables());
        }
        assert_eq!(gateway.can_become(&gateway), Ok(()), "what it is");
    }
    Err(complaints) => {
        assert!(!complaints.render(false).is_empty() && !complaints.render(true).is_empty());
        assert!(!complaints.to_json().as_array().expect("a list").is_empty());
    }
});
