//! A file that describes a test bed: the tester's two ports, the cabling, and the boxes between
//! them. Many scenarios share it.

mod place;
mod rules;
pub mod software;
mod t0;

pub use place::{GuestKind, On};
pub use software::{BoxPart, Forwarder, Software};
pub use t0::{T0, read_t0, t0_file};

use crate::cores::Cores;
use crate::file::{ScenarioError, text_of};
use crate::tables::NextHop;
use key::TreeTable;
use key::kind::{
    Choice, Vlan, choice, duration, ip, ip6, list, mac, maybe, number, or_word, own, path, rate, text,
    text_of as words, word_for, yes_or_no,
};
use key::quantity::WrittenRate;
use key::{Book, Chapter, Complaints, Fault, Sections, Value, ValueKind as _, Wrong, computed, needed, or};
use method::Nanos;
use place::place;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};
use tech::{Plays, Technology};
use wire::{AddrRange, Mac, VlanId};

#[derive(Clone, Debug, PartialEq)]
pub struct Bed {
    /// What holds for the whole bed.
    pub keys: BedKeys,
    /// The tester's port on the customers' side.
    pub left: PortKeys,
    /// The tester's port on the Internet's side.
    pub right: PortKeys,
    /// Boxes in the order in which a frame from the left passes them: one, or those of a Dual DUT.
    pub boxes: Vec<(&'static str, BoxKeys)>,
    /// The folder of the file.
    pub folder: PathBuf,
    /// What the tester's ports can do, cabled to each other.
    pub t0: Vec<T0>,
}

/// The text of a bed file, kept in the record of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct BedText {
    /// Name of the file.
    pub name: String,
    /// What it says.
    pub text: String,
    /// What the tester's ports can do, from the file beside it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub t0: Vec<T0>,
}

/// Back-end of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortIo {
    /// Packet sockets.
    AfPacket,
    /// XDP sockets; program in the driver if supported, else in the kernel's generic receive path.
    AfXdp,
    /// XDP sockets, program in the kernel's generic receive path.
    AfXdpGeneric,
    /// XDP sockets, program in the driver.
    AfXdpNative,
    /// A TAP that natmeter makes; its interface belongs to the box.
    Tap,
}

impl PortIo {
    /// Whether the port has XDP sockets, which see only frames of their queues.
    pub fn is_xdp(self) -> bool {
        !matches!(self, PortIo::AfPacket | PortIo::Tap)
    }
}

const PORT_IO: &[Choice<PortIo>] = &[
    ("af-packet", PortIo::AfPacket, "packet sockets: any interface"),
    ("af-xdp", PortIo::AfXdp, "XDP, in the driver if it supports that"),
    ("af-xdp-generic", PortIo::AfXdpGeneric, "XDP in the kernel's generic receive path"),
    ("af-xdp-native", PortIo::AfXdpNative, "XDP in the driver"),
    ("tap", PortIo::Tap, "a TAP instead of a veth pair; only with `on = \"namespace\"`"),
];

/// Whether XDP sockets share their memory with the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZeroCopy {
    /// The run is refused without it.
    Required,
    /// If the driver supports it.
    IfPossible,
    /// Frames are copied.
    Never,
}

const ZERO_COPY: &[Choice<ZeroCopy>] = &[
    ("required", ZeroCopy::Required, ""),
    ("if-possible", ZeroCopy::IfPossible, "the report says what was used"),
    ("never", ZeroCopy::Never, ""),
];

/// Test frames with the operator's own addresses need this silence: longer than the interval of
/// most protocols of switches.
const LEAST_SILENCE: Nanos = Nanos::from_secs(10);

key::table! {
    /// The whole bed.
    pub struct BedKeys {
        /// Name of the bed; every report prints it.
        name: String = "name", text(), or("test bed");
        /// How the ports are connected: "direct", or the switch in between (RFC 9693, section 6). Every report prints it.
        cabling: String = "cabling", text(), or("direct");
        /// The operator's own prefixes that test frames may use; only with `isolated`.
        allow_addresses: Vec<String> = "allow-addresses", list(text()), computed("only addresses for benchmarks, documentation and private use");
        /// Whether only the boxes are behind both ports; if so, `natmeter bed check` fails on any foreign frame in `silence`.
        isolated: bool = "isolated", yes_or_no(), or("false");
        /// How long natmeter listens for foreign frames before it sends its own; with `allow-addresses` at least 10 s.
        silence: Nanos = "silence", duration(Nanos::from_millis(1)..=Nanos::from_secs(3600)), or("10 s");
        /// Names of findings for which natmeter must not refuse an interface: `default-route`, `ssh`,
        /// `global-address`, `member` (of a bridge or bond), `bridge` (between both ports).
        i_know: Vec<String> = "i-know", list(text()), computed("none");
    }
}

