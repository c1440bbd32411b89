//! The file of `natmeter gateway`: interfaces, addresses and one technology, in tables as of scenarios.

use crate::Technologies;
use crate::faults::check_fault;
use crate::file::{ScenarioError, text_of};
use crate::tables::{GatewayKeys, SideKeys, book};
use crate::truth::InjectedFault;
use key::{At, Complaints, Fault, Sections};
use std::path::{Path, PathBuf};
use tech::{Plays, Technology};

pub use crate::tables::{Io, NextHop};

#[derive(Clone, Debug)]
pub struct Gateway {
    pub plays: Plays,
    /// Number of worker threads, one core each.
    pub workers: usize,
    pub io: Io,
    /// Poll without a pause, for throughput; otherwise a worker without work naps.
    pub busy: bool,
    /// Answer ARP, Neighbor Solicitations and pings; otherwise that is left to the kernel.
    pub answer: bool,
    /// The largest MSS option that TCP hosts may announce through it, if there is a limit.
    pub largest_mss: Option<u16>,
    pub socket: PathBuf,
    /// The side of the customers.
    pub left: Side,
    /// The side of the Internet.
    pub right: Side,
    pub technology: Box<dyn Technology>,
    pub injected: InjectedFault,
}

/// The keys of one side: interface, addresses, neighbour.
pub type Side = SideKeys;

impl Gateway {
    /// Whether a running gateway can become `new` without a restart, as far as this file knows.
    pub fn can_become(&self, new: &Gateway) -> Result<(), String> {
        let by_ip = |s: &Side| if let NextHop::Ip(ip) = s.next_hop { Some(ip) } else { None };
        // Its address was asked for before the start.
        let other = |old: &Side, new: &Side| by_ip(new).is_some() && by_ip(old) != by_ip(new);
        let fixed = [
            ("technology", self.technology.name() != new.technology.name()),
            ("plays", self.plays != new.plays),
            ("workers", self.workers != new.workers),
            ("io", self.io != new.io),
            ("busy", self.busy != new.busy),
            ("answer", self.answer != new.answer),
            ("socket", self.socket != new.socket),
            ("interface", self.left.interface != new.left.interface || self.right.interface != new.right.interface),
            ("vlan", self.left.vlan != new.left.vlan || self.right.vlan != new.right.vlan),
            ("next-hop", other(&self.left, &new.left) || other(&self.right, &new.right)),
            (
                "address",
                self.answer && (self.left.address, self.right.address) != (new.left.address, new.right.address),
            ),
            ("table", self.table() != new.table()),
            ("known-truth", self.injected.fault.is_some() || new.injected.fault.is_some()),
        ];
        match fixed.iter().find(|(_, differs)| *differs) {
            Some((what, _)) => Err(format!("{what}: cannot be changed while the gateway runs; restart it")),
            None => Ok(()),
        }
    }

    /// Entries of its table; none if it keeps no state.
    fn table(&self) -> Option<u64> {
        self.technology.state().map(tech::State::sessions)
    }

    /// A copy without room for connections, for a look at the configuration alone.
    pub fn without_tables(&self) -> Gateway {
        let mut small = self.clone();
        if let Some(state) = small.technology.state_mut() {
            state.table = Some(0);
        }
        small
    }
}

pub fn read(path: &Path, technologies: Technologies) -> Result<Gateway, ScenarioError> {
    Ok(parse(&path.display().to_string(), &text_of(path)?, technologies)?)
}

/// Checks a gateway's file that is already text, called `name` in messages.
pub fn parse(name: &str, text: &str, technologies: Technologies) -> Result<Gateway, Complaints> {
    // Scenario tables may stand in the same file; others are refused.
    let rules = |gateway: &Gateway| versions(gateway).chain(unanswered(gateway)).collect();
    book(technologies).load(name, text, |sections| gateway(sections, technologies), rules)
}

/// Default sessions of a table.
const SESSIONS: u64 = 1 << 20;

