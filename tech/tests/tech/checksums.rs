//! A device that copies the checksum of UDP is found with the default addresses of every technology.

use crate::built::{OURS, build, open, outbox, scenario};
use plane::{AnyFunction, Hop, Input, Packet, Side, Verdict};
use tech::Setting;
use testbed::Frame;
use wire::{Mismatch, Tag, Values, View};

const NAT44: &str = "[technology.nat44]\npool = \"198.19.0.1\"\n";
const SIIT: &str = "[technology.siit]\neam = [\"198.18.0.0/24 2001:2::/120\"]\npref64 = \"2001:2:0:1000::/96\"\n";
const NAT64: &str = "[technology.nat64]\npref64 = \"2001:2:0:1000::/96\"\npool = \"198.19.0.1\"\n";
const NAT46: &str = "[technology.nat46]\neam = [\"198.19.0.0/24 2001:2:0:3000::/120\"]\npool = \"2001:2:0:200::1\"\n";
const NAT66: &str = "[technology.nat66]\npool = \"2001:2:0:200::1\"\n";
const XLAT464: &str =
    "[technology.464xlat]\npref64 = \"2001:2:0:1000::/96\"\nclat = \"2001:2:0:2::/96\"\npool = \"198.19.0.1\"\n";
const DS_LITE: &str =
    "[technology.ds-lite]\nb4 = \"2001:2:0:4000::1\"\naftr = \"2001:2:0:100::2\"\npool = \"198.19.0.1\"\n";
const LW4O6: &str = "[technology.lw4o6]\nlwaftr = \"2001:2:0:100::2\"\nipv4 = \"203.0.113.0/24\"\nb4 = \"2001:db8:1::1\"\n\
                     psid-length = 4\npsid-offset = 4\n";
const MAP_E: &str = "[technology.map-e]\nbr = \"2001:2:0:100::2\"\nipv6-prefix = \"2001:db8:1::/50\"\n\
                     ipv4-prefix = \"203.0.113.0/24\"\nea-bits = 12\npsid-offset = 4\n";
const MAP_T: &str = "[technology.map-t]\ndmr = \"2001:2:0:1000::/96\"\nipv6-prefix = \"2001:db8:1::/50\"\n\
                     ipv4-prefix = \"203.0.113.0/24\"\nea-bits = 12\npsid-offset = 4\n";

/// Every part of every technology that translates addresses, with the addresses of documents and `natmeter new`.
const TRANSLATE: &[(&str, &[&str])] = &[
    (NAT44, &["dual"]),
    (SIIT, &["pe"]),
    (NAT64, &["pe"]),
    (NAT46, &["pe"]),
    (NAT66, &["pe"]),
    (XLAT464, &["ce", "pe", "dual"]),
    (DS_LITE, &["pe", "dual"]),
    (LW4O6, &["ce", "dual"]),
    (MAP_E, &["ce", "dual"]),
    (MAP_T, &["ce", "pe", "dual"]),
];

/// Those that do not: UDP's checksum stays right.
const KEEP: &[(&str, &[&str])] =
    &[("[technology.ipv6-forwarding]\n", &["dual"]), (DS_LITE, &["ce"]), (LW4O6, &["pe"]), (MAP_E, &["pe"])];

/// The sum of the prefix is 0, so the translation changes no checksum (RFC 6052, section 4.1).
const NEUTRAL_BY_DESIGN: &str = "[technology.siit]\npref64 = \"64:ff9b::/96\"\nprivate-behind-well-known = true\n";

/// The tag follows the checksum.
const CHECKSUM_BEFORE_TAG: usize = 2;

struct Part {
    view: View,
    function: AnyFunction<Frame>,
}

fn part(plays: &str, table: &str, traffic: &str) -> Part {
    let scenario = scenario(plays, table, traffic);
    let (plays, technology) = scenario.duts[0].technology().unwrap();
    let hop = Hop { own: OURS, next: OURS };
    let flows = &scenario.traffic.flows;
    let setting =
        Setting { flows, frame_size: 128, ttl: 64, connections: 0, seed: 7, left: hop, right: hop, open: &open };
    let view = technology.view(plays, &setting).unwrap_or_else(|why| panic!("{table} {why}"));
    Part { view, function: build(technology, plays, 1).unwrap().remove(0) }
}

