//! Rules between values: what is well written and still cannot be measured, or must not be sent. Each rule
//! points at the words at fault and says the way out; all rules are applied, with the values of the quick
//! run and of `--full`, so that nobody finds the second mistake after mending the first.

use super::diagnostic::{Diagnostic, Place, nearest};
use super::draft::{Draft, DutDraft, DutKind, ETHERNET, MeasureDraft};
use super::nat::NatDraft;
use super::quantity::{show_count, show_grouped, show_time};
use super::section::Spot;
use super::summary::show_range;
use super::{Impair, Link};
use super::{address, address6};
use super::{check_axes, check_nat, check_shares, check_technology};
use method::metric::{self, Origin};
use method::{Count, Nanos, Rate};
use std::net::Ipv4Addr;
use wire::AddrRange;

/// Apply all rules.
pub fn check(draft: &Draft, log: &mut Vec<Diagnostic>) {
    addresses(draft, log);
    frames(draft, log);
    uncut(draft, log);
    links(draft, log);
    beside_the_link(draft, log);
    testers(draft, log);
    repeated(&draft.cores.value, |n| format!("`{n}`"), log);
    check_axes::check(draft, log);
    for measure in [&draft.quick, &draft.full] {
        metrics(draft, measure, log);
        sweep(draft, measure, log);
        times(draft, measure, log);
    }
    check_nat::check(draft, log);
    check_technology::check(draft, log);
    address6::check(draft, log);
    // Only of pools that suffice as a whole.
    if log.is_empty() {
        check_shares::check(draft, log);
    }
}

/// Frames go to laboratory addresses only (RFC 6815), and the three networks are apart.
fn addresses(draft: &Draft, log: &mut Vec<Diagnostic>) {
    let mut besides = Vec::new();
    for range in &draft.allow_addresses {
        if address::may_be_requested(range.value) {
            besides.push(range.value);
        } else {
            let diagnostic = Diagnostic::new("these addresses are never used for tests");
            log.push(
                diagnostic
                    .at(range.place, "public, loopback, multicast or broadcast addresses")
                    .instead("name private or reserved blocks, for example \"240.0.0.0/8\" or \"169.254.0.0/16\""),
            );
        }
    }
    let nats: Vec<NatDraft> = draft.duts.iter().filter_map(|dut| dut.kind.nat()).collect();
    let pools = || nats.iter().flat_map(|nat| nat.pool.iter().map(move |pool| (nat, (nat.pool_key, pool))));
    let ends = [("inside", &draft.traffic.inside), ("remote", &draft.traffic.remote)];
    for (_, range) in ends.iter().copied().chain(pools().map(|(_, pool)| pool)) {
        if range.sound && !address::is_allowed(range.value, &besides) {
            let diagnostic =
                Diagnostic::new("these addresses are not for laboratories: frames to them could leave the test bed");
            log.push(
                diagnostic.at(range.place, "outside the blocks for tests, private use and documentation").instead(
                    "use addresses of 198.18.0.0/15 (RFC 2544), 10.0.0.0/8 or another private block; \
                              reserved blocks that are not public can be named in allow-addresses",
                ),
            );
        }
    }
    if draft.duts.iter().any(|dut| matches!(dut.kind, DutKind::Embedded(_) | DutKind::Technology { .. })) {
        // Of those that are for laboratories at all.
        let all = ends.iter().copied().chain(pools().map(|(_, pool)| pool));
        for (name, range) in all.filter(|(_, range)| address::is_allowed(range.value, &besides)) {
            unforwarded(name, range, log);
        }
    }
    apart(ends[0], ends[1], log);
    for (nat, pool) in pools() {
        if nat.beside_inside {
            apart(pool, ends[0], log);
        }
        apart(pool, ends[1], log);
    }
    // No host has these, whatever the prefix; broadcast addresses are only of the kernel's links, which are a /24 each.
    let in_kernel = draft.duts.iter().any(|dut| !dut.is_in_process());
    let hosts: &[u8] = if in_kernel { &[0, 1, 255] } else { &[0, 1] };
    for (name, range) in ends {
        own(name, range, hosts, log);
    }
}