fn gateway(sections: &mut Sections<'_>, technologies: Technologies) -> Option<Gateway> {
    let keys = sections.table::<GatewayKeys>("gateway");
    let left = side(sections, "left");
    let right = side(sections, "right");
    let (plays, workers) = keys.as_ref().map_or((Plays::default(), 1), |keys| (keys.plays, keys.workers));
    let technology = technology(sections, technologies, plays, workers);
    let injected = sections.table::<InjectedFault>("gateway.known-truth");
    let GatewayKeys { plays, workers, io, busy, answer, tcp_mss, socket } = keys?;
    let technology = technology?;
    let socket = socket.unwrap_or_else(default_socket);
    let (left, right, injected) = (left?, right?, injected?);
    let fits = || segment_that_fits(technology.as_ref(), plays, [&left, &right]);
    let largest_mss = tcp_mss.map(|given| given.unwrap_or_else(fits));
    check_fault(sections, "gateway.known-truth.fault", injected.fault.as_deref(), (plays, &*technology));
    Some(Gateway { plays, workers, io, busy, answer, largest_mss, socket, left, right, technology, injected })
}

/// The largest TCP segment that both links take.
fn segment_that_fits(technology: &dyn Technology, plays: Plays, sides: [&Side; 2]) -> u16 {
    const IPV4: usize = 20;
    const IPV6: usize = 40;
    const TCP: usize = 20;
    let (left, right) = technology.versions(plays);
    let over_ipv6 = (IPV4 + technology.overhead()).max(IPV6);
    let headers = |version| TCP + if version == 6 { over_ipv6 } else { IPV4 };
    let room = |(side, version): (&Side, u8)| side.mtu.saturating_sub(headers(version) as u16);
    sides.into_iter().zip([left, right]).map(room).fold(u16::MAX, u16::min)
}

/// Where the control socket is when the file does not say.
pub fn default_socket() -> PathBuf {
    let folder = std::env::var_os("XDG_RUNTIME_DIR").map_or_else(|| PathBuf::from("/run"), PathBuf::from);
    folder.join("natmeter-gateway.sock")
}

fn side(sections: &mut Sections<'_>, name: &str) -> Option<Side> {
    let path = format!("gateway.{name}");
    if !sections.has(&path) {
        let refusal = sections.refuse(format!("the gateway has no [{path}]"));
        refusal.instead(format!("add [{path}] with interface, address and next-hop"));
        return None;
    }
    sections.table::<SideKeys>(&path)
}

fn technology(
    sections: &mut Sections<'_>,
    technologies: Technologies,
    plays: Plays,
    workers: usize,
) -> Option<Box<dyn Technology>> {
    let path = |entry: &tech::ListEntry| format!("technology.{}", entry.name());
    let mut found = technologies.iter().filter(|entry| sections.has(&path(entry)));
    let Some(first) = found.next() else {
        if !sections.has("technology") {
            let all: Vec<String> = technologies.iter().map(|entry| format!("[{}]", path(entry))).collect();
            let refusal = sections.refuse("the gateway has no technology");
            refusal.instead(format!("add a table for one: {}", all.join(", ")));
        }
        return None;
    };
    if let Some(second) = found.next() {
        let refusal = sections.refuse("a gateway can have only one technology");
        let refusal = refusal.at(At::key(path(second)), "the second").at(At::key(path(first)), "the first");
        refusal.instead("keep one of the tables");
        return None;
    }
    let mut section = sections.section(&path(first));
    section.part = tech::PLAYS.iter().find(|word| word.1 == plays && first.names.has_edges()).map(|word| word.0);
    let mut technology = (first.read)(&mut section)?;
    technology.settle(SESSIONS);
    let one_worker = technology.wholes(plays, 1).is_some();
    if let Some(state) = technology.state_mut() {
        state.limit_subscribers(workers, one_worker);
    }
    // Defaults count, too.
    technology.faults().into_iter().for_each(|fault| section.fault(fault));
    Some(technology)
}