key::table! {
    /// One port of the tester.
    pub struct PortKeys {
        /// Interface; it exists and is up. With `on = "namespace"` natmeter makes it (with `io = "tap"` only the box's end).
        interface: String = "interface", text(), needed("\"enp5s0f0\"");
        /// Back-end.
        io: PortIo = "io", choice(PORT_IO), or("af-packet");
        /// Whether XDP sockets share their memory with the driver.
        zero_copy: ZeroCopy = "zero-copy", choice(ZERO_COPY), or("if-possible");
        /// Queues of the interface; each lane of the tester has one queue of each port.
        queues: u32 = "queues", number(1..=64), or("1");
        /// Addresses of the tester with their prefix lengths; natmeter answers ARP, Neighbor Solicitations and pings to them.
        addresses: Vec<(IpAddr, u8)> = "addresses", list(host()), needed("[\"198.18.0.2/24\"]");
        /// IP address of the box's port; natmeter resolves it by ARP or Neighbor Discovery.
        gateway: Option<IpAddr> = "gateway", maybe(ip()), computed("`mac` must be given");
        /// IPv6 address of the box's port for technologies that have IPv6 on this side, if `gateway` is an IPv4 address.
        gateway_ipv6: Option<Ipv6Addr> = "gateway-ipv6", maybe(ip6()), computed("the box has one address");
        /// Ethernet address of the box's port.
        mac: Option<Mac> = "mac", maybe(mac()), computed("that of `gateway`");
        /// Line rate: upper end of every search.
        line_rate: Option<WrittenRate> = "line-rate", or_word("auto", rate()), or("auto");
        /// The VLAN of the port's link (IEEE 802.1Q), or its two VLANs (IEEE 802.1ad). The outer tag has the type
        /// 0x88a8; the interface needs an MTU 8 octets larger.
        vlan: Option<VlanId> = "vlan", maybe(Vlan), computed("frames have no tag");
    }
}

const DAY: Nanos = Nanos::from_secs(86_400);