impl Part {
    /// Sends the first frame of a connection; what Right says of it, and of the same frame with the sent checksum.
    fn send(&mut self, index: u32) -> [Result<(), Mismatch>; 2] {
        self.send_as(index, index)
    }

    fn send_as(&mut self, index: u32, sequence: u32) -> [Result<(), Mismatch>; 2] {
        let View { left, expect_right, .. } = &self.view;
        let values = Values::of(self.view.flow(index));
        let mut frame = vec![0; left.len()];
        left.write(&mut frame, &values, &Tag { trial: 1, stream: 0, sender: 0, sequence: sequence.into(), index });
        let mut batch = [Frame::with_room(&frame, 128, 2048)];
        let mut verdicts = [Verdict::Drop];
        let now = 1_000_000 * (u64::from(sequence) + 1);
        self.function.process(Input::new(now, Side::Customer, &mut batch, &mut verdicts), &mut outbox());
        assert_eq!(verdicts, [Verdict::Forward(Side::Internet)]);
        let mut received = batch[0].bytes().to_vec();
        let right = expect_right.learn(&received, &values).map(|_| ());
        let (sent_at, at) = (left.tag_at() - CHECKSUM_BEFORE_TAG, expect_right.tag_at() - CHECKSUM_BEFORE_TAG);
        received[at..at + 2].copy_from_slice(&frame[sent_at..sent_at + 2]);
        [right, expect_right.learn(&received, &values).map(|_| ())]
    }
}

fn each(parts: &[(&'static str, &'static [&'static str])]) -> impl Iterator<Item = (&'static str, &'static str)> {
    parts.iter().flat_map(|&(table, plays)| plays.iter().map(move |&plays| (table, plays)))
}

#[test]
fn a_copied_checksum_is_found_with_the_default_addresses_of_every_technology() {
    for (table, plays) in each(TRANSLATE) {
        let mut part = part(plays, table, "");
        for index in 0..100 {
            assert_eq!(part.send(index), [Ok(()), Err(Mismatch::Checksum)], "{plays} {table} connection {index}");
        }
        assert!(!part.view.hides_copied_checksums(), "{plays} {table}");
    }
}

/// Over 65,536 sequence numbers, a connection has every checksum.
#[test]
fn every_technology_writes_every_checksum_right() {
    for (table, plays) in each(TRANSLATE) {
        let mut part = part(plays, table, "");
        for sequence in 0..1 << 16 {
            assert_eq!(part.send_as(0, sequence)[0], Ok(()), "{plays} {table} sequence number {sequence}");
        }
    }
}

#[test]
fn parts_that_translate_nothing_keep_the_checksum() {
    for (table, plays) in each(KEEP) {
        let mut part = part(plays, table, "");
        assert_eq!(part.send(0), [Ok(()), Ok(())], "{plays} {table}");
        assert!(!part.view.hides_copied_checksums(), "{plays} {table}");
    }
}

#[test]
fn every_technology_is_in_one_of_the_lists() {
    let named = |name: &str| each(TRANSLATE).chain(each(KEEP)).any(|(table, _)| table.contains(&format!(".{name}]")));
    let missing: Vec<&str> = tech::ALL.iter().map(|entry| entry.name()).filter(|name| !named(name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// 0xc612 + 2 = 0xc613 + 1.
#[test]
fn addresses_with_the_same_sum_hide_a_copied_checksum() {
    let host = "inside = \"198.18.0.2\"";
    for (table, plays) in [(NAT44, "dual"), (XLAT464, "dual"), (DS_LITE, "pe"), (DS_LITE, "dual")] {
        let mut part = part(plays, table, host);
        assert_eq!(part.send(0), [Ok(()), Ok(())], "{plays} {table}");
        assert!(part.view.hides_copied_checksums(), "{plays} {table}");
    }
    // One of two hosts shows it.
    assert!(!part("dual", NAT44, "inside = \"198.18.0.2 - 198.18.0.3\"").view.hides_copied_checksums());
}

#[test]
fn prefixes_that_are_neutral_by_design_hide_a_copied_checksum() {
    let mut part = part("pe", NEUTRAL_BY_DESIGN, "");
    assert_eq!(part.send(0), [Ok(()), Ok(())]);
    assert!(part.view.hides_copied_checksums());
}