/// A device has host 1 of 198.18.0.0/24 and 198.19.0.0/24 (RFC 2544, appendix C.2.2.1): frames to it, or to the network and
/// broadcast addresses of its links, would not be forwarded. The embedded gateway would, but is measured as others are.
fn own(name: &str, range: &Spot<AddrRange>, hosts: &[u8], log: &mut Vec<Diagnostic>) {
    let taken = [18, 19].into_iter().flat_map(|net| hosts.iter().map(move |&host| Ipv4Addr::new(198, net, 0, host)));
    if let Some(address) = taken.into_iter().find(|&address| range.sound && range.value.contains(address)) {
        let net = address.octets()[1];
        log.push(
            Diagnostic::new(format!("`{name}` has the address {address}, which the device's links need"))
                .at(range.place, "own, network or broadcast address of the device's links")
                .instead(format!("begin at .2, for example \"198.{net}.0.2 - 198.{net}.0.254\"")),
        );
    }
}

/// The embedded gateway forwards as the RFCs have it: nothing from or to addresses of one link (RFC 3927, section 7), nor reserved ones (RFC
/// 1122, section 3.2.1.3). All its packets would be lost, whatever `allow-addresses` says.
fn unforwarded(name: &str, range: &Spot<AddrRange>, log: &mut Vec<Diagnostic>) {
    let blocks = [([169, 254, 0, 0], 1 << 16), ([240, 0, 0, 0], 1 << 28)];
    let mut blocks = blocks.into_iter().map(|(first, count)| AddrRange { first: first.into(), count });
    if range.sound && blocks.any(|block| address::overlap(block, range.value)) {
        log.push(
            Diagnostic::new(format!("the embedded gateway forwards nothing with these addresses of `{name}`"))
                .at(range.place, "link-local (RFC 3927, section 7) or reserved (RFC 1122, section 3.2.1.3)")
                .instead(
                    "use addresses of 198.18.0.0/15 (RFC 2544) or a private block; some kernel devices take others",
                ),
        );
    }
}

/// Two ranges have no address in common.
fn apart(one: (&str, &Spot<AddrRange>), other: (&str, &Spot<AddrRange>), log: &mut Vec<Diagnostic>) {
    // The words at fault are written ones: a default cannot be mended.
    let (one, other) = if one.1.place.is_some() { (one, other) } else { (other, one) };
    if one.1.sound && other.1.sound && address::overlap(one.1.value, other.1.value) {
        let default = other.1.place.map_or(" (its default)", |_| "");
        log.push(
            Diagnostic::new(format!("`{}` and `{}` have addresses in common", one.0, other.0))
                .at(one.1.place, format!("overlaps `{}`, {}{default}", other.0, show_range(other.1.value)))
                .at(other.1.place, format!("`{}`", other.0))
                .instead("give each side and the pool addresses of their own"),
        );
    }
}

/// An IPv4 test frame holds its headers and the tag, and fits the link: that of a kernel device has an MTU of 1500.
fn frames(draft: &Draft, log: &mut Vec<Diagnostic>) {
    let size = &draft.traffic.frame_size;
    let jumbo = draft.duts.iter().all(DutDraft::is_in_process);
    let most = if jumbo { LARGEST_FRAME } else { 1518 };
    if size.sound && !(64..=most).contains(&size.value) {
        let label = if size.value < 64 { "too small for headers and tag" } else { "larger than the link carries" };
        let sizes = "RFC 2544 uses 64, 128, 256, 512, 1024, 1280 and 1518";
        let further = if jumbo { ", RFC 8219 also 768, 1522, 2048, 4096, 8192 and 9216" } else { "" };
        log.push(
            Diagnostic::new(format!("frames of {} octets cannot be sent", size.value))
                .at(size.place, label)
                .instead(format!("write 64 to {most}, FCS included; {sizes}{further}")),
        );
    }
}