/// Returns both sides with the paths of their tables.
fn sides(gateway: &Gateway) -> [(&Side, &'static str); 2] {
    [(&gateway.left, "gateway.left"), (&gateway.right, "gateway.right")]
}

/// Sides whose IP versions are not those that the technology needs.
fn versions(gateway: &Gateway) -> impl Iterator<Item = Fault> {
    let (left, right) = gateway.technology.versions(gateway.plays);
    let name = gateway.technology.name();
    let wrong = move |((side, path), want): ((&Side, &str), u8)| {
        let is = if side.address.is_ipv4() { 4 } else { 6 };
        (is != want).then(|| {
            Fault::new(format!("{name} speaks IPv{want} on [{path}], whose address is IPv{is}"))
                .at(format!("{path}.address"), format!("an IPv{is} address"))
                .instead(format!("write an IPv{want} address in [{path}], or choose what the gateway `plays`"))
        })
    };
    sides(gateway).into_iter().zip([left, right]).filter_map(wrong)
}

/// Next hops whose Ethernet addresses the gateway cannot learn: it does not receive their answers.
fn unanswered(gateway: &Gateway) -> impl Iterator<Item = Fault> {
    let has_no_answers = !gateway.answer && matches!(gateway.io, Io::AfXdpGeneric | Io::AfXdpNative);
    let is_asked = move |side: &Side| has_no_answers && matches!(side.next_hop, NextHop::Ip(_));
    let by_ip = sides(gateway).into_iter().filter(move |(side, _)| is_asked(side));
    let fault = |(_, path): (&Side, &str)| {
        Fault::new(format!("the Ethernet address of the next hop of [{path}] cannot be resolved"))
            .at(format!("{path}.next-hop"), "an IP address")
            .at("gateway.answer", "with XDP, the kernel receives ARP and Neighbor Discovery")
            .instead("write the Ethernet address of the next hop, or answer = true")
    };
    by_ip.map(fault)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"
[gateway.left]
interface = "veth0"
address = "10.0.0.1"
next-hop = "10.0.0.2"

[gateway.right]
interface = "veth1"
address = "198.51.100.1"
next-hop = "02:00:00:00:02:02"
mtu = 1400

[technology.nat44]
inside = ["10.0.0.0/8", "192.168.0.0/16"]
pool = "198.51.100.10 - 198.51.100.13"
"#;

    #[test]
    fn a_file_is_understood() {
        let g = parse("gw.toml", GOOD, tech::ALL).unwrap();
        assert_eq!((g.workers, g.io, g.busy, g.answer), (1, Io::AfPacket, false, true));
        assert_eq!((g.left.next_hop, g.right.mtu), (NextHop::Ip("10.0.0.2".parse().unwrap()), 1400));
        let outside = g.technology.outside(g.plays).unwrap();
        assert_eq!((g.technology.name(), outside.pool[0].1.count), ("nat44", 4));
        assert_eq!(g.technology.state().unwrap().mapping, tech::Mapping::EndpointIndependent);
    }

    #[test]
    fn the_files_of_the_page_are_understood() {
        let files = include_str!("../../docs/gateway.md").split("```toml\n").skip(1);
        let files: Vec<&str> = files.map(|rest| rest.split("```").next().unwrap()).collect();
        assert!(files.len() >= 2);
        for file in files {
            parse("docs/gateway.md", file, tech::ALL).unwrap_or_else(|error| panic!("{error}"));
        }
    }

    #[test]
    fn a_subscriber_has_a_quota_unless_the_file_says_none() {
        let quota = |line: &str| {
            let text = format!("{GOOD}table = \"64k\"\n{line}");
            parse("gw.toml", &text, tech::ALL).unwrap().technology.state().unwrap().session_quota()
        };
        assert_eq!(quota(""), Some(16_000));
        assert_eq!(quota("session-quota = 9\n"), Some(9));
        assert_eq!(quota("session-quota = \"none\"\n"), None);
    }

    #[test]
    fn static_mappings_are_read_and_wrong_ones_shown() {
        let told = |line: &str| {
            parse("gw.toml", &format!("{GOOD}static = {line}\n"), tech::ALL).map_err(|error| error.to_string())
        };
        assert!(
            told("[\"tcp 198.51.100.10:8080 -> 10.0.0.5:80\", \"udp 198.51.100.11:5-9 -> 10.0.0.5:15-19\"]").is_ok()
        );
        let error = told("[\"tcp 198.51.100.10:8080 -> 10.0.0.5:80\", \"tcp 198.51.100.10:80\"]").unwrap_err();
        assert!(error.contains("gw.toml:16"), "{error}");
        assert!(error.contains("write such as \"tcp 203.0.113.5:8080 -> 192.168.1.2:80\""), "{error}");
    }

    #[test]
    fn a_translator_has_several_prefixes() {
        let of = |technology: &str, prefixes: &str| {
            let nat64 = format!("[technology.{technology}]\npref64 = {prefixes}\n");
            let text = GOOD.replace("10.0.0.1", "2001:2::1").replace("10.0.0.2", "2001:2::2");
            let text = format!("{}{nat64}", text.split("[technology").next().unwrap());
            parse("gw.toml", &text, tech::ALL).map(drop).map_err(|error| error.to_string())
        };
        let told = |prefixes: &str| {
            let nat64 = of("nat64", &format!("{prefixes}\npool = \"198.51.100.10\""));
            assert_eq!(of("siit", prefixes).is_ok(), nat64.is_ok(), "SIIT: {prefixes}");
            nat64
        };
        assert_eq!(told("[\"2001:2:0:1000::/96\", \"2001:2:0:1001::/96\"]"), Ok(()));
        assert_eq!(told("\"2001:2:0:1000::/96\""), Ok(()));
        let wrong = told("[\"2001:2:0:1000::/96\", \"2001:2:0:1001::/95\"]").unwrap_err();
        assert!(wrong.contains("no IPv4 address can be embedded in the prefix of `pref64`"), "{wrong}");
        let nested = told("[\"2001:2:0:1000::/96\", \"2001:2::/32\"]").unwrap_err();
        assert!(nested.contains("an address has one prefix"), "{nested}");
        let many: Vec<String> = (0..17).map(|n| format!("\"2001:2:0:{n:x}::/96\"")).collect();
        assert!(told(&format!("[{}]", many.join(", "))).unwrap_err().contains("16 prefixes at most"));
    }

    /// Both sides, with these IP versions, and a technology.
    fn told(plays: &str, [left, right]: [u8; 2], technology: &str) -> Result<(), String> {
        let side = |name, version| {
            let (address, n) = if version == 4 { ("198.51.100", '.') } else { ("2001:2:", ':') };
            let next = "next-hop = \"02:00:00:00:02:02\"";
            format!("[gateway.{name}]\ninterface = \"{name}\"\naddress = \"{address}{n}1\"\n{next}\n")
        };
        let text =
            format!("[gateway]\nplays = \"{plays}\"\n{}{}{technology}", side("left", left), side("right", right));
        parse("gw.toml", &text, tech::ALL).map(drop).map_err(|error| error.to_string())
    }

    #[test]
    fn a_subscriber_prefix_has_an_effect_with_the_default_quota() {
        for technology in
            ["[technology.nat64]\npref64 = \"2001:2:0:64::/96\"", "[technology.464xlat]\npref64 = \"2001:2:0:64::/96\""]
        {
            let keys = format!("{technology}\npool = \"198.51.100.10\"\nsubscriber-prefix = 128\n");
            assert_eq!(told("pe", [6, 4], &keys), Ok(()));
            let error = told("pe", [6, 4], &format!("{keys}session-quota = \"none\"\n")).unwrap_err();
            assert!(error.contains("no quota counts subscribers"), "{error}");
        }
        let keys = "[technology.nat66]\npool = \"2001:2:0:200::/120\"\nsubscriber-prefix = 56\n";
        assert_eq!(told("pe", [6, 6], keys), Ok(()));
    }

    #[test]
    fn each_part_needs_its_own_keys_alone() {
        let (ds_lite, pool) = ("[technology.ds-lite]\naftr = \"2001:2:0:100::2\"\n", "pool = \"198.51.100.10\"\n");
        let (b4, xlat) = ("b4 = \"2001:2:0:4000::1\"\n", "[technology.464xlat]\npref64 = \"2001:2:0:64::/96\"\n");
        let clat = "clat = \"2001:2:0:2::/96\"\n";
        for (plays, versions, technology, own, missing) in [
            ("ce", [4, 6], ds_lite, b4, "b4"),
            ("pe", [6, 4], ds_lite, pool, "pool"),
            ("ce", [4, 6], xlat, clat, "clat"),
            ("pe", [6, 4], xlat, pool, "pool"),
        ] {
            assert_eq!(told(plays, versions, &format!("{technology}{own}")), Ok(()), "{technology}");
            let error = told(plays, versions, technology).unwrap_err();
            assert!(error.contains(&format!("has no `{missing}`")), "{error}");
        }
        for (technology, own) in [(ds_lite, b4), (ds_lite, pool), (xlat, clat), (xlat, pool)] {
            assert!(told("dual", [4, 4], &format!("{technology}{own}")).is_err(), "both parts need both");
        }
        assert!(told("ce", [4, 4], "[technology.nat44]\n").unwrap_err().contains("has no `pool`"), "it has no parts");
    }

    #[test]
    fn a_next_hop_that_cannot_be_resolved_is_refused() {
        let with = |keys: &str| parse("gw.toml", &format!("[gateway]\n{keys}\n{GOOD}"), tech::ALL);
        for io in ["af-xdp-generic", "af-xdp-native"] {
            let error = with(&format!("io = \"{io}\"\nanswer = false")).unwrap_err().to_string();
            assert!(
                error.contains("the Ethernet address of the next hop of [gateway.left] cannot be resolved"),
                "{error}"
            );
            assert!(error.contains("write the Ethernet address of the next hop, or answer = true"), "{error}");
            assert!(!error.contains("[gateway.right]"), "it has an Ethernet address: {error}");
            assert!(with(&format!("io = \"{io}\"")).is_ok());
            let by_ethernet = GOOD.replace("\"10.0.0.2\"", "\"02:00:00:00:01:02\"");
            let text = format!("[gateway]\nio = \"{io}\"\nanswer = false\n{by_ethernet}");
            assert!(parse("gw.toml", &text, tech::ALL).is_ok());
        }
        assert!(with("io = \"af-packet\"\nanswer = false").is_ok(), "packet sockets receive the answers too");
    }

    #[test]
    fn mistakes_are_shown_with_their_words() {
        let told = |from: &str, to: &str| parse("gw.toml", &GOOD.replace(from, to), tech::ALL).unwrap_err().to_string();
        assert!(told("interface = \"veth0\"", "interfaces = \"veth0\"").contains("did you mean `interface`?"));
        assert!(
            told("address = \"10.0.0.1\"", "address = \"2001:2::1\"").contains("nat44 speaks IPv4 on [gateway.left]")
        );
        assert!(told("[technology.nat44]", "[technology.nat45]").contains("did you mean [technology.nat44]?"));
        assert!(told("next-hop = \"10.0.0.2\"\n", "").contains("[gateway.left] has no `next-hop`"));
        assert!(told("10.0.0.0/8", "10.0.0.1-10.0.0.6").contains("this is not a prefix"));
        assert!(parse("gw.toml", "", tech::ALL).unwrap_err().to_string().contains("the gateway has no technology"));
    }
}
