//! The first wrong frame of each kind: kept while frames are judged, put into words after the phase.

use crate::expected::JudgePlan;
use method::{Example, Fault};
use std::fmt::Write;
use wire::decode::{self, Stray};
use wire::{OuterRange, Tag, Values};

/// Octets that are kept of a frame.
const KEPT: usize = 256;

#[derive(Clone, Copy, Debug)]
struct FrameStart {
    octets: [u8; KEPT],
    /// Length of the frame; 0 before the first one.
    len: usize,
}

/// The first wrong frame of each kind, in memory that exists before the first frame arrives.
#[derive(Clone, Debug)]
pub struct FirstWrong(Box<[FrameStart]>);

impl Default for FirstWrong {
    fn default() -> FirstWrong {
        FirstWrong(vec![FrameStart { octets: [0; KEPT], len: 0 }; Fault::ALL.len()].into())
    }
}

impl FirstWrong {
    pub(crate) fn keep(&mut self, fault: Fault, frame: &[u8]) {
        let first = &mut self.0[fault as usize];
        if first.len == 0 {
            let kept = frame.len().min(KEPT);
            first.octets[..kept].copy_from_slice(&frame[..kept]);
            first.len = frame.len();
        }
    }

    /// The frames in words, beside those that the plan expects, if there is one. `ttl` is that of right frames.
    pub(crate) fn examples(&self, plan: Option<&JudgePlan<'_>>, ttl: Option<u8>) -> Vec<Example> {
        let kept = Fault::ALL.into_iter().zip(&self.0).filter(|(_, first)| first.len > 0);
        kept.map(|(fault, first)| example(fault, first, plan, ttl)).collect()
    }
}

/// The fault of a frame without a tag at its place.
pub(crate) fn fault_of_stray(frame: &[u8]) -> Fault {
    match decode::stray(frame) {
        Stray::IcmpError => Fault::IcmpError,
        Stray::Fragment => Fault::Fragment,
        Stray::VlanTag => Fault::WrongVlan,
        Stray::OtherHeaders => Fault::WrongHeader,
        Stray::Foreign => Fault::Foreign,
    }
}

fn example(fault: Fault, first: &FrameStart, plan: Option<&JudgePlan<'_>>, ttl: Option<u8>) -> Example {
    let octets = &first.octets[..first.len.min(KEPT)];
    let got = decode::line(octets, first.len).to_string();
    let expected = plan.and_then(|plan| match fault {
        // Nothing was expected in place of these.
        Fault::Foreign | Fault::Late | Fault::Unexpected | Fault::Duplicate | Fault::IcmpError => None,
        Fault::OutsidePool => plan.expect.outer().map(in_pool),
        _ => expected(octets, plan, ttl.unwrap_or_default()).map(|frame| beside(&got, &frame, octets, ttl.is_some())),
    });
    let hex = octets.iter().fold(String::with_capacity(2 * KEPT), |mut hex, octet| {
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
        None => plan.expect.with_outer_of(octets, &values),
    };
    Some(plan.expect.frame(&values, &tag, ttl, (octets, at)))
}
