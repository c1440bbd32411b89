//! Any text as a gateway's file: a gateway that can be built or says why not, or complaints that can be drawn.

#![no_main]

use scenario::gateway::{Gateway, parse, side4, side6};
use scenario::technology::{Softwires, Technology};
use lab::technology::{Links, Use, build};
use libfuzzer_sys::fuzz_target;
use plane::Function;
use wire::Mac;

/// More would only take time.
const SOFTWIRES: u64 = 1 << 12;

struct Build;

impl Use for Build {
    type Out = usize;
    fn with<F: Function + 'static>(self, functions: Vec<F>) -> usize {
        functions.len()
    }
}

fn built(gateway: &Gateway) {
    if let Technology::Lw4o6(l) = &gateway.technology {
        match &l.softwires {
            Softwires::File(_) => return,
            Softwires::Row { ipv4, psid_len, .. } if ipv4.count() << psid_len > SOFTWIRES => return,
            Softwires::Row { .. } => (),
        }
    }
    let four = |s| side4(s, Mac::default(), Mac::default());
    let six = |s| side6(s, Mac::default(), Mac::default());
    let (left, right) = (&gateway.left, &gateway.right);
    let links = Links { left4: four(left), left6: six(left), right4: four(right), right6: six(right) };
    match build(&gateway.technology, gateway.plays, &links, 2, 1, Build) {
        Ok(functions) => assert_eq!(functions, 2, "one function a worker"),
        Err(e) => assert!(!e.why.is_empty(), "it says why"),
    }
}

fuzz_target!(|file: &str| match parse("any.toml", file, tech::ALL) {
    Ok(gateway) => {
        built(&gateway.without_tables());
        assert_eq!(gateway.can_become(&gateway), Ok(()), "what it is");
    }
    Err(complaints) => {
        assert!(!complaints.render(false).is_empty() && !complaints.render(true).is_empty());
        for (place, _) in complaints.diagnostics.iter().flat_map(|diagnostic| &diagnostic.marks) {
            assert!(complaints.line_and_column(*place) >= (1, 1));
        }
    }
});
