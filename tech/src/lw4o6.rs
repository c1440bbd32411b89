//! Lightweight 4over6 (RFC 7596): lwB4 and lwAFTR.

use crate::address_sharing::{listed, seen, sharing};
use crate::axis::ALL_SUBSCRIBERS;
use crate::ds_lite::grows_out;
use crate::gateway::TableLoad;
use crate::laboratory::is_for_laboratories;
use crate::outside::Ports;
use crate::prelude::*;
use crate::rows::{b4_in_row, b4s};
use crate::softwire::SoftwireKeys;
use crate::table::in_file;
use crate::technology::steering_of_edge;
use key::At;
use key::kind::{any_number, ip6, number, path, prefix4};
use key::quantity::show_grouped;
use plane::Chain;
use plane::lw4o6::{BindingTableBuilder, Live, Softwire, BindingTable, read_into};
use plane::nat44::Nat44;
use plane::tunnel::{OneTunnel, Tunnel};
use plane::view::{self, BedAddresses, Subscriber6, Tunnelled};
use std::net::{IpAddr, Ipv6Addr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use wire::{AddrRange, PortSet, Prefix4};

key::table! {
    /// Lightweight 4over6: the lwB4 is a NAT44 with the ports of a set in front of a tunnel, the lwAFTR keeps a binding table and
    /// no state. The binding table comes from a file (`softwires`), or is a row of softwires: `ipv4`, `b4`, `psid-length` and
    /// `psid-offset`.
    pub struct Keys {
        /// The lwAFTR's end of all softwires.
        lwaftr: Ipv6Addr = "lwaftr", ip6(), needed("\"2001:2:0:100::2\"");
        /// A file with the binding table.
        softwires: Option<PathBuf> = "softwires", maybe(path()), computed("none");
        /// Addresses that the softwires of a row share.
        ipv4: Option<Prefix4> = "ipv4", maybe(prefix4()), computed("must be given without `softwires`");
        /// The first lwB4 of a row; the next have one /64 each.
        b4: Option<Ipv6Addr> = "b4", maybe(ip6()), computed("must be given without `softwires`");
        /// Length of the PSID (RFC 7597, section 5.1): each address has 2^length softwires.
        psid_len: u8 = "psid-length", number(0..=16), or("6");
        /// Offset of the PSID in a port (RFC 7597, section 5.1).
        psid_offset: u8 = "psid-offset", number(0..=16), or("0");
        /// The softwire that the lwB4 has: its place in the table, from 0.
        ce: u64 = "ce", any_number(), or("0");
    } with {
        /// Both ends of the softwires.
        softwire: SoftwireKeys;
    }
}

pub(crate) const ENTRY: ListEntry = ListEntry {
    names: Names::edges(
        ("lw4o6", "lw4o6, lwB4 and lwAFTR"),
        ("lwb4", "lwB4 of lw4o6"),
        ("lwaftr", "lwAFTR of lw4o6, stateless"),
    ),
    about: "lightweight 4over6 (RFC 7596): lwB4 and lwAFTR",
    overhead: 40,
    with_state: &[Plays::Dual, Plays::Ce],
    chapters: |path| vec![Chapter::of::<Keys>(path)],
    read,
};

#[derive(Clone, Debug)]
struct Lw4o6 {
    keys: Keys,
    table: Source,
}

#[derive(Clone, Debug)]
enum Source {
    File(PathBuf),
    Row(SharedAddresses),
}

/// Addresses, each shared by 2^length customers with ascending B4 addresses.
#[derive(Clone, Copy, Debug)]
struct SharedAddresses {
    ipv4: Prefix4,
    b4: Ipv6Addr,
    psid_len: u8,
    psid_offset: u8,
    /// Number of softwires if swept; else one for each port set.
    count: Option<u64>,
}

fn read(section: &mut Section<'_>) -> Option<Box<dyn Technology>> {
    let keys = Keys::read(section)?;
    let table = if let Some(path) = &keys.softwires {
        Source::File(path.clone())
    } else {
        for (key, example) in [("ipv4", "\"192.0.2.0/24\" (or softwires = \"FILE\")"), ("b4", "\"2001:2:0:4000::1\"")] {
            if !section.has(key) {
                let fault = Fault::new(format!("[{}] has no `{key}`", section.path()));
                section
                    .fault(fault.at(At::key(section.path()), "this table").instead(format!("add {key} = {example}")));
            }
        }
        let Keys { psid_len, psid_offset, .. } = keys;
        Source::Row(SharedAddresses { ipv4: keys.ipv4?, b4: keys.b4?, psid_len, psid_offset, count: None })
    };
    Some(Box::new(Lw4o6 { keys, table }))
}

impl SharedAddresses {
    fn room(&self) -> u64 {
        self.ipv4.count() << self.psid_len
    }

    fn count(&self) -> u64 {
        self.count.unwrap_or_else(|| self.room())
    }

    fn softwire(&self, i: u64) -> Result<Softwire, String> {
        let psid = (i & ((1 << self.psid_len) - 1)) as u16;
        let ports = PortSet::new(self.psid_offset, self.psid_len, psid).map_err(why)?;
        let ipv4 = u32::from(self.ipv4.addr).wrapping_add((i >> self.psid_len) as u32).into();
        Ok(Softwire { b4: b4_in_row(self.b4, i), ipv4, ports, own: None })
    }
}

impl Lw4o6 {
    fn row(&self) -> Option<&SharedAddresses> {
        if let Source::Row(row) = &self.table { Some(row) } else { None }
    }

    /// No softwire may have the gateway's addresses.
    fn binding_table(&self, gateway: &[IpAddr], open: Open<'_>) -> Result<BindingTable, String> {
        let builder = |name: &str| BindingTableBuilder::new(name, self.keys.lwaftr).with_gateway_addresses(gateway);
        match &self.table {
            Source::File(path) => {
                let file = open(path).map_err(|e| in_file("softwires", path, e))?;
                read_into(builder(&path.display().to_string()), file).map_err(why)
            }
            Source::Row(row) => {
                let mut builder = builder("the softwires in a row");
                for i in 0..row.count() {
                    builder.add(&row.softwire(i)?).map_err(why)?;
                }
                builder.build().map_err(why)
            }
        }
    }

    fn own_softwire(&self, open: Open<'_>) -> Result<Softwire, String> {
        match &self.table {
            Source::File(_) => self.nth_of(&self.binding_table(&[], open)?),
            Source::Row(row) => row.softwire(self.keys.ce),
        }
    }

    fn nth_of(&self, table: &BindingTable) -> Result<Softwire, String> {
        let ce = self.keys.ce;
        table.iter().nth(ce as usize).ok_or_else(|| format!("ce = {ce}: the table has no such softwire"))
    }

    fn lwb4(&self, own: &Softwire, job: &Job<'_>, worker: usize) -> Result<Chain<Nat44, Tunnel<OneTunnel>>, String> {
        let softwires = OneTunnel::new(own.b4, own.own.unwrap_or(self.keys.lwaftr));
        self.keys.softwire.ce(softwires, (AddrRange::one(own.ipv4), own.ports), job, worker)
    }

    /// Evenly spread over the file, so that look-ups reach all parts of the table.
    fn played(&self, path: &Path, n: u64, open: Open<'_>) -> Result<Vec<Softwire>, String> {
        let table = self.binding_table(&[], open)?;
        let all = table.len();
        if n > all {
            return Err(format!(
                "{n} subscribers need a softwire each, but {} has {all}: write subscribers = {all} at most, or give more lines",
                path.display()
            ));
        }
        let public = |s: &Softwire| [IpAddr::from(s.b4), s.ipv4.into()].into_iter().any(|a| !is_for_laboratories(a));
        if let Some(s) = table.iter().find(public) {
            return Err(format!(
                "{}: the softwire of {} and {} is not for laboratories, frames to it could leave the test bed: use 2001:db8::/32 \
                 and 10.0.0.0/8, for example",
                path.display(),
                s.b4,
                s.ipv4
            ));
        }
        let wanted = |i: u64| (u128::from(i) * u128::from(all) / u128::from(n)) as u64;
        let mut next = 0;
        let played = |(at, softwire): (u64, Softwire)| {
            let plays = next < n && wanted(next) == at;
            next += u64::from(plays);
            plays.then_some(softwire)
        };
        Ok((0..).zip(table.iter()).filter_map(played).collect())
    }

    /// A view, perhaps of several lwAFTR addresses.
    fn view_of(&self, bed: &BedAddresses, played: &[Softwire]) -> Result<View, String> {
        let ends = |of: &dyn Fn(&Softwire) -> Ipv6Addr| -> Vec<Subscriber6> {
            played.iter().map(|s| Subscriber6 { address: of(s).to_bits() }).collect()
        };
        let pe = |s: &Softwire| s.own.unwrap_or(self.keys.lwaftr);
        let (rows, first) = (ends(&|s| s.b4), played.first().map_or(self.keys.lwaftr, pe));
        if played.iter().all(|s| pe(s) == first) {
            return pe::lwaftr(bed, &Tunnelled { subscribers: &rows, pe: first.to_bits() }).map_err(why);
        }
        pe::lwaftr_of(bed, &rows, &ends(&pe)).map_err(why)
    }
}

impl Technology for Lw4o6 {
    crate::technology::shared! { inside: keys.softwire.inside.inside, state: keys.softwire.state }

    fn outside(&self, plays: Plays) -> Option<Outside> {
        let beside_inside = plays != Plays::Pe;
        let Some(row) = self.row() else {
            let ports = Ports::Set(PortSet::ALL, At::First(Vec::new()));
            return Some(Outside { key: "ipv4", pool: Vec::new(), ports, beside_inside: true });
        };
        let own = row.softwire(self.keys.ce).ok()?;
        let all = AddrRange { first: row.ipv4.addr, count: row.ipv4.count().min(u32::MAX.into()) as u32 };
        let pool = if plays == Plays::Pe { all } else { AddrRange::one(own.ipv4) };
        let from = At::first([".psid-length".into(), ".psid-offset".into(), ".ipv4".into()]);
        let pool = vec![(".ipv4".to_owned(), pool)];
        Some(Outside { key: "ipv4", pool, ports: Ports::Set(own.ports, from), beside_inside })
    }

    fn answers(&self, plays: Plays) -> [Answers; 2] {
        let left = if plays == Plays::Pe { Answers::v6(self.keys.lwaftr) } else { Answers::default() };
        [left, Answers::default()]
    }

    fn customers(&self, plays: Plays, flows: &Flows, open: Open<'_>) -> Result<Vec<CustomerRow>, String> {
        let softwires = match (&self.table, plays) {
            (_, Plays::Ce | Plays::Dual) => vec![self.own_softwire(open)?],
            (Source::File(path), Plays::Pe) => self.played(path, flows.subscribers.into(), open)?,
            (Source::Row(row), Plays::Pe) => {
                (0..flows.subscribers.into()).map(|i| row.softwire(i)).collect::<Result<_, _>>()?
            }
        };
        let row = |s: &Softwire| CustomerRow {
            ipv4: Some(Prefix4 { addr: s.ipv4, len: 32 }),
            ports: s.ports,
            ..CustomerRow::tunnel(s.b4, s.own.unwrap_or(self.keys.lwaftr))
        };
        Ok(softwires.iter().map(row).collect())
    }

    fn steering(&self, plays: Plays, workers: usize, open: Open<'_>) -> [Steering; 2] {
        let set = match &self.table {
            Source::Row(row) => PortSet::new(row.psid_offset, row.psid_len, 0).ok(),
            // Without the file no gateway is built either.
            Source::File(_) => self.own_softwire(open).ok().map(|own| own.ports),
        };
        steering_of_edge(self, plays, set, 60, workers)
    }

    fn build(&self, job: &Job<'_>) -> Result<GatewayBuild, String> {
        let began = Instant::now();
        let links = &job.links;
        let gateway: &[IpAddr] = match job.plays {
            Plays::Ce => &[],
            Plays::Dual => &[links.right4.address.into()],
            Plays::Pe => &[links.right4.address.into(), links.left6.address.into()],
        };
        let table = self.binding_table(gateway, job.open)?;
        let loaded = TableLoad { entries: table.len(), octets: table.bytes(), took: began.elapsed() };
        let own = self.nth_of(&table);
        let (live, table) = match job.live {
            Some(live) => (Arc::clone(live), Some(table)),
            None => (Live::new(table), None),
        };
        let ce = |job: &Job<'_>, w| self.lwb4(own.as_ref().map_err(Clone::clone)?, job, w);
        let pe = |job: &Job<'_>, w| self.keys.softwire.pe(live.bindings(), job, w);
        let functions = job.edges(ce, pe, (Functions::LwB4, Functions::LwAftr, Functions::Lw4o6))?;
        Ok(GatewayBuild { functions, loaded: Some(loaded), live: Some(live), table })
    }

    fn view(&self, plays: Plays, setting: &Setting<'_>) -> Result<View, String> {
        let f = setting.flows;
        if plays != Plays::Pe {
            let own = self.own_softwire(setting.open)?;
            let outside = seen(AddrRange::one(own.ipv4), own.ports);
            let bed = setting.bed(f.space().map_err(|e| e.to_string())?);
            if plays == Plays::Dual {
                return Ok(view::nat44(&bed, outside));
            }
            let softwire = ce::TunnelEnds { ce: own.b4.to_bits(), pe: own.own.unwrap_or(self.keys.lwaftr).to_bits() };
            return Ok(ce::lwb4(&bed, softwire, outside));
        }
        match &self.table {
            Source::Row(row) => {
                let bed = setting.bed(sharing(f, row.ipv4.addr, row.psid_offset, row.psid_len)?);
                let rows = b4s(&bed, row.b4);
                pe::lwaftr(&bed, &Tunnelled { subscribers: &rows, pe: self.keys.lwaftr.to_bits() }).map_err(why)
            }
            Source::File(path) => {
                let played = self.played(path, f.subscribers.into(), setting.open)?;
                let bed = setting.bed(listed(f, played.iter().map(|s| (s.ipv4, s.ports)))?);
                self.view_of(&bed, &played)
            }
        }
    }

    fn fit(&self, axis: &str, plays: Plays, _: &Flows) -> Fit {
        let all = || match self.row() {
            Some(row) => Fit::UpTo(
                row.room(),
                "more than the addresses of `ipv4` have port sets",
                "give a shorter `ipv4` prefix or a longer psid-length",
            ),
            None => ALL_SUBSCRIBERS,
        };
        match axis {
            "softwires" if plays == Plays::Pe && self.row().is_none() => {
                Fit::Refused("a file has as many softwires as lines; give ipv4, b4 and psid-length instead")
            }
            "softwires" | "subscribers" if plays == Plays::Pe => all(),
            _ => Fit::Lacks,
        }
    }

    fn set(&mut self, axis: &str, value: u64, flows: &mut Flows) {
        flows.subscribers = value as u32;
        // Every softwire has a subscriber, so that the whole table is measured.
        if let ("softwires", Source::Row(row)) = (axis, &mut self.table) {
            row.count = Some(value);
        }
    }

    fn faults_in_test(&self, _: Plays, _: &Flows, _: u64) -> Vec<Fault> {
        self.row().and_then(|row| grows_out(row.b4, row.count())).into_iter().collect()
    }

    /// Facts of the table, unless its size is an axis.
    fn summary(&self, plays: Plays, swept: &[&str]) -> Vec<(&'static str, String)> {
        let all = match &self.table {
            Source::File(path) => format!("those of {}", path.display()),
            Source::Row(row) => show_grouped(row.count()),
        };
        match plays {
            Plays::Pe if swept.contains(&"softwires") => Vec::new(),
            Plays::Pe => vec![("softwires", all)],
            Plays::Ce | Plays::Dual => {
                vec![("softwires", format!("{all}; the customer edge has number {} of them, from 0", self.keys.ce))]
            }
        }
    }

    fn file(&self) -> Option<(&'static str, &Path)> {
        self.keys.softwires.as_deref().map(|path| ("softwires", path))
    }

    fn check_file(&self, plays: Plays, flows: &Flows, open: Open<'_>) -> Result<(), String> {
        match &self.table {
            Source::File(path) if plays == Plays::Pe => self.played(path, flows.subscribers.into(), open).map(drop),
            _ => self.own_softwire(open).map(drop),
        }
    }

    /// 16 octets a softwire, and a directory of 264 KiB.
    fn table_octets(&self) -> u64 {
        self.row().map_or(0, |row| 16 * row.count() + (264 << 10))
    }
}
