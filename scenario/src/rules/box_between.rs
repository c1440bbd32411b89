//! What a scenario asks of the box between two ports, and which hook serves it.

use super::{Check, technology_at};
use crate::Dut;
use crate::bed::software::{self, BoxPart, TechnologyPart};
use crate::bed::{Bed, BoxKeys};
use crate::nat::technology_path;
use crate::quantity::show_time;
use key::{At, Fault};
use method::Nanos;
use std::borrow::Cow;
use std::net::IpAddr;

const LONGEST_WAIT: Nanos = Nanos::from_secs(300);

impl<'a> Check<'a> {
    fn of_boxes(&self) -> impl Iterator<Item = &'a Dut> + use<'a> {
        let scenario = self.scenario;
        scenario.duts.iter().filter(|dut| dut.boxes(scenario).is_some())
    }

    pub(super) fn box_between(&mut self) {
        let Some(bed) = &self.scenario.bed else { return self.cores_without_boxes() };
        self.software_of_boxes(bed);
        self.one_box_for_all(bed);
        let of_device = |dut: &'a Dut| Some((Some(dut), dut.boxes(self.scenario)?));
        let of_devices: Vec<(Option<&Dut>, Cow<'_, Bed>)> = self.scenario.duts.iter().filter_map(of_device).collect();
        let all = if of_devices.is_empty() { vec![(None, Cow::Borrowed(bed))] } else { of_devices };
        let before = self.faults.len();
        for (dut, bed) in &all {
            self.hooks(bed);
            self.addresses_of_box(bed);
            if let Some(dut) = dut {
                self.versions_of_box(dut, bed);
            }
            // Devices of one box have the same faults.
            if self.faults.len() > before {
                break;
            }
        }
    }

    /// A box is configured for each of several technologies.
    fn one_box_for_all(&mut self, bed: &Bed) {
        let external: Vec<&Dut> = self.of_boxes().collect();
        let by_hook = |keys: &BoxKeys| {
            [&keys.prepare, &keys.start].into_iter().flatten().any(|line| line.contains("{technology}"))
        };
        for (at, (role, _)) in bed.boxes.iter().enumerate().filter(|_| external.len() > 1) {
            let is_left = |dut: &&&Dut| {
                let of_dut = &bed.of(dut.technology()).boxes[at].1;
                of_dut.software.is_none() && !by_hook(of_dut)
            };
            let Some(dut) = external.iter().find(is_left) else { continue };
            let fault = Fault::new(format!("nothing configures the box `{role}` for each technology"));
            self.faults.push(fault.at(technology_at(dut), "one of several").instead(
                "write `software-of` for the box in the bed file, or `{technology}` in its hook `prepare`, or measure one technology",
            ));
        }
    }

    /// A box that natmeter makes has an address of the version that its packets have beside the tester.
    fn versions_of_box(&mut self, dut: &Dut, bed: &Bed) {
        let (left, right) = dut.technology().map_or((4, 4), |(plays, technology)| technology.versions(plays));
        for ((side, port), (version, beside)) in
            bed.ports().into_iter().zip([left, right].into_iter().zip(bed.beside()))
        {
            let Some(gateway) = port.gateway.filter(|_| beside.has_network()) else { continue };
            if gateway.is_ipv4() == (version == 4) {
                continue;
            }
            let key = if version == 4 { "gateway" } else { "gateway-ipv6" };
            let fault = Fault::new(format!("the box has no IPv{version} address on the {side}"));
            let fault = fault.at(technology_at(dut), format!("its packets are IPv{version} there"));
            self.faults.push(fault.instead(format!("add `{key}` to [bed.{side}] in the bed file")));
        }
    }

    /// The software that natmeter configures does what the scenario asks of its box.
    fn software_of_boxes(&mut self, bed: &Bed) {
        let several = self.of_boxes().count() > 1;
        let of_dut = |dut: &'a Dut| {
            let boxes = bed.of(dut.technology()).into_owned().boxes;
            boxes.into_iter().map(move |(role, keys)| (dut, role, keys))
        };
        for (dut, role, keys) in self.of_boxes().flat_map(of_dut).collect::<Vec<_>>() {
            let asked = BoxPart::of(dut.technology(), role);
            let Some(software) = keys.software.filter(|software| software.doing(asked).is_none()) else { continue };
            let able: Vec<&str> =
                software::KNOWN.iter().filter(|known| known.doing(asked).is_some()).map(|known| known.name).collect();
            let part = dut
                .technology()
                .map_or_else(|| asked.technology.to_owned(), |(_, technology)| asked.part.in_words(technology.names()));
            let fault = Fault::new(format!("the software `{}` of the box `{role}` is no {part}", software.name));
            self.faults.push(
                fault.at(technology_at(dut), "asked for here").instead(match (asked.part, &able[..]) {
                    (TechnologyPart::Dual, _) => {
                        "describe the edges in [dut.ce] and [dut.pe] of the bed file, or write plays = \"ce\" or \"pe\""
                            .into()
                    }
                    (_, []) => "configure the box with hooks: software = \"external\" in the bed file".to_owned(),
                    (_, able) if several => {
                        let able = able.join("\" or \"");
                        format!("write {} = \"{able}\" in `software-of` of the box in the bed file", asked.technology)
                    }
                    (_, able) => format!("write software = \"{}\" in the bed file", able.join("\" or \"")),
                }),
            );
        }
    }

