//! What is built of a technology's table: that workers are told apart, and that edges are steered by what they keep state under.

#[path = "../../../plane/tests/common/frame.rs"]
mod frame;

use super::*;
use crate::scenario::{Dut, Options, parse};
use frame::Frame;
use plane::{Packet, Spare, Verdict};
use wire::checksum::Sum;
use wire::{Mac, header};

const OURS: Mac = Mac([2, 0, 0, 0, 0, 1]);

/// The technology of a table, as a gateway plays it.
fn technology(plays: &str, table: &str) -> (Technology, Plays) {
    let measure = if table.contains("[technology.map-") {
        // With state at the customer's edge there is nothing to measure without connections.
        "metrics = [\"max_conn_est_rate\"]\n[sweep]\nconnections = [\"60k\"]"
    } else {
        "metrics = [\"throughput\"]"
    };
    let text = format!(
        "name = \"t\"\n[dut.embedded]\nplays = \"{plays}\"\n{table}\n[traffic]\nframe-size = 128\nsource-ports = \"1024-2023\"\n\
         destination-ports = \"1-100\"\n[measure]\n{measure}\n"
    );
    let loaded = parse("t.toml", &text, &Options::default()).unwrap_or_else(|c| panic!("{}", c.render(false)));
    let Dut::Technology { plays, technology } = &loaded.scenario.duts[0] else { panic!("no technology") };
    (Technology::clone(technology), *plays)
}

fn links() -> Links {
    let v4 = Side4 { mac: OURS, next_hop: OURS, address: [198, 18, 0, 1].into(), mtu: 9000 };
    let v6 = Side6 { mac: OURS, next_hop: OURS, address: "2001:2::1".parse().unwrap(), mtu: 1280 };
    Links { left4: v4, left6: v6, right4: v4, right6: v6 }
}

/// What leaves of a packet that is cut.
struct Pieces(Vec<Vec<u8>>);

impl Spare<Frame> for Pieces {
    fn fresh(&mut self, len: usize) -> Option<Frame> {
        Some(Frame::with_room(&vec![0; len], 128, 128))
    }
    fn emit(&mut self, _: Side, packet: Frame) {
        self.0.push(packet.bytes().to_vec());
    }
    fn hand_over(&mut self, _: u16, _: Side, _: Frame) {
        panic!("nothing to hand over");
    }
}

/// Sends a large packet from the left through each worker; gives the IPv6 identifications of what leaves.
struct Cut;

impl Use for Cut {
    type Out = Vec<[u8; 4]>;
    fn with<F: Function + 'static>(self, functions: Vec<F>) -> Vec<[u8; 4]> {
        let mut packet = vec![0; header::ETH + 1400];
        packet[..6].copy_from_slice(&OURS.0);
        packet[12..16].copy_from_slice(&[8, 0, 0x45, 0]);
        packet[16..18].copy_from_slice(&1400u16.to_be_bytes());
        packet[22..24].copy_from_slice(&[64, 17]);
        packet[26..34].copy_from_slice(&[198, 18, 0, 2, 198, 19, 0, 2]);
        let sum = Sum::default().bytes(&packet[14..34]).checksum();
        packet[24..26].copy_from_slice(&sum);
        packet[38..40].copy_from_slice(&1380u16.to_be_bytes());
        let cut = |mut f: F| {
            let (mut pieces, mut verdicts) = (Pieces(Vec::new()), [Verdict::Drop]);
            f.process(1, Side::Customer, &mut [Frame::with_room(&packet, 128, 128)], &mut verdicts, &mut pieces);
            assert_eq!((verdicts[0], pieces.0.len()), (Verdict::Forward(Side::Internet), 1));
            pieces.0[0][58..62].try_into().unwrap()
        };
        functions.into_iter().map(cut).collect()
    }
}

/// RFC 8200, section 4.5: tunnel packets of one B4 have different identifications, whichever worker cuts them.
#[test]
fn workers_of_a_b4_are_told_apart() {
    let table = "[technology.ds-lite]\nb4 = \"2001:2:0:4000::1\"\naftr = \"2001:2:0:100::2\"\npool = \"198.19.0.1\"\n";
    let (ds_lite, ce) = technology("ce", table);
    let ids = build(&ds_lite, ce, &links(), 2, 7, Cut).unwrap();
    assert_ne!(ids[0], ids[1]);
}

/// Both directions of a customer's edge are spread by what its NAT has them under: its outside ports.
#[test]
fn edges_with_state_are_steered_by_their_ports() {
    let table = |name: &str, relay: &str| {
        let prefixes =
            "ipv6-prefix = \"2001:db8:1::/50\"\nipv4-prefix = \"203.0.113.0/24\"\nea-bits = 12\npsid-offset = 4\n";
        format!("[technology.{name}]\n{relay}\n{prefixes}")
    };
    let set = PortSet { offset: 4, len: 4, psid: 0 };
    for (name, relay, at) in [("map-e", "br = \"2001:2:0:100::2\"", 76), ("map-t", "dmr = \"2001:2:0:1000::/96\"", 56)]
    {
        for (plays, at) in [("ce", at), ("dual", 36)] {
            let (technology, plays) = technology(plays, &table(name, relay));
            let wanted = [Nat44::STEER_CUSTOMER, Nat44::steer_ports(at, set, 2)];
            assert_eq!(steering(&technology, plays, 2), wanted, "{name}");
        }
    }
}
