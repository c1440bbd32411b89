//! Sequences of IPv4 frames into customer edge and provider edge in a row, of each technology, with one to three workers: chains
//! in chains, as a gateway file builds them. See `natmeter_fuzz::bench` for what must hold.

#![no_main]

use arbitrary::Arbitrary;
use lab::scenario::gateway::{parse, side4, side6};
use lab::technology::{Links, Use, build};
use libfuzzer_sys::fuzz_target;
use natmeter_fuzz::bench::{self, Setup, Step};
use natmeter_fuzz::build::{CUSTOMER, INTERNET};
use plane::Function;
use wire::Mac;

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Technology {
    Xlat464,
    DsLite,
    Lw4o6,
    MapE,
    MapT,
}

#[derive(Arbitrary, Debug)]
struct Input {
    technology: Technology,
    workers: u8,
    per_connection: bool,
    small: bool,
    mtu: [u8; 2],
    steps: Vec<Step>,
}

impl Input {
    fn text(&self) -> String {
        let shared =
            "ipv6-prefix = \"2001:2:1::/53\"\nipv4-prefix = \"192.0.2.0/24\"\nea-bits = 11\npsid-offset = 0\nce = 3\n";
        let technology = match self.technology {
            Technology::Xlat464 => {
                "464xlat]\npref64 = \"2001:2:0:1000::/96\"\nclat = \"2001:2:0:2::/96\"\npool = \"192.0.2.0\"\n"
                    .to_owned()
            }
            Technology::DsLite => {
                "ds-lite]\nb4 = \"2001:2:0:4000::1\"\naftr = \"2001:2:0:100::2\"\npool = \"192.0.2.0\"\n".to_owned()
            }
            Technology::Lw4o6 => {
                "lw4o6]\nlwaftr = \"2001:2:0:100::2\"\nipv4 = \"192.0.2.0/24\"\nb4 = \"2001:2:1:0::1\"\n\
                                  psid-length = 3\npsid-offset = 0\nce = 3\n"
                    .to_owned()
            }
            Technology::MapE => format!("map-e]\nbr = \"2001:2:0:100::2\"\n{shared}"),
            Technology::MapT => format!("map-t]\ndmr = \"2001:2:0:1000::/96\"\n{shared}"),
        };
        let [left, right] = self.mtu.map(|m| [1500, 576, 1300, 9000][usize::from(m & 3)]);
        let mapping = if self.per_connection { "address-and-port-dependent" } else { "endpoint-independent" };
        let table = if self.small { 3 } else { 64 };
        format!(
            "[gateway]\nplays = \"dual\"\nio = \"af-xdp-generic\"\nworkers = {}\n\
             [gateway.left]\naddress = \"10.0.0.3\"\nnext-hop = \"02:00:00:00:00:02\"\nmtu = {left}\n\
             [gateway.right]\naddress = \"198.18.0.254\"\nnext-hop = \"02:00:00:00:01:02\"\nmtu = {right}\n\
             [technology.{technology}mapping = \"{mapping}\"\ntable = {table}\n",
            self.workers % 3 + 1
        )
    }
}

/// Runs the steps with functions of whatever type; `again` makes more of them.
struct Run<'a> {
    input: &'a Input,
}

impl Use for Run<'_> {
    type Out = ();
    fn with<F: Function + 'static>(self, functions: Vec<F>) {
        // The first set is used up first; those for reading the settings again are built when they are asked for.
        let first = std::cell::RefCell::new(Some(functions));
        let text = self.input.text();
        let make = move || first.borrow_mut().take().unwrap_or_else(|| made::<F>(&text));
        let limits = |w: &F| {
            let (sessions, mappings) = w.entries().expect("a NAT keeps state");
            assert!(mappings <= sessions && sessions <= 64 + 1024 + 64);
        };
        bench::run(&Setup { make: Box::new(make), ipv6: None, known: vec![1], limits }, &self.input.steps);
    }
}

/// Gives the functions themselves.
struct Take;

impl Use for Take {
    type Out = Box<dyn std::any::Any>;
    fn with<F: Function + 'static>(self, functions: Vec<F>) -> Box<dyn std::any::Any> {
        Box::new(functions)
    }
}

fn made<F: Function + 'static>(text: &str) -> Vec<F> {
    *with(text, Take).downcast().expect("the same text makes the same functions")
}

fn with<U: Use>(text: &str, then: U) -> U::Out {
    let g = parse("gateway.toml", text).unwrap_or_else(|e| panic!("{e}"));
    let (left, right) = ((Mac(CUSTOMER.0), Mac(CUSTOMER.1)), (Mac(INTERNET.0), Mac(INTERNET.1)));
    let links = Links {
        left4: side4(&g.left, left.0, left.1),
        left6: side6(&g.left, left.0, left.1),
        right4: side4(&g.right, right.0, right.1),
        right6: side6(&g.right, right.0, right.1),
    };
    build(&g.technology, g.plays, &links, g.workers, 7, then).unwrap_or_else(|e| panic!("{e}"))
}

fuzz_target!(|input: Input| with(&input.text(), Run { input: &input }));