    /// Only a bed has several boxes.
    fn cores_without_boxes(&mut self) {
        if self.scenario.sweep.cores.boxes.is_some() {
            let fault = Fault::new("this device has no boxes with cores of their own");
            self.faults.push(fault.at("sweep.cores", "cores of boxes").instead(
                "write one number or a list, or run the scenario over a bed with these boxes: --bed bed.toml",
            ));
        }
    }

    /// The boxes whose cores the scenario gives are those of the bed, and a hook of each sets them.
    fn cores_of_boxes(&mut self, bed: &Bed) {
        let cores = &self.scenario.sweep.cores;
        self.processors_of_guests(bed);
        let Some(boxes) = &cores.boxes else {
            if !cores.is_default() && !bed.boxes.iter().any(|(_, keys)| keys.has_varying_cores()) {
                self.refuse("nothing sets the cores of the box").at("sweep.cores", "varies").instead(
                    "use software that natmeter configures, in a guest, in a namespace or over ssh, or write `{cores}` in the hook \
                     `cores` or `prepare` of the box whose cores vary, or remove this",
                );
            }
            return;
        };
        let roles: Vec<&str> = bed.boxes.iter().map(|(role, _)| *role).collect();
        for name in boxes.names() {
            let path = format!("sweep.cores.{name}");
            let found = bed.boxes.iter().find(|(role, _)| *role == name);
            let fault = match found {
                None => Fault::new(format!("the bed has no box `{name}`"))
                    .at(path, "cores of a box")
                    .instead(format!("name a box of the bed: {}", roles.join(", "))),
                Some((_, keys)) if !keys.has_varying_cores() => Fault::new(format!(
                    "nothing sets the cores of the box `{name}`"
                ))
                .at(path, "cores of this box")
                .instead(format!(
                    "write `{{cores}}` in the hook `cores` or `prepare` of [dut.{name}] in the bed file, or remove this"
                )),
                Some(_) => continue,
            };
            self.faults.push(fault);
        }
    }

    /// A guest has as many processors as it is asked to use.
    fn processors_of_guests(&mut self, bed: &Bed) {
        let cores = &self.scenario.sweep.cores;
        for (role, keys) in bed.boxes.iter().filter(|(_, keys)| keys.guest().is_some() && keys.cores_by().is_some()) {
            let most = cores.values.iter().map(|&at_point| cores.of_box(role, at_point)).max().unwrap_or(1);
            if most <= keys.guest_cpus || !cores.sets(role) {
                continue;
            }
            let is_named = cores.boxes.is_some();
            let path = if is_named { format!("sweep.cores.{role}") } else { "sweep.cores".to_owned() };
            let fault = Fault::new(format!("the guest `{role}` has too few processors: {}", keys.guest_cpus));
            self.faults.push(fault.at(path, format!("asks for {most}")).instead(format!(
                "write on = \"guest:qemu\" and guest-cpus = {most} for the box in the bed file, or lower this"
            )));
        }
    }