key::table! {
    /// A box. Hooks are command lines of a shell; each is optional. `{connections}`, `{cores}`, `{table}`, `{hash-size}`,
    /// `{udp-timeout}`, `{frame-size}` and the keys of the technology stand for the values of the point. `{left-address}`,
    /// `{left-next-hop}`, `{right-address}` and `{right-next-hop}` stand for addresses of the box and of its next hops, if
    /// natmeter knows them. `{neighbours}` has a line for each address of the tester beside the box: side, address and Ethernet
    /// address. `{customers}` and `{mapping-rules}` stand for the customers and mapping rules of an edge, one a line.
    /// `{technology}` and `{part}` (`whole`, `ce`, `pe`, `dual`) stand for what the box is.
    pub struct BoxKeys {
        /// Its software, which natmeter configures and restores; `external` is what you or your hooks configure.
        software: Option<&'static Software> = "software", choice(software::CHOICES), or("external");
        /// Its software for each technology, if a scenario has several: `{ nat44 = "nftables", nat64 = "jool" }`.
        software_of: Option<SoftwareOf> = "software-of", maybe(software_of()), computed("`software` for all");
        /// Names of the box's interfaces, left and right, for software that natmeter configures.
        interfaces: Vec<String> = "interfaces", list(text()), computed("`left` and `right` in a guest or namespace; not needed with `external`");
        /// Where the hooks run: `local`, `namespace`, `ssh:DESTINATION` (OpenSSH with your configuration), or `guest`, a
        /// virtual machine that natmeter boots: `guest:uml` (also `guest`) or `guest:qemu`.
        on: On = "on", place(), or("local");
        /// Brings the box into the state of a point.
        prepare: Option<String> = "prepare", maybe(text()), computed("the box is ready");
        /// Empties its connection tracking table.
        clear: Option<String> = "clear", maybe(text()), computed("natmeter waits until connections have timed out");
        /// Prints the number of entries in its table.
        count: Option<String> = "count", maybe(text()), computed("only the tester counts connections");
        /// Prints the octets of memory in use, as its last number.
        memory: Option<String> = "memory", maybe(text()), computed("the memory of a connection is not measured");
        /// Resets the box, and returns at once or when it is back (RFC 6201). natmeter runs it in mid-trial.
        reset: Option<String> = "reset", maybe(text()), computed("the reset time is not measured");
        /// Switches over to the standby box. natmeter runs it in mid-trial.
        failover: Option<String> = "failover", maybe(text()), computed("no failover is measured");
        /// Sets the cores that forward packets. With `{cores}` they are those of `[sweep]`, and the hook prints their
        /// number at its end; without, the same at every point.
        cores: Option<String> = "cores", maybe(text()), computed("natmeter sets the cores of Linux software that it configures: by CPU hot-unplug in a guest or over ssh, by receive packet steering in a namespace");
        /// Restores the box after a point or an error. It must be safe to run twice.
        restore: Option<String> = "restore", maybe(text()), computed("the box stays as it is");
        /// Succeeds if the box is alive.
        alive: Option<String> = "alive", maybe(text()), computed("not checked");
        /// Starts a program in the foreground, with `{left}` and `{right}` for its interfaces; only with `on = "namespace"`.
        start: Option<String> = "start", maybe(text()), computed("none");
        /// OpenSSH configuration file (`ssh -F`), relative to the bed file.
        ssh_config: Option<PathBuf> = "ssh-config", maybe(path()), computed("your own");
        /// Processors of a guest, each with a queue of each interface; User-Mode Linux has one.
        guest_cpus: u32 = "guest-cpus", number(1..=64), or("1");
        /// How natmeter gives a guest the cores of a point. With `hot-unplug`, the guest boots with all its processors, and natmeter
        /// takes those beyond the point's cores offline. With `boot`, its kernel boots with `nr_cpus` set to this number, so that
        /// drivers choose their queues for it.
        guest_cores: GuestCores = "guest-cores", choice(GUEST_CORES), or("hot-unplug");
        /// Memory of a guest, in MiB.
        guest_memory: u32 = "guest-memory", number(64..=1 << 20), or("256");
        /// Time limit of each hook.
        timeout: Nanos = "timeout", duration(Nanos::from_secs(1)..=DAY), or("30 s");
        /// Facts about the box for the report, such as model, NIC and system.
        facts: Option<Facts> = "facts", maybe(facts()), computed("none");
    }
}

/// How a guest gets the cores of a point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GuestCores {
    /// The others go offline.
    #[default]
    HotUnplug,
    /// The kernel of the guest boots with `nr_cpus` set to this number.
    Boot,
}

const GUEST_CORES: &[Choice<GuestCores>] = &[
    ("hot-unplug", GuestCores::HotUnplug, "natmeter takes the other processors offline"),
    ("boot", GuestCores::Boot, "kernel parameter `nr_cpus`; `guest:qemu`"),
];

/// How natmeter sets the cores of a box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoresBy {
    /// The other cores of the box go offline.
    Hotplug,
    /// The kernel of the guest boots with `nr_cpus` set to this number.
    Boot,
    /// Receive packet steering, in a namespace of this machine.
    Steering,
}