/// No translator cuts test frames: that would be another measurement.
fn uncut(draft: &Draft, log: &mut Vec<Diagnostic>) {
    let packet = draft.widest_frame().saturating_sub(ETHERNET);
    for dut in &draft.duts {
        let DutKind::Technology { technology, words, .. } = &dut.kind else { continue };
        let limit = technology.options().lowest_ipv6_mtu.filter(|&limit| usize::from(limit) < packet);
        if let Some(limit) = limit.filter(|_| draft.traffic.frame_size.sound) {
            log.push(
                Diagnostic::new(format!("`{}` cuts the test frames into fragments", dut.name()))
                    .at(draft.traffic.frame_size.place, format!("packets of {packet} octets as IPv6"))
                    .at(words.at("lowest-ipv6-mtu"), format!("cut to {limit}"))
                    .instead(format!("leave `lowest-ipv6-mtu` out, write {packet} at least, or use smaller frames")),
            );
        }
    }
}

/// Largest frame of an in-process link (RFC 8219, section 4.1).
const LARGEST_FRAME: u64 = 9216;

/// The link leads to where the DUT is.
fn links(draft: &Draft, log: &mut Vec<Diagnostic>) {
    if !draft.link.sound {
        return;
    }
    let in_process = matches!(draft.link.link, Link::InProcess { .. });
    for dut in draft.duts.iter().filter(|dut| dut.is_in_process() != in_process) {
        let (words, way_out) = match (in_process, draft.link.key) {
            (true, Some(_)) => ("is in the kernel", "use [link.tap] or [link.veth] for a kernel device"),
            (false, Some(_)) => ("lives in this process", "use [link.in-process] for a device in this process"),
            (_, None) => ("does not fit the link of the device above", "measure it in a scenario of its own"),
        };
        log.push(
            Diagnostic::new(format!("this link does not lead to `{}`", dut.name()))
                .at(draft.link.key, if in_process { "ends in this process" } else { "ends in the kernel" })
                .at(dut.key, format!("`{}` {words}", dut.name()))
                .instead(way_out),
        );
    }
}

/// Only ports can be impaired or captured, and a frame that is held comes before the trial is over.
fn beside_the_link(draft: &Draft, log: &mut Vec<Diagnostic>) {
    let (impair, capture) = (draft.link.impair, draft.link.capture);
    let simulated = |dut: &&DutDraft| matches!(dut.kind, DutKind::Simulated { .. });
    for place in [impair.map(|i| i.0), capture.map(|c| c.0)].into_iter().flatten() {
        if let Some(dut) = draft.duts.iter().find(simulated) {
            log.push(
                Diagnostic::new("the simulated device has no frames")
                    .at(place, "works on frames")
                    .at(dut.key, "only numbers")
                    .instead("leave it out, or measure a device that has frames"),
            );
        }
    }
    let Some((place, impair)) = impair else { return };
    if impair == (Impair { seed: impair.seed, ..Impair::default() }) {
        log.push(
            Diagnostic::new("nothing is impaired")
                .at(place, "no loss, duplicates, reordering, corruption or delay")
                .instead("give a share, for example loss = \"100 ppm\", or leave the table out"),
        );
    }
    for measure in [&draft.quick, &draft.full] {
        let shortest = measure.drain.min(measure.phase1_drain);
        if impair.delay >= shortest {
            let drain = format!("the shortest drain is {}", show_time(shortest));
            log.push(
                Diagnostic::new("every frame would come when its trial is over")
                    .at(place, format!("held for {}, and {drain}", show_time(impair.delay)))
                    .instead("use a shorter delay, or longer drain and phase1-drain"),
            );
            return;
        }
    }
}

