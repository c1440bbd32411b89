//! SIIT (RFC 7915), with explicit address maps (RFC 7757) and embedded addresses (RFC 6052).

use crate::fragments::Errors;
use crate::prelude::*;
use crate::rows::{by_map_or_prefix, remotes, subscribers};
use crate::table::{Lines, in_file};
use crate::nat64::faults_of_prefixes;
use crate::translator::{Private, Translator, behind_well_known};
use key::kind::{Choice, Simple, addresses, choice, own, path, text_of};
use key::{At, Value, Wrong};
use plane::translate::{Config, Eam, Hairpinning, Pair, Pref64, Siit as Addressing, eam};
use serde_json::json;
use std::path::{Path, PathBuf};
use wire::AddrRange;

const SIDES: &[Choice<bool>] = &[("left", true, ""), ("right", false, "")];

const HAIRPINNING: &[Choice<Hairpinning>] =
    &[("off", Hairpinning::Off, ""), ("simple", Hairpinning::Simple, ""), ("intrinsic", Hairpinning::Intrinsic, "")];

key::table! {
    /// Stateless translation between IPv4 and IPv6. It needs `eam`, `eam-file` or `pref64`.
    pub struct Siit {
        /// Explicit address maps (RFC 7757), each an IPv4 and an IPv6 prefix: `"192.0.2.0/24 2001:db8::/120"`.
        eam: Vec<Pair> = "eam", list(pair()), computed("none");
        /// A file of explicit address maps, one a line.
        eam_file: Option<PathBuf> = "eam-file", maybe(path()), computed("none");
        /// The prefix that all other IPv4 addresses are embedded in (RFC 6052).
        /// Several prefixes are a list of at most 16: addresses in all of them are translated to IPv4, and an IPv4 address appears behind the first that may have it, so that the well-known prefix can stand before one for addresses that are not global.
        pref64: Vec<Prefix6> = "pref64", list(prefix6()), computed("none");
        /// The side where IPv6 is spoken.
        ipv6_left: bool = "ipv6", choice(SIDES), or("left");
        /// IPv4 sources of ICMP errors of routers without an IPv4 address (RFC 6791).
        icmp_sources: Vec<AddrRange> = "icmp-sources", list(addresses()), computed("the gateway's own address");
        /// Packets between explicitly mapped hosts (RFC 7757, section 4).
        hairpinning: Option<Hairpinning> = "hairpinning", maybe(choice(HAIRPINNING)), computed("`\"intrinsic\"`");
    } with {
        /// The well-known prefix.
        private: Private;
        /// The translator.
        translator: Translator;
        /// ICMP errors.
        errors: Errors;
    }
}

pub(crate) const ENTRY: ListEntry = ListEntry {
    names: Names::whole("siit", "SIIT, stateless"),
    about: "stateless IPv4/IPv6 translation (RFC 7915, 6052, 7757)",
    overhead: 20,
    with_state: &[],
    chapters: |path| vec![Chapter::of::<Siit>(path)],
    read,
};

fn read(section: &mut Section<'_>) -> Option<Box<dyn Technology>> {
    let siit = Siit::read(section)?;
    if !["eam", "eam-file", "pref64"].iter().any(|key| section.has(key)) {
        missing_eam(section, "or eam-file = \"FILE\", or pref64 = \"2001:2:0:1000::/96\"");
        return None;
    }
    Some(Box::new(siit))
}

pub(crate) fn missing_eam(section: &mut Section<'_>, others: &str) {
    let fault = Fault::new(format!("[{}] has no `eam`", section.path())).at(At::key(section.path()), "this table");
    section.fault(fault.instead(format!("add eam = [\"198.18.0.0/24 2001:2::/120\"], {others}")));
}

/// Kind of an explicit address mapping (RFC 7757, section 3.1).
pub(crate) const fn pair() -> Simple<Pair> {
    fn parse(value: &Value) -> Result<Pair, Wrong> {
        let instead = "write both prefixes: \"198.18.0.0/24 2001:2::/120\"";
        text_of(value)?.parse().map_err(|why: String| Wrong::new(why, instead))
    }
    own(parse, "explicit address maps", || json!({ "type": "string" }))
}

pub(crate) fn listed_maps(pairs: &[Pair]) -> Result<Option<Eam>, String> {
    let pairs = numbered(pairs);
    if pairs.is_empty() { Ok(None) } else { Eam::new(&pairs, true).map(Some).map_err(why) }
}

fn numbered(pairs: &[Pair]) -> Vec<(usize, Pair)> {
    pairs.iter().enumerate().map(|(i, &pair)| (i + 1, pair)).collect()
}

impl Siit {
    /// The first prefix that may have the address.
    fn prefix_for(&self, addr: u32) -> Option<Prefix6> {
        let has = |p: &&Prefix6| {
            Pref64::new(**p, self.private.private_behind_well_known).is_ok_and(|p| p.to_ipv6(addr).is_ok())
        };
        self.pref64.iter().find(has).or(self.pref64.first()).copied()
    }