/// Technologies, each with its software.
pub type SoftwareOf = Vec<(String, &'static Software)>;

/// Names and words.
pub type Facts = Vec<(String, String)>;

/// An address with its prefix length: `198.18.0.2/24`.
fn host() -> impl key::ValueKind<Out = (IpAddr, u8)> {
    fn parse(value: &Value) -> Result<(IpAddr, u8), Wrong> {
        let instead = "write one such as \"198.18.0.2/24\" or \"2001:2::2/64\"";
        prefix(&words(value)?).ok_or_else(|| Wrong::new("this is not an address with its prefix length", instead))
    }
    own(parse, "address with its prefix length", || json!({ "type": "string" }))
}

/// A table of technologies and software.
fn software_of() -> impl key::ValueKind<Out = SoftwareOf> {
    fn parse(value: &Value) -> Result<SoftwareOf, Wrong> {
        let table =
            table_of(value, "write software by technology, such as { nat44 = \"nftables\", nat64 = \"jool\" }")?;
        let of = |entry: &key::TreeEntry| {
            let software = choice(software::CHOICES).parse(&entry.node.value)?;
            let software = software.ok_or_else(|| {
                Wrong::new(
                    "natmeter does not configure `external`",
                    "name software that natmeter configures, such as { nat44 = \"nftables\", nat64 = \"jool\" }",
                )
            })?;
            if software.does.iter().all(|does| does.technology != entry.name) {
                let wrong =
                    format!("natmeter does not configure `{}` for the technology `{}`", software.name, entry.name);
                return Err(Wrong::new(wrong, "name software for this technology, or correct the technology's name"));
            }
            Ok((entry.name.clone(), software))
        };
        table.entries().iter().map(of).collect()
    }
    let json = || json!({ "type": "object", "additionalProperties": choice(software::CHOICES).shape().json });
    own(parse, "table of technologies and software", json)
}

/// A table of names and words.
fn facts() -> impl key::ValueKind<Out = Facts> {
    fn parse(value: &Value) -> Result<Facts, Wrong> {
        let table = table_of(value, "write a table of names and words, such as { computer = \"Dell R430\" }")?;
        table.entries().iter().map(|entry| Ok((entry.name.clone(), words(&entry.node.value)?))).collect()
    }
    own(parse, "table of names and words", || json!({ "type": "object", "additionalProperties": { "type": "string" } }))
}

fn table_of<'a>(value: &'a Value, instead: &str) -> Result<&'a TreeTable, Wrong> {
    value.as_table().ok_or_else(|| Wrong::new(format!("{} here", value.type_name()), instead))
}

/// Boxes of a Dual DUT, in the order in which a frame from the left passes them: the customer edge,
/// or its NAT44 and its NAT46 (split MAP-T CE), and the provider edge.
const ROLES: [&str; 4] = ["ce", "ce-nat44", "ce-nat46", "pe"];

pub fn book() -> Book {
    let roles = ROLES.map(|role| Chapter::of::<BoxKeys>(format!("dut.{role}")));
    let mut chapters = vec![
        Chapter::of::<BedKeys>("bed"),
        Chapter::of::<PortKeys>("bed.left"),
        Chapter::of::<PortKeys>("bed.right"),
        Chapter::of::<BoxKeys>("dut"),
    ];
    chapters.extend(roles);
    Book { chapters, ..Book::default() }
}

/// Reads and checks a bed file.
///
/// # Errors
/// When the file cannot be read, and everything that is wrong with it.
pub fn read(path: &Path) -> Result<(Bed, BedText), ScenarioError> {
    let text = text_of(path)?;
    // A resumed run may begin in another folder.
    let path = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let t0 = read_t0(&path)?;
    let written = BedText { name: path.display().to_string(), text, t0 };
    Ok((parse(&written)?, written))
}

/// Checks a bed file that is already text.
///
/// # Errors
/// Everything that is wrong with it.
pub fn parse(file: &BedText) -> Result<Bed, Complaints> {
    let tree = key::read(&file.name, &file.text)?;
    let of_scenario = ["technology", "sweep", "measure", "traffic"].into_iter().find_map(|table| tree.get(table));
    if let Some(table) = of_scenario.filter(|_| tree.get("bed").is_none()) {
        let fault = Fault::new("this is a scenario, not a bed file").at(table.key, "a table of scenarios");
        let fault = fault.instead(format!("natmeter bed check BED {0}, or: natmeter run {0} --bed BED", file.name));
        let spans = key::Spans::of(&tree);
        return Err(Complaints::new(tree.sources, &spans, vec![fault], Vec::new()));
    }
    let bed = book().load(&file.name, &file.text, bed, rules::check)?;
    let folder = Path::new(&file.name).parent().map(Path::to_path_buf).unwrap_or_default();
    Ok(Bed { folder, t0: file.t0.clone(), ..bed })
}