/// Several workers of the tester are for devices of this process: a kernel device has one queue on each side. Damage and
/// captures are of one port a side, as their seed and their files are.
fn testers(draft: &Draft, log: &mut Vec<Diagnostic>) {
    let workers = &draft.testers;
    if workers.value == 1 {
        return;
    }
    let many = |what: &str| Diagnostic::new(what).at(workers.place, format!("{} workers of the tester", workers.value));
    let gateway = |dut: &&DutDraft| matches!(dut.kind, DutKind::Embedded(_) | DutKind::Technology { .. });
    for dut in draft.duts.iter().filter(|dut| !gateway(dut)) {
        let label = if dut.is_in_process() { "has no frames, only numbers" } else { "has one queue on each side" };
        log.push(
            many(&format!("`{}` is measured by one worker of the tester", dut.name()))
                .at(dut.key, label)
                .instead("leave `workers` out, or measure the embedded gateway in a scenario of its own"),
        );
    }
    let beside = [
        (draft.link.impair.map(|i| i.0), "damage is done to the frames of one worker of the tester", "impaired"),
        (draft.link.capture.map(|c| c.0), "captures are of the frames of one worker of the tester", "captured"),
    ];
    for (place, what, word) in beside {
        if place.is_some() {
            let way_out = "leave `workers` out, or this table";
            log.push(many(what).at(place, format!("one port a side is {word}")).instead(way_out));
        }
    }
}

/// Every metric is known, can be measured, applies to a device, and comes after what it needs.
fn metrics(draft: &Draft, measure: &MeasureDraft, log: &mut Vec<Diagnostic>) {
    let metrics = &measure.metrics;
    if !metrics.sound || draft.duts.is_empty() {
        return;
    }
    repeated(&metrics.value, |key| format!("`{key}`"), log);
    let stateful = draft.duts.iter().any(DutDraft::is_stateful);
    let stateless = draft.duts.iter().any(|dut| !dut.is_stateful());
    let mut established = false;
    for key in &metrics.value {
        let builds_on_phase1 = ["throughput", "max_conn_est_rate_validated"].contains(&key.value.as_str());
        if stateful && builds_on_phase1 && measure.phase1_acceptance_ppm < 1_000_000 {
            log.push(
                Diagnostic::new("phase 2 and validation need every connection of phase 1")
                    .at(key.place, "not possible with a phase1-acceptance below 100 %")
                    .instead("leave phase1-acceptance out, or measure max_conn_est_rate alone (RFC 9693, section 4.4)"),
            );
        }
        match key.value.as_str() {
            "throughput" if stateful && !established => log.push(
                Diagnostic::new("throughput needs the maximum connection establishment rate first")
                    .at(key.place, "its phase 1 runs at 0.7 of that rate, which is not known yet")
                    .instead("put \"max_conn_est_rate\" before it (RFC 9693, section 4.7)"),
            ),
            "throughput" => {}
            "ipv4_forwarding_throughput" if stateless => {}
            "max_conn_est_rate" | "max_conn_est_rate_validated" if stateful => {
                established = true;
                if key.value.ends_with("validated") && measure.alpha.sound && measure.alpha.value.is_none() {
                    let diagnostic = Diagnostic::new("validation needs its factor")
                        .at(key.place, "validated at alpha times the rate");
                    log.push(diagnostic.instead("write alpha = 0.5 in [measure] (RFC 9693, section 4.6)"));
                }
            }
            other => log.push(unusable(other, key.place)),
        }
    }
    let validated = metrics.value.iter().any(|key| key.value == "max_conn_est_rate_validated");
    if measure.alpha.sound && measure.alpha.value.is_some() && !validated {
        let diagnostic =
            Diagnostic::new("alpha is given, but nothing is validated").at(measure.alpha.place, "not used");
        log.push(diagnostic.instead("add \"max_conn_est_rate_validated\" to the metrics, or leave alpha out"));
    }
    let measures_throughput = metrics.value.iter().any(|key| key.value.ends_with("throughput"));
    for dut in draft.duts.iter().filter(|dut| !dut.is_stateful() && !measures_throughput) {
        let diagnostic =
            Diagnostic::new(format!("nothing is measured on `{}`", dut.name())).at(dut.key, "keeps no connections");
        let diagnostic = diagnostic.at(metrics.place, "only about connections");
        log.push(diagnostic.instead("add \"throughput\" to the metrics, or leave the device out"));
    }
}

