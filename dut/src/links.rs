//! The links of a bed that natmeter makes: tester, boxes from left to right, tester. Each box has a
//! namespace; a link is a veth pair, or a TAP whose queues one end holds.

use crate::DutError;
use crate::changes::Changes;
use crate::host::Namespace;
use crate::interface::{prepared, quiet, steer};
use crate::lock::RunDir;
use crate::null::{self, Work, WorkCounters};
use crate::side::{LEFT, RIGHT};
use crate::step::{Action, NETNS_OF_DUT, Sink, Step, Target};
use crate::tool::{self, ETHTOOL, IP};
use port::{Netns, PortError, handover};
use std::os::fd::OwnedFd;

/// Names of the ends, left and right.
pub const ENDS: [&str; 2] = [LEFT.name, RIGHT.name];

/// Left and right, of box `at` of `count`, from the left and from 0.
pub fn macs(at: usize, count: usize) -> [[u8; 6]; 2] {
    [
        if at == 0 { LEFT.dut_mac() } else { between(at)[1] },
        if at + 1 == count { RIGHT.dut_mac() } else { between(at + 1)[0] },
    ]
}

/// Ethernet addresses of the left and right neighbour.
pub fn neighbours(at: usize, count: usize) -> [[u8; 6]; 2] {
    [
        if at == 0 { LEFT.tester_mac() } else { between(at)[0] },
        if at + 1 == count { RIGHT.tester_mac() } else { between(at + 1)[1] },
    ]
}

/// Ethernet addresses of the tester's ends, left and right.
pub fn tester_macs() -> [[u8; 6]; 2] {
    [LEFT.tester_mac(), RIGHT.tester_mac()]
}