fn bed(sections: &mut Sections<'_>) -> Option<Bed> {
    let keys = sections.table::<BedKeys>("bed");
    let left = sections.table::<PortKeys>("bed.left");
    let right = sections.table::<PortKeys>("bed.right");
    let in_roles: Vec<&'static str> = ROLES.into_iter().filter(|role| sections.has(&format!("dut.{role}"))).collect();
    let boxes: Vec<Option<(&'static str, BoxKeys)>> = if in_roles.is_empty() {
        vec![sections.table::<BoxKeys>("dut").map(|keys| ("dut", keys))]
    } else {
        let mut all = sections.tree.table("dut").into_iter().flat_map(TreeTable::entries);
        if let Some(entry) = all.find(|entry| !ROLES.contains(&entry.name.as_str())) {
            let refusal = sections.refuse(format!("`dut.{}` does not say to which box it belongs", entry.name));
            refusal.at(entry.key, "which box?").instead(format!("move it to [dut.{}]", in_roles[0]));
        }
        let mut of_role = |role| Some((role, sections.table::<BoxKeys>(&format!("dut.{role}"))?));
        in_roles.into_iter().map(&mut of_role).collect()
    };
    let boxes = boxes.into_iter().collect::<Option<_>>()?;
    Some(Bed { keys: keys?, left: left?, right: right?, boxes, folder: PathBuf::new(), t0: Vec::new() })
}

/// Whether two addresses are in one network of this length.
pub fn shares_network((own, length): (IpAddr, u8), other: IpAddr) -> bool {
    let bits = |address: IpAddr| match address {
        IpAddr::V4(a) => (u128::from(u32::from(a)) << 96, true),
        IpAddr::V6(a) => (u128::from(a), false),
    };
    let ((own, four), (other, of_four)) = (bits(own), bits(other));
    let is_link_local = !of_four && other >> 118 == 0x3fa;
    let mask = if length == 0 { 0 } else { u128::MAX << (128 - u32::from(length)) };
    four == of_four && ((own ^ other) & mask == 0 || is_link_local)
}

/// Address and prefix length; none if the text is another.
pub fn prefix(written: &str) -> Option<(IpAddr, u8)> {
    let (address, length) = written.split_once('/')?;
    let (address, length): (IpAddr, u8) = (address.trim().parse().ok()?, length.trim().parse().ok()?);
    (length <= if address.is_ipv4() { 32 } else { 128 }).then_some((address, length))
}

impl Bed {
    pub fn ports(&self) -> [(&'static str, &PortKeys); 2] {
        [("left", &self.left), ("right", &self.right)]
    }

    /// Whether the user knows about a danger.
    pub fn knows(&self, danger: &str) -> bool {
        self.keys.i_know.iter().any(|known| known == danger)
    }

    /// Whether natmeter makes the links, for a box in a namespace or a guest.
    pub fn makes_links(&self) -> bool {
        self.boxes.iter().any(|(_, keys)| keys.is_made())
    }

    /// The bed for one technology: software of each box, gateway address of each port; `None` is plain forwarding.
    pub fn of(&self, technology: Option<(Plays, &dyn Technology)>) -> Cow<'_, Bed> {
        let has_choice = self.boxes.iter().any(|(_, keys)| keys.software_of.is_some());
        let has_addresses = self.ports().iter().any(|(_, port)| port.gateway_ipv6.is_some());
        if !(has_choice || has_addresses) {
            return Cow::Borrowed(self);
        }
        let mut bed = self.clone();
        for (role, keys) in &mut bed.boxes {
            let asked = BoxPart::of(technology, role);
            let own = keys.software_of.iter().flatten().find(|(of, _)| of == asked.technology);
            keys.software = own.map(|(_, software)| *software).or(keys.software);
        }
        let (left, right) = technology.map_or((4, 4), |(plays, technology)| technology.versions(plays));
        for (port, version) in [(&mut bed.left, left), (&mut bed.right, right)] {
            if version == 6 {
                port.gateway = port.gateway_ipv6.map(IpAddr::V6).or(port.gateway);
            }
        }
        Cow::Owned(bed)
    }

    /// The box beside each port: left, right.
    pub(crate) fn beside(&self) -> [&BoxKeys; 2] {
        let last = self.boxes.len() - 1;
        [0, last].map(|at| &self.boxes[at].1)
    }

    /// Lanes of the tester: one a queue, on the side that has more.
    pub fn lanes(&self) -> u32 {
        self.left.queues.max(self.right.queues)
    }

    /// Line rate of the slower port with frames of this size with FCS, in frames per second, if the file says it.
    pub fn line_rate(&self, frame_size: usize) -> Option<u64> {
        let rates = [&self.left, &self.right].map(|port| port.line_rate.map(|rate| rate.frames_per_second(frame_size)));
        rates.into_iter().flatten().min()
    }

