//! 464XLAT (RFC 6877): CLAT and PLAT.

use crate::axis::ALL_SUBSCRIBERS;
use crate::nat64::{Embedding, Nat};
use crate::prelude::*;
use crate::row::embedded;
use crate::rows::{behind, subscribers};
use plane::translate::{Clat, Config, Hosts, Pref64, Translate};
use plane::view::{self};

key::table! {
    /// 464XLAT: a CLAT translates the customer's IPv4 packets without state, the PLAT is a stateful NAT64.
    pub struct Xlat464 {
        /// The prefix that the customer's IPv4 addresses are embedded in: a /64 of the customer's or a /96 in it (RFC 6877, section 6.3).
        clat: Prefix6 = "clat", prefix6(), needed("\"2001:2:0:2::/96\"").but_for("pe");
    } with {
        /// The prefix of the PLAT.
        embedding: Embedding;
        /// Customers.
        inside: Inside;
        /// The PLAT.
        nat: Nat;
    }
}

pub(crate) const ENTRY: ListEntry = ListEntry {
    names: Names::edges(
        ("464xlat", "464XLAT, CLAT and PLAT"),
        ("clat", "CLAT of 464XLAT, stateless"),
        ("plat", "PLAT of 464XLAT"),
    )
    .published_as("464XLAT"),
    about: "464XLAT (RFC 6877): CLAT and PLAT",
    overhead: 20,
    with_state: &[Plays::Dual, Plays::Pe],
    chapters: |path| vec![Chapter::of::<Xlat464>(path)],
    read: |section| Some(Box::new(Xlat464::read(section)?)),
};

impl Xlat464 {
    fn clat(&self, job: &Job<'_>, worker: usize) -> Result<Translate<Clat>, String> {
        let hosts = Hosts::Prefix(Pref64::new(self.clat, true).map_err(why)?);
        let private = self.embedding.private.private_behind_well_known;
        let addressing = Clat::new(hosts, Pref64::new(self.embedding.first(), private).map_err(why)?)?;
        let mut config = Config::new(Side::Internet, job.links.left4, job.links.right6);
        self.nat.translator.set(&mut config.headers);
        let errors = self.nat.state.errors.icmp_errors_per_second;
        config.icmp_errors_per_second = errors.unwrap_or(config.icmp_errors_per_second);
        job.translate(config, addressing, worker)
    }

    fn plat(&self, job: &Job<'_>, worker: usize) -> Result<plane::nat64::Nat64, String> {
        self.nat.build(&self.embedding, job, worker)
    }
}

impl Technology for Xlat464 {
    crate::technology::shared! { inside: inside.inside, state: nat.state, lowest: nat.translator.lowest, pool: nat.pool, subscriber: nat.subscriber }

    fn outside(&self, plays: Plays) -> Option<Outside> {
        (plays != Plays::Ce).then(|| self.nat.pool.outside(true))
    }
    fn answers(&self, plays: Plays) -> [Answers; 2] {
        let pool = if plays == Plays::Ce { Answers::default() } else { Answers::v4(&self.nat.pool.pool) };
        [Answers::default(), pool]
    }
    fn customers(&self, _: Plays, flows: &Flows, _: Open<'_>) -> Result<Vec<CustomerRow>, String> {
        embedded(flows, self.embedding.first(), self.clat)
    }

    fn build(&self, job: &Job<'_>) -> Result<GatewayBuild, String> {
        let (ce, pe) = (|job: &Job<'_>, w| self.clat(job, w), |job: &Job<'_>, w| self.plat(job, w));
        let functions = job.edges(ce, pe, (Functions::Clat, Functions::Nat64, Functions::Xlat464))?;
        Ok(functions.into())
    }

    fn view(&self, plays: Plays, setting: &Setting<'_>) -> Result<View, String> {
        let bed = setting.bed(setting.flows.space_of(plays).map_err(|e| e.to_string())?);
        if plays == Plays::Dual {
            return Ok(view::nat44(&bed, self.nat.pool.seen()).translated_twice());
        }
        let clat = Pref64::new(self.clat, true).map_err(why)?;
        let rows = subscribers(&bed, |a| clat.to_ipv6(a).map_err(|e| format!("{e:?}")))?;
        let remotes = behind(&bed, self.embedding.first())?;
        let ends = TranslatedEnds { subscribers: &rows, remotes: &remotes };
        let view = if plays == Plays::Ce { ce::clat(&bed, &ends) } else { pe::plat(&bed, &ends, self.nat.pool.seen()) };
        view.map_err(why)
    }

    fn fit(&self, axis: &str, plays: Plays, _: &Flows) -> Fit {
        match axis {
            "subscribers" if plays == Plays::Pe => ALL_SUBSCRIBERS,
            "outside-addresses" => self.nat.pool.fit(plays),
            _ => Fit::Lacks,
        }
    }

    fn faults(&self) -> Vec<Fault> {
        let mut faults = self.nat.faults();
        faults.extend(self.embedding.faults());
        faults.extend(embeds_nothing("clat", self.clat));
        if self.embedding.pref64.contains(&self.clat) {
            faults.push(
                Fault::new("CLAT and PLAT have the same prefix")
                    .at(".clat", "of the customer's hosts")
                    .at(".pref64", "of the Internet's")
                    .instead("give the CLAT a /64 of its own (RFC 6877, section 6.3), or a /96 in it"),
            );
        }
        faults
    }

    fn faults_in_test(&self, plays: Plays, flows: &Flows, _: u64) -> Vec<Fault> {
        self.embedding.faults_in_test(ENTRY.names.name(plays), flows)
    }
}