/// Both ends of the link on the left of box `at`.
fn between(at: usize) -> [[u8; 6]; 2] {
    [1, 2].map(|end| [0x02, 0, 0, 0, at as u8, end])
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End<'a> {
    /// An interface of this name in a namespace.
    Interface(&'a str),
    /// Queues of a TAP in a process; the interface is the other end.
    Queues(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connection {
    /// Connects interfaces in their namespaces.
    Interfaces,
    /// Connects queues of a TAP on each side.
    Queues(u32),
}

impl Connection {
    fn end(self, side: usize) -> End<'static> {
        match self {
            Connection::Interfaces => End::Interface(ENDS[side]),
            Connection::Queues(queues) => End::Queues(queues),
        }
    }
}

/// Links with all namespaces, which vanish on drop.
pub struct Links {
    tester: Netns,
    boxes: Vec<Netns>,
    /// Interfaces of the tester, left and right; none where it holds queues.
    interfaces: [Option<String>; 2],
    /// One for the link on the left of each box, in whose namespaces it works, and one for the last link.
    changes: Vec<Changes>,
}

impl Links {
    /// Makes the links between the tester's ends and the boxes, from left to right, with so many queues per veth pair.
    /// Without boxes, a cable joins both ends of the tester. Fails for an invalid name, or for a link with queues at
    /// both ends.
    pub fn make(
        ends: [End; 2],
        boxes: &[Connection],
        queues: u32,
        dir: &RunDir,
        sink: &Sink,
    ) -> Result<Links, DutError> {
        tool::require(&[IP, ETHTOOL])?;
        let tester = Netns::new()?;
        let namespaces = boxes.iter().map(|_| Netns::new()).collect::<Result<Vec<_>, _>>()?;
        let mut changes = Vec::new();
        for part in parts(ends, boxes, queues)? {
            let [near, far] = [part.near, part.far].map(|at| at.map_or(&tester, |at| &namespaces[at]));
            let mut made = changes_between(near, far, dir, sink);
            made.carry_out(&part.steps)?;
            changes.push(made);
        }
        let interfaces = ends.map(|end| if let End::Interface(name) = end { Some(name.to_owned()) } else { None });
        Ok(Links { tester, boxes: namespaces, interfaces, changes })
    }

    pub fn tester(&self) -> &Netns {
        &self.tester
    }

    pub fn boxes(&self) -> &[Netns] {
        &self.boxes
    }

    /// Puts the null device in place of each box, or restores the boxes. `is_generic`: the tester's ends have XDP
    /// programs in the generic receive path. Fails if the kernel lacks `nf_tables` at the ingress of an interface.
    pub fn set_null(&mut self, is_generic: bool, on: bool) -> Result<(), DutError> {
        let boxes = self.boxes.len();
        self.changes[..boxes].iter_mut().try_for_each(|changes| null::set(changes, is_generic, on))
    }

    /// Carries out steps in the namespaces of a box, if there is one, and of the tester, with which their changes end.
    pub fn carry_out(&self, at: usize, steps: &[Step], dir: &RunDir, sink: &Sink) -> Result<(), DutError> {
        changes_between(&self.tester, self.boxes.get(at).unwrap_or(&self.tester), dir, sink).carry_out(steps)
    }

    /// What these cores did, and how many frames passed the first box, if the kernel tells.
    pub fn work(&mut self, of: &Work) -> Option<WorkCounters> {
        of.read(&mut self.changes[0])
    }

    /// Queues of a box: left, right. Fails if they are open, or there are not so many.
    pub fn open_queues(&self, at: usize, queues: u32) -> Result<[Vec<OwnedFd>; 2], PortError> {
        let open = |beside: Option<usize>, side: usize| {
            let (namespace, name) = match beside.and_then(|beside| self.boxes.get(beside)) {
                Some(namespace) => (namespace, ENDS[1 - side]),
                None => (&self.tester, self.interfaces[side].as_deref().unwrap_or_default()),
            };
            handover::tap(namespace, name, queues)
        };
        Ok([open(at.checked_sub(1), 0)?, open(Some(at + 1), 1)?])
    }
}

fn changes_between(near: &Netns, far: &Netns, dir: &RunDir, sink: &Sink) -> Changes {
    Changes::logged(Namespace::between(near.clone(), far.clone()), dir, sink)
}

/// Returns the actions of [`Links::make`], without carrying them out.
pub fn plan(ends: [End; 2], boxes: &[Connection], queues: u32) -> Result<Vec<Step>, DutError> {
    Ok(parts(ends, boxes, queues)?.into_iter().flat_map(|part| part.steps).collect())
}

/// Steps for cores that deliver frames to the tester's interfaces. Otherwise the backlog of the
/// forwarding core would drop them.
pub fn delivery(interfaces: &[&str], queues: u32, cores: &[usize]) -> Vec<Step> {
    let step =
        |name: &str, queue| Step::tester(format!("cores that deliver frames to {name}"), steer(name, queue, cores));
    interfaces.iter().flat_map(|name| (0..queues).map(move |queue| step(name, queue))).collect()
}

/// Steps in two namespaces, of a box or else of the tester: `near` as [`Target::Tester`], `far` as [`Target::Dut`].
struct NamespaceSteps {
    near: Option<usize>,
    far: Option<usize>,
    steps: Vec<Step>,
}

fn parts([left, right]: [End; 2], boxes: &[Connection], queues: u32) -> Result<Vec<NamespaceSteps>, DutError> {
    let [own_left, own_right] = [LEFT, RIGHT].map(|side| side.tester_own_mac());
    let mut parts = Vec::new();
    let count = boxes.len();
    if count == 0 {
        let ends = [(Target::Tester, left, own_left), (Target::Tester, right, own_right)];
        let cable = link("a cable from one port of the tester to the other", ends, queues)?;
        return Ok(vec![NamespaceSteps { near: None, far: None, steps: [quiet(Target::Tester), cable].concat() }]);
    }
    for (at, connection) in boxes.iter().enumerate() {
        let mut steps = quiet(Target::Dut);
        if at == 0 && [left, right].iter().any(|end| matches!(end, End::Interface(_))) {
            steps.extend(quiet(Target::Tester));
        }
        steps.push(Step::dut("switch the loopback interface on", Action::words("ip link set lo up")));
        let beside = at.checked_sub(1);
        let (what, near) = match beside {
            None => ("a link from the tester to the left of the device".to_owned(), left),
            Some(beside) => (format!("a link from box {at} to box {}", at + 1), boxes[beside].end(1)),
        };
        let near_mac = if at == 0 { own_left } else { neighbours(at, count)[0] };
        let far = (Target::Dut, connection.end(0), macs(at, count)[0]);
        let ends = [(Target::Tester, near, near_mac), far];
        steps.extend(link(&what, ends, queues)?);
        parts.push(NamespaceSteps { near: beside, far: Some(at), steps });
    }
    let last = count - 1;
    let far = (Target::Dut, boxes[last].end(1), RIGHT.dut_mac());
    let ends = [(Target::Tester, right, own_right), far];
    let steps = link("a link from the tester to the right of the device", ends, queues)?;
    parts.push(NamespaceSteps { near: None, far: Some(last), steps });
    Ok(parts)
}

pub(crate) fn link(what: &str, ends: [(Target, End, [u8; 6]); 2], queues: u32) -> Result<Vec<Step>, DutError> {
    let [(near_at, near, near_mac), (far_at, far, far_mac)] = ends;
    let tap = |target, name: &str, mac, queues| {
        let several = if queues > 1 { " multi_queue" } else { "" };
        let add = Action::words(&format!("ip tuntap add {name} mode tap{several}"));
        let why = format!("{what}: a TAP, whose queues the other end holds");
        [vec![Step { target, ..Step::dut(why, add) }], prepared(target, name, mac)].concat()
    };
    Ok(match (near, far) {
        (End::Interface(near), End::Interface(far)) => {
            let add = pair(near, far, queues, (near_at != far_at).then_some(NETNS_OF_DUT));
            let add = vec![Step { target: near_at, ..Step::dut(what, add) }];
            [add, prepared(near_at, near, near_mac), prepared(far_at, far, far_mac)].concat()
        }
        (End::Interface(near), End::Queues(queues)) => tap(near_at, near, near_mac, queues),
        (End::Queues(queues), End::Interface(far)) => tap(far_at, far, far_mac, queues),
        (End::Queues(_), End::Queues(_)) => {
            let what = format!("{what} would be a TAP without an interface: both of its ends are queues");
            return Err(DutError::refused(what, "use guest:uml or a namespace for one of both boxes"));
        }
    })
}

fn pair(own: &str, far: &str, queues: u32, namespace: Option<&str>) -> Action {
    let queues = format!("numtxqueues {queues} numrxqueues {queues}");
    let mut add = Action::words(&format!("ip link add {own} {queues} type veth peer name {far} {queues}"));
    if let (Action::Command { args, .. }, Some(namespace)) = (&mut add, namespace) {
        args.extend(["netns", namespace].map(str::to_owned));
    }
    add
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::tests::listing;

    fn text(ends: [End; 2], boxes: &[Connection], queues: u32) -> String {
        let shown = |part: NamespaceSteps| {
            let near = part.near.map_or("the tester".to_owned(), |at| format!("box {}", at + 1));
            // The settings of a namespace are always the same.
            let links = part.steps.into_iter().filter(|step| !matches!(step.action, Action::Write { .. }));
            format!("## {near} and box {}\n{}", part.far.unwrap() + 1, listing(&links.collect::<Vec<_>>()))
        };
        parts(ends, boxes, queues).unwrap_or_else(|e| panic!("{e}")).into_iter().map(shown).collect()
    }

    const TESTER: [End; 2] = [End::Interface("t-left"), End::Interface("t-right")];

    #[test]
    fn links_have_queues_and_addresses() {
        let one = [Connection::Interfaces];
        insta::assert_snapshot!(listing(&parts(TESTER, &one, 2).unwrap()[0].steps));
        insta::assert_snapshot!("a_tap_of_the_tester", text([TESTER[0], End::Queues(1)], &one, 2));
        insta::assert_snapshot!("a_box_with_two_queues", text(TESTER, &[Connection::Queues(2)], 1));
    }

    #[test]
    fn without_boxes_a_cable_joins_both_ends_of_the_tester() {
        let links = parts(TESTER, &[], 1).unwrap().remove(0).steps.into_iter();
        let links = links.filter(|step| !matches!(step.action, Action::Write { .. }));
        insta::assert_snapshot!(listing(&links.collect::<Vec<_>>()));
    }

    #[test]
    fn boxes_are_connected_in_a_row() {
        let boxes = [Connection::Interfaces, Connection::Queues(2), Connection::Interfaces];
        insta::assert_snapshot!(text(TESTER, &boxes, 1));
    }

    #[test]
    fn two_boxes_with_queues_cannot_be_neighbours() {
        let error = parts(TESTER, &[Connection::Queues(1); 2], 1).err().unwrap().to_string();
        assert!(error.starts_with("a link from box 1 to box 2 would be a TAP without an interface"), "{error}");
    }

    #[test]
    fn neighbours_have_each_others_addresses() {
        for count in 1..4 {
            let (first, last) = (neighbours(0, count), neighbours(count - 1, count));
            assert_eq!([first[0], last[1]], tester_macs());
            for at in 1..count {
                assert_eq!(
                    (neighbours(at, count)[0], neighbours(at - 1, count)[1]),
                    (macs(at - 1, count)[1], macs(at, count)[0])
                );
            }
        }
    }
}
