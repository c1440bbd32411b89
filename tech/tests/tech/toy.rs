//! A technology that does not ship: one implementation of the trait and one entry suffice.

use key::kind::addresses;
use key::{Chapter, Table, needed};
use plane::nat44::Nat44;
use plane::nat44::config::Config;
use plane::{Hop, view};
use scenario::gateway;
use scenario::{Options, Summary, parse};
use std::io;
use tech::{Functions, GatewayBuild, Job, Links, ListEntry, Names, Plays, Setting, Technology};
use wire::{AddrRange, Mac, OuterRange, PortRange, View};

key::table! {
    /// A NAT with nothing but a pool.
    pub struct Toy {
        /// Outside addresses.
        pool: AddrRange = "pool", addresses(), needed("\"198.19.0.1\"");
    }
}

static ENTRY: ListEntry = ListEntry {
    names: Names::whole("toy", "toy NAT"),
    about: "a toy",
    overhead: 0,
    with_state: Plays::ALL,
    chapters: |path| vec![Chapter::of::<Toy>(path)],
    read: |section| Some(Box::new(Toy::read(section)?)),
};

pub(crate) static TOYS: [&ListEntry; 1] = [&ENTRY];

impl Technology for Toy {
    fn entry(&self) -> &'static ListEntry {
        &ENTRY
    }
    fn versions(&self, _: Plays) -> (u8, u8) {
        (4, 4)
    }
    fn build(&self, job: &Job<'_>) -> Result<GatewayBuild, String> {
        let inside = vec!["198.18.0.0".parse().map(|addr| wire::Prefix4 { addr, len: 16 }).unwrap()];
        let mut c = Config::new(job.links.left4, job.links.right4, inside, vec![self.pool]);
        c.sessions = 1000;
        let one = |w| Nat44::new(c.clone(), w, job.workers, job.seed).map_err(|e| e.to_string());
        Ok(Functions::Nat44((0..job.workers).map(one).collect::<Result<_, _>>()?).into())
    }
    fn view(&self, _: Plays, setting: &Setting<'_>) -> Result<View, String> {
        let ports = PortRange { first: 1024, last: 65_535 };
        let outside = OuterRange { addrs: self.pool, ports };
        Ok(view::nat44(&setting.bed(setting.flows.space().map_err(|e| e.to_string())?), outside))
    }
}

pub(crate) const SCENARIO: &str = "name = \"not-shipped\"\n[dut.embedded]\n[technology.toy]\npool = \"198.19.0.9\"\n[sweep]\nconnections = \"100k\"\n";

fn nothing(_: &std::path::Path) -> io::Result<Box<dyn io::BufRead>> {
    Err(io::ErrorKind::NotFound.into())
}

#[test]
fn a_scenario_has_it() {
    let loaded = parse("toy.toml", SCENARIO, &Options::default(), &TOYS).unwrap_or_else(|e| panic!("{e}"));
    let dut = &loaded.scenario.duts[0];
    assert_eq!((dut.name(), dut.is_stateful()), ("toy", true));
    assert!(Summary::new(&loaded.scenario).to_string().contains("toy NAT"));
    let others = parse("toy.toml", SCENARIO, &Options::default(), tech::ALL).unwrap_err().to_string();
    assert!(others.contains("unknown table [technology.toy]"), "{others}");
    let misspelt = SCENARIO.replace("pool =", "pol =");
    let told = parse("toy.toml", &misspelt, &Options::default(), &TOYS).unwrap_err().to_string();
    assert!(told.contains("did you mean `pool`?") && told.contains("[technology.toy] has no `pool`"), "{told}");
}

#[test]
fn a_gateway_plays_it() {
    let text = "[gateway.left]\naddress = \"198.18.0.1\"\nnext-hop = \"198.18.0.2\"\n[gateway.right]\naddress = \"198.19.0.1\"\n\
                next-hop = \"198.19.0.2\"\n[technology.toy]\npool = \"198.19.0.9\"\n";
    let gateway = gateway::parse("toy.toml", text, &TOYS).unwrap_or_else(|e| panic!("{e}"));
    let mac = Mac([2, 0, 0, 0, 0, 1]);
    let side4 = |address: [u8; 4]| plane::Side4 { mac, next_hop: mac, address: address.into(), mtu: 1500 };
    let side6 = plane::Side6 { mac, next_hop: mac, address: std::net::Ipv6Addr::LOCALHOST, mtu: 1500 };
    let links = Links { left4: side4([198, 18, 0, 1]), left6: side6, right4: side4([198, 19, 0, 1]), right6: side6 };
    let job = Job { plays: gateway.plays, links, workers: 2, seed: 1, open: &nothing, live: None };
    assert_eq!(gateway.technology.build(&job).unwrap().functions.boxed::<testbed::Frame>().len(), 2);
}

#[test]
fn the_tester_has_a_view_of_it() {
    let loaded = parse("toy.toml", SCENARIO, &Options::default(), &TOYS).unwrap_or_else(|e| panic!("{e}"));
    let (plays, technology) = loaded.scenario.duts[0].technology().unwrap();
    let hop = Hop { own: Mac([2; 6]), next: Mac([4; 6]) };
    let setting = Setting {
        flows: &loaded.scenario.traffic.flows,
        frame_size: 64,
        ttl: 10,
        connections: 100_000,
        seed: 1,
        left: hop,
        right: hop,
        open: &nothing,
    };
    let view = technology.view(plays, &setting).unwrap();
    assert_eq!((view.connections, view.stateful), (100_000, true));
}

#[test]
fn schema_and_page_have_its_keys() {
    let book = scenario::book(&TOYS);
    let schema = book.json_schema("scenario");
    assert!(schema["properties"]["technology"]["properties"]["toy"]["properties"]["pool"].is_object(), "{schema}");
    assert!(book.page(2, |path| path == "technology.toy").contains("| `pool` |"));
}