    /// Whether the operator allowed these addresses.
    pub fn allows(&self, range: AddrRange) -> bool {
        let last = u32::from(range.first).checked_add(range.count.saturating_sub(1));
        let allowed = |written: &String| match prefix(written) {
            Some(network @ (IpAddr::V4(_), _)) => last.is_some_and(|last| {
                [range.first, last.into()].iter().all(|a: &Ipv4Addr| shares_network(network, IpAddr::V4(*a)))
            }),
            _ => false,
        };
        self.keys.isolated && self.keys.allow_addresses.iter().any(allowed)
    }
}

impl PortKeys {
    /// Its first IPv4 address.
    pub fn ipv4(&self) -> Option<Ipv4Addr> {
        self.addresses.iter().find_map(|(address, _)| if let IpAddr::V4(a) = address { Some(*a) } else { None })
    }

    /// Next host of its first IPv4 network that is not the box; its own address if there is none.
    pub fn next_host(&self) -> Option<Ipv4Addr> {
        let own = self.ipv4()?;
        let length = self.addresses.iter().find(|(address, _)| *address == own).map_or(32, |(_, length)| *length);
        let hosts = u32::MAX.checked_shr(length.into()).unwrap_or(0);
        // The last one is the broadcast address.
        let others = u32::from(own).saturating_add(1)..u32::from(own) | hosts;
        Some(others.map(Ipv4Addr::from).find(|host| self.gateway != Some((*host).into())).unwrap_or(own))
    }

    /// What T0 depends on, in words.
    pub fn settings(&self) -> String {
        let (io, copy) = (word_for(PORT_IO, &self.io), word_for(ZERO_COPY, &self.zero_copy));
        let vlan = self.vlan.map_or_else(String::new, |vlan| format!(", VLAN {vlan}"));
        format!("{}, {io}, {} queues, zero-copy {copy}{vlan}", self.interface, self.queues)
    }

    /// The neighbour that everything is sent to.
    pub fn next_hop(&self) -> Option<NextHop> {
        self.mac.map(NextHop::Mac).or_else(|| self.gateway.map(NextHop::Ip))
    }
}

impl BoxKeys {
    /// Interfaces, left and right; none if the file does not say them.
    pub fn both_interfaces(&self) -> Option<[&str; 2]> {
        match &self.interfaces[..] {
            [left, right] => Some([left, right]),
            _ if self.is_made() => Some(["left", "right"]),
            _ => None,
        }
    }

    /// Kind of guest, if it is one.
    pub fn guest(&self) -> Option<GuestKind> {
        if let On::Guest(kind) = self.on { Some(kind) } else { None }
    }

    /// Whether natmeter gives it addresses and routes.
    pub fn has_network(&self) -> bool {
        self.guest().is_some() || (self.on == On::Namespace && self.is_configured())
    }

    /// Whether natmeter configures its software.
    pub(crate) fn is_configured(&self) -> bool {
        self.software.is_some() || self.software_of.is_some()
    }

    /// Whether natmeter makes it and its links.
    fn is_made(&self) -> bool {
        matches!(self.on, On::Namespace | On::Guest(_))
    }

    /// Whether a hook or program of the user configures it for each point.
    pub fn is_configured_by_user(&self) -> bool {
        self.prepare.is_some() || self.start.is_some()
    }

    /// Whether natmeter, a hook or the box's program sets the cores of the point.
    pub fn has_varying_cores(&self) -> bool {
        let by_hook = [&self.cores, &self.prepare, &self.start];
        self.cores_by().is_some() || by_hook.into_iter().flatten().any(|line| line.contains("{cores}"))
    }

    /// How natmeter sets its cores; none if it cannot, or a hook of the user does.
    pub fn cores_by(&self) -> Option<CoresBy> {
        if self.guest_cores == GuestCores::Boot {
            return Some(CoresBy::Boot);
        }
        // Software of natmeter has no hooks `prepare` and `restore` of the user.
        let forwards = self.software.filter(|_| self.cores.is_none())?.forwards;
        match (&self.on, forwards) {
            (On::Guest(_) | On::Ssh(_), Forwarder::LinuxKernel | Forwarder::LinuxProgram) => Some(CoresBy::Hotplug),
            (On::Namespace, Forwarder::LinuxKernel) => Some(CoresBy::Steering),
            // These cores are those of the tester, too.
            _ => None,
        }
    }