    /// Each value that the box must be set to has its hook.
    fn hooks(&mut self, bed: &Bed) {
        let has = |of: fn(&BoxKeys) -> bool| bed.boxes.iter().any(|(_, keys)| of(keys));
        let scenario = self.scenario;
        let hook = |title: &str, path: String, label: &str, hook: &str| {
            Fault::new(title)
                .at(path, label)
                .instead(format!("add the hook `{hook}` to the box in the bed file, or remove this"))
        };
        self.cores_of_boxes(bed);
        let configured = has(BoxKeys::is_configured_by_user);
        for axis in scenario.axes.iter().filter(|axis| !configured && changes_box(&axis.axis)) {
            let path = format!("sweep.{}", axis.axis);
            self.faults.push(hook("nothing configures the box for each value", path, "varies", "prepare"));
        }
        for dut in &scenario.duts {
            match (scenario.keeps(dut), scenario.has_fresh_ports(dut)) {
                (Some(_), true) => self.few_fresh_ports(dut),
                (Some(_), false) => self.long_wait(dut),
                (None, _) => {}
            }
        }
    }

    fn long_wait(&mut self, dut: &Dut) {
        let timeout = dut.timeout_of_box();
        if timeout <= LONGEST_WAIT {
            return;
        }
        let path = dut.technology().map_or_else(String::new, |(_, technology)| technology_path(technology));
        self.refuse("nothing empties the box's table between trials")
                .at(At::key(path), format!("connections stay for {}", show_time(timeout)))
                .instead(
                    "add the hook `clear` to the box in the bed file (Linux: clear = \"conntrack -F\" in [dut]), or without-clear = \"fresh-ports\" to [measure], or set \
                     `udp-timeout` of this table to the box's own time-out of at most 5 min: natmeter then waits for it before \
                     each phase 1",
                );
    }

    /// The source ports have two parts at least, so that a phase 1 need not wait for the one before it.
    fn few_fresh_ports(&mut self, dut: &Dut) {
        let scenario = self.scenario;
        for (at, &n) in scenario.sweep.connections.iter().enumerate().filter(|(_, n)| **n > 0) {
            let all = scenario.flows_with(n).unwrap_or_default();
            let Some(flows) = all.iter().find(|flows| scenario.parts_of(dut, flows, n) < 2) else { continue };
            let ports = flows.source_ports;
            let fault = if scenario.parts_in_table(dut, n) < 2 {
                let fault = Fault::new("the box's table has no room for the connections of two phases 1");
                fault.at("dut.external.table", "its entries").instead("enlarge it, or write without-clear = \"wait\"")
            } else {
                Fault::new(format!("{} source ports are not enough for the connections of two phases 1", ports.count()))
                    .at("traffic.source-ports", format!("{ports}"))
                    .instead("widen `source-ports`, `destination-ports` or `remote`, or write without-clear = \"wait\"")
            };
            let fault = fault.at(format!("{}[{at}]", self.connections()), "connections of each phase 1");
            self.faults.push(fault.needs("measure.without-clear"));
        }
    }

    fn addresses_of_box(&mut self, bed: &Bed) {
        let [inside, remote] = self.scenario.traffic.flows.ends();
        for ((side, port), (key, range)) in bed.ports().into_iter().zip([("inside", inside), ("remote", remote)]) {
            if let Some(IpAddr::V4(gateway)) = port.gateway
                && range.contains(gateway)
            {
                self.refuse(format!("`{key}` contains {gateway}, the address of the box on the {side}"))
                    .at(format!("traffic.{key}"), "this range")
                    .instead("choose a range without it");
            }
        }
    }
}

/// Whether an axis is one of the box, and not of the test frames alone.
fn changes_box(axis: &str) -> bool {
    !tech::OF_TRAFFIC.contains(&axis) && !["inside-addresses", "subscribers"].contains(&axis)
}