/// Why a key of a metric cannot stand in a scenario.
fn unusable(key: &str, place: Option<Place>) -> Diagnostic {
    let measured = || metric::METRICS.iter().filter(|m| m.origin != Origin::Derived).map(|m| m.key);
    match metric::by_key(key) {
        Some(known) if known.origin == Origin::Derived => {
            let diagnostic =
                Diagnostic::new(format!("`{key}` is computed, not measured")).at(place, "follows from other metrics");
            diagnostic.instead("leave it out: reports show it wherever its inputs were measured")
        }
        Some(_) => {
            let diagnostic = Diagnostic::new(format!("`{key}` does not apply to any device of this scenario"));
            diagnostic.at(place, "no device for it").instead("leave it out, or add a device that it applies to")
        }
        None => {
            let diagnostic = Diagnostic::new(format!("unknown metric `{key}`")).at(place, "no such metric");
            diagnostic.instead(match nearest(key, measured()) {
                Some(meant) => format!("did you mean \"{meant}\"?"),
                None => format!("metrics are {}", measured().collect::<Vec<_>>().join(", ")),
            })
        }
    }
}

/// Every number of connections exists in the flow space, fits the tables and is more than a buffer.
fn sweep(draft: &Draft, measure: &MeasureDraft, log: &mut Vec<Diagnostic>) {
    let stateful = draft.duts.iter().any(DutDraft::is_stateful);
    let Some(all) = &measure.connections.value else {
        if stateful && measure.connections.place.is_none() {
            let diagnostic = Diagnostic::new("the scenario does not say how many connections");
            log.push(diagnostic.instead("write connections = [\"100k\", \"1M\"] in [sweep]"));
        }
        return;
    };
    if !stateful && !draft.duts.is_empty() {
        let diagnostic = Diagnostic::new("no device of this scenario keeps connections");
        let diagnostic = diagnostic.at(measure.connections.place, "connections mean nothing here");
        log.push(diagnostic.instead("leave them out, or add a device that keeps connections"));
        return;
    }
    repeated(all, |&n| format!("`{}`", show_count(n)), log);
    let flows = flows(draft, log);
    for n in all {
        if let Some(flows) = flows.filter(|&flows| n.value > flows) {
            few_flows(draft, n, flows, log);
        }
        log.extend(draft.duts.iter().filter_map(|dut| check_shares::table(draft, dut, n)));
        let rings = draft.most_rings();
        if let Link::InProcess { depth } = draft.link.link
            && draft.link.sound
            && n.value < 100 * depth as u64 * rings
        {
            let all = if rings > 1 { format!("{depth} × {rings}") } else { depth.to_string() };
            let label = format!("below 100 × {all}, the frames that the link can hold");
            log.push(
                Diagnostic::new(format!(
                    "{} connections are buffer-bound: a buffer would be measured, not the device",
                    show_count(n.value)
                ))
                .at(n.place, label)
                .at(draft.link.depth, "the link's depth")
                .at(draft.testers.place.filter(|_| draft.testers.value > 1), "each worker of the tester has rings")
                .instead(format!(
                    "use {} connections at least, or a shallower link",
                    show_count(100 * depth as u64 * rings)
                )),
            );
        }
    }
}

/// How many flows the ranges give; none when that cannot be said.
pub fn flows(draft: &Draft, log: &mut Vec<Diagnostic>) -> Option<u64> {
    let t = &draft.traffic;
    let sound =
        t.inside.sound && t.subscribers.sound && t.source_ports.sound && t.remote.sound && t.destination_ports.sound;
    if !(sound && draft.axes_sound) {
        return None;
    }
    let (least, most) = check_axes::insides(&draft.build(false))?;
    let each = [t.source_ports.value.count(), t.remote.value.count, t.destination_ports.value.count()];
    let each = each.into_iter().map(u128::from).product::<u128>();
    let product = u128::from(most) * each;
    if product <= 1 << 32 {
        return Some(least * each as u64);
    }
    let diagnostic = Diagnostic::new(format!(
        "the ranges span {} flows; at most 4,294,967,296 can be told apart",
        show_grouped(product as u64)
    ));
    log.push(mark_ranges(draft, diagnostic).instead("narrow one of the ranges"));
    None
}