    /// Whether this machine steers its packets to the cores of a point.
    pub fn is_steered(&self, role: &str, cores: &Cores) -> bool {
        self.cores_by() == Some(CoresBy::Steering) && cores.sets(role)
    }

    /// Whether this machine's kernel forwards its packets, in a namespace.
    pub fn has_kernel_of_tester(&self) -> bool {
        self.on == On::Namespace && self.software.is_none_or(|software| software.forwards == Forwarder::LinuxKernel)
    }

    /// Whether perf can sample its kernel: of this machine, of a host over ssh, or of a guest built with perf.
    pub fn can_be_profiled(&self) -> bool {
        let is_of_linux = self.software.is_none_or(|software| software.forwards == Forwarder::LinuxKernel);
        is_of_linux && matches!(self.on, On::Namespace | On::Ssh(_) | On::Guest(GuestKind::Qemu))
    }

    /// Whether a hook or natmeter tells the memory of a box that is this: the Linux kernel does, if
    /// it keeps connections.
    pub fn tells_memory(&self, asked: BoxPart) -> bool {
        let by_kernel = |software: &Software| software.keeps(asked) && software.forwards == Forwarder::LinuxKernel;
        let by_pf = |software: &Software| software.keeps(asked) && software.name == "openbsd-pf";
        self.memory.is_some() || self.software.is_some_and(|software| by_kernel(software) || by_pf(software))
    }

