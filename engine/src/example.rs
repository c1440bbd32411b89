//! The first wrong frame of each kind in words, after a phase, beside the expected one.

use crate::expected::JudgePlan;
use crate::first_wrong::FirstWrong;
use method::{Example, Fault};
use std::fmt::Write;
use wire::decode;
use wire::{OuterRange, Tag, Values};

/// The frames in words, beside those that the plan expects, if there is one. `ttl` is that of right frames.
pub(crate) fn examples(first: &FirstWrong, plan: Option<&JudgePlan<'_>>, ttl: Option<u8>) -> Vec<Example> {
    first.frames().map(|kept| example(kept, plan, ttl)).collect()
}

fn example((fault, octets, len): (Fault, &[u8], usize), plan: Option<&JudgePlan<'_>>, ttl: Option<u8>) -> Example {
    let got = decode::line(octets, len).to_string();
    let expected = plan.and_then(|plan| match fault {
        // Nothing was expected in place of these.
        Fault::Foreign | Fault::Late | Fault::Unexpected | Fault::Returned | Fault::Duplicate | Fault::IcmpError => {
            None
        }
        Fault::OutsidePool => plan.expect.outer().map(in_pool),
        _ => expected(octets, plan, ttl.unwrap_or_default()).map(|frame| beside(&got, &frame, octets, ttl.is_some())),
    });
    let hex = octets.iter().fold(String::with_capacity(2 * octets.len()), |mut hex, octet| {
        let _ = write!(hex, "{octet:02x}");
        hex
    });
    Example { fault, got, expected, octets: hex }
}

fn in_pool(outer: &OuterRange) -> String {
    let OuterRange { addrs, ports } = outer;
    let last = u32::from(addrs.first).wrapping_add(addrs.count.saturating_sub(1));
    let addresses = if addrs.count > 1 {
        format!("{}-{}", addrs.first, std::net::Ipv4Addr::from(last))
    } else {
        addrs.first.to_string()
    };
    format!("an outside address and port of the pool, {addresses}, ports {}-{}", ports.first, ports.last)
}

/// The expected frame in words; where both lines are equal, the first octet that differs.
fn beside(got: &str, frame: &[u8], octets: &[u8], knows_ttl: bool) -> String {
    let mut words = decode::line(frame, frame.len()).to_string();
    if !knows_ttl {
        words = words.replace("TTL 0, ", "").replace("hop limit 0, ", "");
    }
    if words == got
        && let Some(at) = (wire::header::ETH..octets.len().min(frame.len())).find(|&at| octets[at] != frame[at])
    {
        let _ = write!(words, ", with 0x{:02x} instead of 0x{:02x} at octet {at}", frame[at], octets[at]);
    }
    words
}

/// The frame that should have arrived with this one's tag.
fn expected(octets: &[u8], plan: &JudgePlan<'_>, ttl: u8) -> Option<Vec<u8>> {
    let at =
        Some(plan.expect.tag_at()).filter(|&at| Tag::read(octets, at).is_some()).or_else(|| decode::tag_in(octets))?;
    let tag = Tag::read(octets, at).filter(|tag| tag.trial == plan.trial && (tag.index as u64) < plan.connections)?;
    let values = Values::of(plan.view.flows.flow(plan.view.order.get(tag.index)));
    let values = match plan.store.and_then(|(store, trial)| store.get(tag.index, trial)) {
        Some((addr, port)) => values.learned(addr, port),
        // A VLAN tag or another header moves all that follows it.
        None => plan.expect.with_outer_of(octets.get(at.saturating_sub(plan.expect.tag_at())..)?, &values),
    };
    let mut frame = plan.expect.frame(&values, &tag, ttl);
    wire::edges::choose_as(&mut frame, plan.expect.tag_at(), (octets, at));
    Some(frame)
}