    fn maps(&self, open: Open<'_>) -> Result<Option<Eam>, String> {
        let Some(path) = &self.eam_file else { return listed_maps(&self.eam) };
        Eam::new(&self.pairs(open)?, true).map(Some).map_err(|e| in_file("eam-file", path, &e))
    }

    /// Pairs as written, each with its line.
    fn pairs(&self, open: Open<'_>) -> Result<Vec<(usize, Pair)>, String> {
        let Some(path) = &self.eam_file else { return Ok(numbered(&self.eam)) };
        let wrong = |why: &dyn std::fmt::Display| in_file("eam-file", path, why);
        let mut lines = Lines::of(open(path).map_err(|e| wrong(&e))?);
        let pairs = eam::parse(&mut lines).map_err(|e| wrong(&e))?;
        match lines.unread {
            Some(why) => Err(wrong(&why)),
            None => Ok(pairs),
        }
    }
}

impl Technology for Siit {
    crate::technology::shared! { lowest: translator.lowest }

    fn versions(&self, _: Plays) -> (u8, u8) {
        if self.ipv6_left { (6, 4) } else { (4, 6) }
    }

    fn build(&self, job: &Job<'_>) -> Result<GatewayBuild, String> {
        let links = &job.links;
        let (side, v4, v6) = if self.ipv6_left {
            (Side::Customer, links.right4, links.left6)
        } else {
            (Side::Internet, links.left4, links.right6)
        };
        let mut config = Config { icmp_sources: self.icmp_sources.clone(), ..Config::new(side, v4, v6) };
        self.translator.set(&mut config.headers);
        config.hairpinning = self.hairpinning.unwrap_or(config.hairpinning);
        config.icmp_errors_per_second = self.errors.icmp_errors_per_second.unwrap_or(config.icmp_errors_per_second);
        let one = |w| {
            let prefix = |p: &Prefix6| Pref64::new(*p, self.private.private_behind_well_known).map_err(why);
            let prefixes: Vec<Pref64> = self.pref64.iter().map(prefix).collect::<Result<_, _>>()?;
            let addressing = Addressing::new(self.maps(job.open)?, prefixes);
            job.translate(config.clone(), addressing, w)
        };
        Ok(Functions::Siit(job.each(one)?).into())
    }

    fn view(&self, plays: Plays, setting: &Setting<'_>) -> Result<View, String> {
        let bed = setting.bed(setting.flows.space_of(plays).map_err(|e| e.to_string())?);
        let maps = self.maps(setting.open)?;
        let embed = |a: u32| by_map_or_prefix(maps.as_ref(), self.prefix_for(a), a);
        let (customers, remotes) = (subscribers(&bed, embed)?, remotes(&bed, embed)?);
        let ends = TranslatedEnds { subscribers: &customers, remotes: &remotes };
        let view = if self.ipv6_left { pe::siit(&bed, &ends) } else { ce::clat(&bed, &ends) };
        view.map_err(why)
    }

    fn customers(&self, _: Plays, _: &Flows, open: Open<'_>) -> Result<Vec<CustomerRow>, String> {
        let row = |pair: &Pair| CustomerRow::mapped(pair.v6, self.pref64.first().copied(), pair.v4);
        Ok(self.pairs(open)?.iter().map(|(_, pair)| row(pair)).collect())
    }

    fn faults(&self) -> Vec<Fault> {
        let mut faults = faults_of_prefixes(&self.pref64);
        if !self.eam.is_empty() && self.eam_file.is_some() {
            let fault = Fault::new("explicit address maps stand in one place").at(".eam-file", "in a file");
            faults.push(fault.at(".eam", "and here").instead("write these into the file, too, or leave the file out"));
        }
        faults
    }

    fn faults_in_test(&self, plays: Plays, flows: &Flows, _: u64) -> Vec<Fault> {
        // The maps of a file are not known yet.
        // One of several prefixes has no private addresses, the others have them.
        let [pref64] = self.pref64[..] else { return Vec::new() };
        if self.eam_file.is_some() {
            return Vec::new();
        }
        let mapped = |range: AddrRange| {
            let within = |pair: &Pair| [range.first, range.last()].iter().all(|&a| pair.v4.contains(a.into()));
            self.eam.iter().any(within)
        };
        let ends = [("inside", flows.inside), ("remote", flows.remote)];
        let others: Vec<_> = ends.into_iter().filter(|(_, range)| !mapped(*range)).collect();
        let private = self.private.private_behind_well_known;
        behind_well_known(ENTRY.names.name(plays), ("pref64", pref64), private, &others).into_iter().collect()
    }

    fn file(&self) -> Option<(&'static str, &Path)> {
        self.eam_file.as_deref().map(|path| ("eam-file", path))
    }

    /// Every address of the tester needs one in the other version.
    fn check_file(&self, _: Plays, flows: &Flows, open: Open<'_>) -> Result<(), String> {
        let maps = self.maps(open)?;
        let inside = (flows.inside.first, flows.inside.count.max(flows.subscribers));
        for (first, count) in [inside, (flows.remote.first, flows.remote.count)] {
            for i in 0..count {
                let addr = u32::from(first).wrapping_add(i);
                by_map_or_prefix(maps.as_ref(), self.prefix_for(addr), addr)?;
            }
        }
        Ok(())
    }
}