    /// Whether a hook or natmeter empties the table of a box that is this.
    pub fn clears(&self, asked: BoxPart) -> bool {
        self.clear.is_some() || self.software.is_some_and(|software| software.keeps(asked))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RACK: &str = "[bed]\nname = \"rack 4\"\n[bed.left]\ninterface = \"a\"\nio = \"af-xdp\"\nqueues = 4\n\
        addresses = [\"198.18.0.2/24\", \"2001:2::2/64\"]\ngateway = \"198.18.0.1\"\n[bed.right]\ninterface = \"b\"\n\
        addresses = [\"198.19.0.2/24\"]\nmac = \"02:00:00:00:00:01\"\n[dut]\non = \"ssh:root@p095\"\nclear = \"conntrack -F\"\n\
        facts = { computer = \"Dell R430\" }\n";

    fn bed(text: &str) -> Result<Bed, String> {
        let file = BedText { name: "bed.toml".to_owned(), text: text.to_owned(), t0: Vec::new() };
        parse(&file).map_err(|complaints| complaints.render(false))
    }

    #[test]
    fn a_bed_is_read() {
        let bed = bed(RACK).unwrap();
        assert_eq!((bed.lanes(), bed.left.io, bed.right.io), (4, PortIo::AfXdp, PortIo::AfPacket));
        assert_eq!(bed.left.ipv4(), Some(Ipv4Addr::new(198, 18, 0, 2)));
        assert_eq!(bed.left.next_host(), Some(Ipv4Addr::new(198, 18, 0, 3)));
        let next = |own: &str, length, gateway: &str| {
            let addresses = vec![(own.parse().unwrap(), length)];
            PortKeys { addresses, gateway: gateway.parse().ok(), ..bed.left.clone() }.next_host().unwrap().to_string()
        };
        assert_eq!(next("198.18.0.1", 24, "198.18.0.2"), "198.18.0.3", "the box is no test host");
        assert_eq!(next("10.0.0.1", 30, "10.0.0.2"), "10.0.0.1", "a network of two hosts has no other");
        assert_eq!(next("10.0.0.1", 32, "10.0.0.2"), "10.0.0.1");
        let [("dut", keys)] = &bed.boxes[..] else { panic!("{:?}", bed.boxes) };
        assert_eq!(keys.on, On::Ssh("root@p095".to_owned()));
        assert_eq!(keys.facts, Some(vec![("computer".to_owned(), "Dell R430".to_owned())]));
        assert_eq!(bed.right.next_hop(), Some(NextHop::Mac(Mac([2, 0, 0, 0, 0, 1]))));
    }

    #[test]
    fn boxes_of_a_dual_dut_are_in_the_order_of_a_frame() {
        let text = RACK.replace("[dut]", "[dut.pe]") + "[dut.ce]\n";
        let roles: Vec<&str> = bed(&text).unwrap().boxes.iter().map(|(role, _)| *role).collect();
        assert_eq!(roles, ["ce", "pe"]);
    }

    #[test]
    fn mistakes_are_shown_with_a_way_out() {
        for (from, to, says) in [
            ("gateway = \"198.18.0.1\"", "gateway = \"198.18.1.1\"", "is in no network of the left port"),
            ("gateway = \"198.18.0.1\"", "gateway = \"198.18.0.2\"", "tester and box both have the address"),
            ("mac = \"02:00:00:00:00:01\"", "", "[bed.right] has neither `gateway` nor `mac`"),
            ("interface = \"b\"", "interface = \"a\"", "left and right are the same port"),
            ("198.19.0.2/24", "198.19.0.2", "this is not an address with its prefix length"),
            ("ssh:root@p095", "ssh:-oProxyCommand=x", "unknown place"),
            ("[bed]", "[bed]\nallow-addresses = \"192.0.2.0/24\"", "need an isolated bed"),
            (
                "[bed]",
                "[bed]\nisolated = true\nallow-addresses = \"192.0.2.0/24\"\nsilence = \"9 s\"",
                "need 10 s of silence",
            ),
            ("\"af-xdp\"", "\"af-packet\"\nzero-copy = \"required\"", "packet sockets copy every frame"),
            ("\"af-xdp\"", "\"af-xdp-generic\"\nzero-copy = \"required\"", "the kernel's generic receive path copies"),
            ("\"af-xdp\"", "\"tap\"", "only between natmeter and a program"),
            ("[dut]", "[dut]\nstart = \"./mynat {left} {right}\"", "only in a namespace"),
            ("[dut]", "[dut.ce]\n[dut]", "does not say to which box it belongs"),
            ("queues", "queue", "did you mean `queues`?"),
            ("queues = 4", "queues = 4\nvlan = [100, 200, 300]", "write one number, or [outer, inner]"),
        ] {
            let text = RACK.replace(from, to);
            assert_ne!(text, RACK);
            let said = bed(&text).unwrap_err();
            assert!(said.contains(says), "{says}: {said}");
        }
    }

    /// A bed with two boxes at these places.
    fn two_boxes(ce: &str, pe: &str) -> Result<Bed, String> {
        let port = |side: &str, net: u8| {
            format!(
                "[bed.{side}]\ninterface = \"{side}\"\naddresses = \"198.{net}.0.2/24\"\ngateway = \"198.{net}.0.1\"\n"
            )
        };
        bed(&format!("{}{}[dut.ce]\n{ce}\n[dut.pe]\n{pe}\n", port("left", 18), port("right", 19)))
    }

    #[test]
    fn boxes_may_be_guests_and_namespaces_in_a_row() {
        let places = ["on = \"guest\"", "on = \"guest:qemu\"", "on = \"namespace\""];
        for (ce, pe) in places
            .iter()
            .flat_map(|ce| places.map(|pe| (*ce, pe)))
            .filter(|(ce, pe)| *ce != places[1] || *pe != places[1])
        {
            two_boxes(ce, pe).unwrap_or_else(|said| panic!("{ce} {pe}: {said}"));
        }
        for (ce, pe, says) in [
            (places[1], places[1], "two guests of QEMU cannot be connected to each other"),
            (places[0], "", "natmeter makes the links between all boxes of a bed, or none of them"),
            ("on = \"ssh:p095\"", places[2], "natmeter makes the links between all boxes of a bed, or none of them"),
        ] {
            let said = two_boxes(ce, pe).unwrap_err();
            assert!(said.contains(says), "{says}: {said}");
        }
    }

    #[test]
    fn only_an_isolated_bed_allows_own_prefixes() {
        let text = RACK.replace("[bed]", "[bed]\nisolated = true\nallow-addresses = [\"192.0.2.0/25\"]");
        let bed = bed(&text).unwrap();
        let range = |last: u8, count| AddrRange { first: Ipv4Addr::new(192, 0, 2, last), count };
        assert!(bed.allows(range(0, 128)) && !bed.allows(range(1, 128)) && !bed.allows(range(200, 1)));
    }
}
