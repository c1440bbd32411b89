//! Correct frames, and each kind of wrong ones.

use super::*;
use crate::flow::Flow;
use crate::template::UdpFrame;
use crate::{FramePurpose, Source, Tag};

const FLOW: Flow =
    Flow { inside_addr: 0xc612_0002, inside_port: 40_000, remote_addr: 0xc613_0002, remote_port: 80, subscriber: 1 };

fn template(size: usize, src: Source, src_port: Source) -> Template {
    Template::udp_v4(&UdpFrame {
        to: header::Mac::default(),
        from: header::Mac::default(),
        size,
        ttl: 10,
        fields: fields(src, src_port),
    })
}

fn fields(src: Source, src_port: Source) -> Fields {
    Fields { src, src_port, dst: Source::RemoteAddr, dst_port: Source::RemotePort }
}

/// A frame as a NAT that translated to this outside address and port forwards it.
fn translated(size: usize, outer: (u32, u16)) -> (Vec<u8>, Expect, Values) {
    let sent = template(size, Source::InsideAddr, Source::InsidePort);
    let out = template(size, Source::OuterAddr, Source::OuterPort);
    let values = Values::of(FLOW).learned(outer.0, outer.1);
    let mut frame = vec![0; out.len()];
    out.write(
        &mut frame,
        &values,
        &Tag { trial: 7, stream: Tag::stream(FramePurpose::Data, false), sender: 0, sequence: 9, index: 5 },
    );
    let range =
        OuterRange { addrs: AddrRange::one([198, 19, 0, 1].into()), ports: PortRange { first: 1024, last: 65535 } };
    let expect = Expect::udp(&sent, fields(Source::OuterAddr, Source::OuterPort), Layout::Ipv4, Some(range));
    (frame, expect, values)
}

const OUTER: (u32, u16) = (0xc613_0001, 5000);

#[test]
fn a_right_frame_is_right_and_teaches() {
    for size in [64, 65, 128, 1518] {
        let (frame, expect, values) = translated(size, OUTER);
        assert_eq!(expect.check(&frame, &values), Ok(()));
        assert_eq!(expect.learn(&frame, &values), Ok(OUTER));
    }
}

#[test]
fn each_wrong_thing_is_named() {
    let (frame, expect, values) = translated(128, OUTER);
    let with = |at: usize, xor: u8| {
        let mut f = frame.clone();
        f[at] ^= xor;
        expect.check(&f, &values)
    };
    assert_eq!(expect.check(&frame[..123], &values), Err(Mismatch::Length));
    assert_eq!(with(29, 1), Err(Mismatch::Address));
    assert_eq!(with(33, 1), Err(Mismatch::Address));
    assert_eq!(with(35, 1), Err(Mismatch::Port));
    assert_eq!(with(37, 1), Err(Mismatch::Port));
    assert_eq!(with(23, 1), Err(Mismatch::Header));
    assert_eq!(with(20, 0x20), Err(Mismatch::Header), "more fragments");
    assert_eq!(with(39, 1), Err(Mismatch::Header), "UDP length");
    assert_eq!(with(41, 1), Err(Mismatch::Checksum));
    assert_eq!(with(25, 1), Err(Mismatch::Checksum));
    assert_eq!(with(100, 1), Err(Mismatch::Payload));
    assert_eq!(with(15, 1), Err(Mismatch::Checksum), "TOS itself may change, its checksum must follow");
}

#[test]
fn a_pool_may_have_several_ranges() {
    let further = (OUTER.0 + 8, OUTER.1);
    let (frame, expect, values) = translated(128, further);
    assert_eq!(expect.learn(&frame, &values), Err(Mismatch::Pool));
    let expect = expect.or_of(vec![AddrRange::one(further.0.into())]);
    assert_eq!(expect.learn(&frame, &values), Ok(further));
    let (frame, _, values) = translated(128, (OUTER.0 + 4, OUTER.1));
    assert_eq!(expect.learn(&frame, &values), Err(Mismatch::Pool));
}

#[test]
fn some_bits_of_an_outside_address_may_be_none() {
    let (frame, expect, values) = translated(128, OUTER);
    assert_eq!(expect.clone().with_clear(2).learn(&frame, &values), Ok(OUTER));
    assert_eq!(expect.with_clear(1).learn(&frame, &values), Err(Mismatch::Pool));
}

#[test]
fn a_zero_udp_checksum_is_wrong() {
    let (mut frame, expect, values) = translated(64, OUTER);
    frame[40..42].fill(0);
    assert_eq!(expect.check(&frame, &values), Err(Mismatch::Checksum));
}

#[test]
fn learning_refuses_what_lies_outside_the_pool() {
    for outer in [(0xc613_0003, 5000), (0xc613_0001, 80)] {
        let (frame, expect, values) = translated(64, outer);
        assert_eq!(expect.learn(&frame, &values), Err(Mismatch::Pool));
    }
}

#[test]
fn learning_refuses_ports_of_other_sets() {
    let (frame, expect, values) = translated(64, OUTER);
    let set = PortSet::new(6, 8, 0).unwrap();
    let own = set.psid_of(OUTER.1).unwrap();
    for psid in 0..=255 {
        let expect = expect.clone().within(PortSet { psid, ..set });
        let right = if psid == own { Ok(OUTER) } else { Err(Mismatch::Pool) };
        assert_eq!(expect.learn(&frame, &values), right);
    }
}

#[test]
fn a_mapping_that_moved_is_a_wrong_port() {
    let (frame, expect, values) = translated(64, OUTER);
    let moved = values.learned(OUTER.0, OUTER.1 + 1);
    assert_eq!(expect.check(&frame, &moved), Err(Mismatch::Port));
}