fn few_flows(draft: &Draft, n: &Spot<Count>, flows: u64, log: &mut Vec<Diagnostic>) {
    let t = &draft.traffic;
    let ports = u64::from(t.source_ports.value.count());
    let inside = check_axes::insides(&draft.build(false)).map_or(1, |(least, _)| least);
    let [remote, far_ports] = [u64::from(t.remote.value.count), u64::from(t.destination_ports.value.count())];
    let diagnostic = Diagnostic::new(format!(
        "{} connections, but addresses × ports give only {} flows",
        show_count(n.value),
        show_grouped(flows)
    ));
    let diagnostic = diagnostic.at(n.place, format!("{inside} × {ports} × {remote} × {far_ports} flows"));
    let needed = n.value.div_ceil(inside * ports * remote);
    log.push(mark_ranges(draft, diagnostic).instead(if needed <= 65535 {
        format!("widen a range, for example destination-ports = \"1-{needed}\"")
    } else {
        "widen the ranges: more ports, and more addresses in `inside` or `remote`".to_owned()
    }));
}

fn mark_ranges(draft: &Draft, diagnostic: Diagnostic) -> Diagnostic {
    let t = &draft.traffic;
    let swept = check_axes::said_by(draft).and_then(|(axis, largest)| Some((axis, largest?)));
    let diagnostic = match swept {
        Some((axis, n)) => diagnostic.at(n.place, format!("{} {}", show_grouped(n.value), axis.axis.heading)),
        None => diagnostic,
    };
    diagnostic
        .at(t.inside.place, format!("{} addresses", t.inside.value.count))
        .at(t.source_ports.place, format!("{} ports", t.source_ports.value.count()))
        .at(t.remote.place, format!("{} addresses", t.remote.value.count))
        .at(t.destination_ports.place, format!("{} ports", t.destination_ports.value.count()))
}

/// No connection times out within a trial, and sequence numbers do not run out.
fn times(draft: &Draft, measure: &MeasureDraft, log: &mut Vec<Diagnostic>) {
    /// Faster than any device known: below the time it gives, a timeout is certainly too short.
    const FASTEST: Rate = Rate(10_000_000);
    if !measure.duration.sound {
        return;
    }
    let largest = measure.connections.value.iter().flatten().map(|n| n.value).max().unwrap_or(0);
    let waits = 2 * measure.phase1_drain.0 + measure.start_delay.0 + measure.drain.0;
    let needed = Nanos(FASTEST.time_for(largest).0 + waits + measure.duration.value.0);
    for timeout in draft.duts.iter().filter_map(|dut| Some(dut.kind.nat()?.state?.udp_timeout)) {
        if timeout.sound && timeout.value <= needed {
            let label = format!("a trial lasts {} at least", show_time(needed));
            log.push(
                Diagnostic::new("connections would time out within a trial")
                    .at(timeout.place, label)
                    .at(measure.duration.place, "the time of phase 2 alone")
                    .instead("write udp-timeout = \"10000 s\", or leave it out (RFC 9693, section 4.4)"),
            );
        }
    }
    // The tag's sequence number has five octets (METHODOLOGY.md, frames).
    let rate = measure.max_rate.value.map(|rate| rate.frames_per_second(draft.widest_frame()));
    if rate.is_some_and(|rate| Rate(rate).frames_in(measure.duration.value) >= 1 << 40) {
        let diagnostic = Diagnostic::new("a trial would send more frames than can be numbered (2^40)");
        let diagnostic = diagnostic.at(measure.duration.place.or(measure.max_rate.place), "too many frames");
        log.push(diagnostic.instead("use shorter trials"));
    }
}

/// No value of an axis stands twice.
pub fn repeated<T: PartialEq>(values: &[Spot<T>], show: impl Fn(&T) -> String, log: &mut Vec<Diagnostic>) {
    for (i, value) in values.iter().enumerate() {
        if let Some(first) = values[..i].iter().find(|other| other.value == value.value) {
            log.push(
                Diagnostic::new(format!("{} stands twice", show(&value.value)))
                    .at(value.place, "again")
                    .at(first.place, "first")
                    .instead("write it once; `repetitions` says how often a value is measured"),
            );
        }
    }
}
