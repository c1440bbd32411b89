//! The link, the tester and the frames fit the devices.

use super::{Check, dut_at};
use crate::frame_size::LARGEST;
use crate::nat::technology_path;
use crate::quantity::show_time;
use crate::{Impair, Link};
use key::{At, Fault};

impl Check<'_> {
    pub(super) fn bed(&mut self) {
        self.frame_sizes();
        self.fragments();
        self.links();
        self.beside_the_link();
        self.testers();
    }

    /// An IPv4 test frame holds its headers and the tag, and fits the link.
    fn frame_sizes(&mut self) {
        // The axis and mixes have their own rules.
        if self.scenario.swept(tech::FRAME_SIZE).is_some() || self.scenario.traffic.frame_sizes.is_some() {
            return;
        }
        let size = self.scenario.traffic.frame_size;
        let most = self.scenario.longest_frame() as usize;
        if (64..=most).contains(&size) {
            return;
        }
        let label = if size < 64 { "too small for headers and tag" } else { "larger than the link carries" };
        let sizes = "RFC 2544 uses 64, 128, 256, 512, 1024, 1280 and 1518";
        let further =
            if most == LARGEST as usize { ", RFC 8219 also 768, 1522, 2048, 4096, 8192 and 9216" } else { "" };
        self.refuse(format!("frames of {size} octets cannot be sent"))
            .at("traffic.frame-size", label)
            .instead(format!("write 64 to {most}, FCS included; {sizes}{further}"));
    }

    /// A translator that fragments test frames would be another measurement.
    fn fragments(&mut self) {
        let packet = self.scenario.widest_packet();
        let sizes = ["sweep.frame-size", "traffic.frame-size"];
        for dut in &self.scenario.duts {
            let Some((_, technology)) = dut.technology() else { continue };
            let lowest = technology.lowest().and_then(|lowest| lowest.lowest_ipv6_mtu);
            let Some(limit) = lowest.filter(|&limit| usize::from(limit) < packet) else { continue };
            let key = format!("{}.lowest-ipv6-mtu", technology_path(technology));
            self.refuse(format!("`{}` fragments the test frames", dut.name()))
                .at(At::first(sizes.map(At::from)), format!("packets of {packet} octets as IPv6"))
                .at(key, format!("fragmented to {limit}"))
                .instead(format!("remove `lowest-ipv6-mtu`, set it to at least {packet}, or use smaller frames"));
        }
    }

    /// The link leads to where the device is.
    fn links(&mut self) {
        if self.scenario.bed.is_some() {
            return;
        }
        let in_process = matches!(self.scenario.link, Link::InProcess { .. });
        let key = ["link.in-process", "link.tap", "link.veth"].into_iter().find(|path| self.spans.key(path).is_some());
        for dut in self.scenario.duts.iter().filter(|dut| dut.is_in_process() != in_process) {
            let (words, way_out) = match (in_process, key) {
                (true, Some(_)) => ("is in the kernel", "use [link.tap] or [link.veth] for a kernel device"),
                (false, Some(_)) => ("runs in this process", "use [link.in-process] for a device in this process"),
                (_, None) => ("does not fit the link of the device above", "measure it in another scenario"),
            };
            let fault = Fault::new(format!("this link does not lead to `{}`", dut.name())).at(dut_at(dut), words);
            self.faults.push(fault.at(At::key(key.unwrap_or("link")), "this link").instead(way_out));
        }
    }

    /// Only frames can be impaired or captured, and held frames come before the end of the trial.
    fn beside_the_link(&mut self) {
        let simulated = self.scenario.duts.iter().find(|dut| dut.longest_frame().is_none());
        for path in ["link.impair", "link.capture"].into_iter().filter(|path| self.spans.has(path)) {
            if let Some(dut) = simulated {
                self.refuse("the simulated device has no frames")
                    .at(At::key(path), "works on frames")
                    .at(dut_at(dut), "only numbers")
                    .instead("remove it, or measure a device that forwards frames");
            }
        }
        let Some(impair) = &self.scenario.impair else { return };
        let Impair { loss_ppm, duplicate_ppm, reorder_ppm, corrupt_ppm, delay, .. } = *impair;
        if [loss_ppm, duplicate_ppm, reorder_ppm, corrupt_ppm] == [0; 4] && delay.0 == 0 {
            let fault = Fault::new("nothing is impaired")
                .at(At::key("link.impair"), "no loss, duplicates, reordering, corruption or delay")
                .instead("give a share, for example loss = \"100 ppm\", or remove the table");
            let keys = ["loss", "duplicate", "reorder", "corrupt", "delay"];
            self.faults.push(keys.into_iter().fold(fault, |fault, key| fault.needs(format!("link.impair.{key}"))));
        }
        let measure = &self.scenario.measure;
        let shortest = measure.drain.min(measure.phase1_drain);
        if delay >= shortest && delay.0 > 0 {
            let drain = format!("the shortest drain is {}", show_time(shortest));
            self.refuse("every frame would arrive after its trial")
                .at(At::key("link.impair"), format!("held for {}, and {drain}", show_time(delay)))
                .instead("use a shorter delay, or longer drain and phase1-drain");
        }
    }

    /// Several workers of the tester are for devices of this process: a kernel device has one queue
    /// on each side. Damage and captures are of one port a side, as are their seed and files.
    fn testers(&mut self) {
        let workers = self.scenario.tester.workers;
        if workers == 1 || self.scenario.bed.is_some() {
            return;
        }
        let many = |what: &str| Fault::new(what).at("tester.workers", format!("{workers} workers of the tester"));
        for dut in self.scenario.duts.iter().filter(|dut| dut.technology().is_none()) {
            let label = if dut.longest_frame().is_none() {
                "has no frames, only numbers"
            } else {
                "has one queue on each side"
            };
            self.faults.push(
                many(&format!("`{}` is measured by one worker of the tester", dut.name()))
                    .at(dut_at(dut), label)
                    .instead("remove `workers`, or measure the embedded gateway in another scenario"),
            );
        }
        for (path, what) in [("link.impair", "impaired"), ("link.capture", "captured")] {
            if self.spans.has(path) {
                self.faults.push(
                    many(&format!("frames of one worker of the tester are {what}"))
                        .at(At::key(path), format!("one port per side is {what}"))
                        .instead("remove `workers`, or this table"),
                );
            }
        }
    }
}
