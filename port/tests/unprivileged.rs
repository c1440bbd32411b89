//! A kernel DUT without any privilege: user namespace, network namespace, TAP, packet filter. It has no test harness,
//! because only a process with one thread can enter a user namespace. As root it first becomes an ordinary user. If the
//! kernel forbids user namespaces, it prints that it was not run.

mod common;

use common::{DUT_MAC, cable, forward, quiet_namespace, sh, udp_frame};
use port::backend::af_packet::{AfPacketConfig, AfPacketPort};
use port::backend::af_xdp::{AfXdpConfig, AfXdpPort, Select};
use port::backend::tap::{TapConfig, TapPort};
use port::netns::{Sight, enter_user_namespace, in_user_namespace};
use port::{Clock, Netns, Pool, PoolConfig, Port, burst};
use std::time::{Duration, Instant};

/// The id of the user `nobody` in every Linux distribution.
const ORDINARY: u32 = 65534;

fn main() {
    if rustix::process::geteuid().is_root() && !in_user_namespace() {
        become_ordinary();
    }
    // A symbolic link whose text contains the number of the namespace.
    let namespace = || std::fs::read_link("/proc/thread-self/ns/net").expect("/proc is mounted");
    let before = namespace();
    if let Err(error) = enter_user_namespace() {
        println!("test unprivileged ... NOT RUN: {error}");
        return;
    }
    assert!(in_user_namespace());
    assert!(before != namespace(), "still in the host's network");
    a_second_entry_from_a_process_with_threads_is_refused();

    let ns = quiet_namespace();
    sysfs_shows_the_namespace(&ns);
    match std::fs::File::options().read(true).write(true).open("/dev/net/tun") {
        Ok(_) => frames_are_forwarded_between_taps(&ns),
        Err(error) => println!("test unprivileged TAP ... NOT RUN: /dev/net/tun: {error}"),
    }
    packet_sockets_work_on_a_cable();
    xdp_sockets_say_that_they_need_root();
    for line in ["nft add table ip t", "iptables-legacy -t nat -S", "iptables-nft -t nat -S"] {
        let tool = line.split(' ').next().unwrap_or_default();
        if ns.command(tool, Sight::Network).arg("--version").output().is_ok() {
            sh(&ns, line);
        } else {
            println!("test unprivileged {tool} ... NOT RUN: {tool} is not installed");
        }
    }
    println!("test unprivileged ... ok");
}

fn become_ordinary() {
    let (user, group) = (rustix::process::Uid::from_raw(ORDINARY), rustix::process::Gid::from_raw(ORDINARY));
    rustix::thread::set_thread_groups(&[]).expect("dropping groups");
    rustix::thread::set_thread_gid(group).expect("dropping the group");
    rustix::thread::set_thread_uid(user).expect("dropping root");
    // After a loss of privileges /proc/self belongs to root, as for a program that cannot be read. This reverses it.
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::Dumpable).expect("own /proc files");
    assert!(std::fs::File::open("/proc/1/environ").is_err(), "still root");
}

fn a_second_entry_from_a_process_with_threads_is_refused() {
    let error = std::thread::spawn(enter_user_namespace).join().unwrap().unwrap_err();
    assert!(error.to_string().contains("single-threaded"), "{error}");
}

/// `/sys` only shows the interfaces: writing `rps_cpus` needs a privilege in the initial user namespace.
fn sysfs_shows_the_namespace(ns: &Netns) {
    sh(ns, "ip link add n0 type veth peer name n1 && cat /sys/class/net/n0/queues/rx-0/rps_cpus && ip link del n0");
}

fn packet_sockets_work_on_a_cable() {
    let ns = cable(1);
    let open = |name: &str| AfPacketPort::open(&ns, &AfPacketConfig::named(name), Clock::system());
    let (left, right) = (open("xa").expect("without privilege"), open("xb").expect("without privilege"));
    one_frame_passes(left, right, 0);
}

fn xdp_sockets_say_that_they_need_root() {
    let ns = cable(1);
    let mut pools = [Pool::single(PoolConfig::umem(1, 4096)).unwrap()];
    let config = AfXdpConfig::named("xa", Select::everything());
    let error = AfXdpPort::open(&ns, &config, Clock::system(), &mut pools).err().expect("an error").to_string();
    assert!(error.contains("run as root, or use TAP or AF_PACKET"), "{error}");
}

fn frames_are_forwarded_between_taps(ns: &Netns) {
    let clock = Clock::system();
    let open = |side: usize| {
        let config = TapConfig { mac: Some(DUT_MAC[side]), ..TapConfig::named(["dl", "dr"][side]) };
        TapPort::open(ns, &config, clock).expect("a TAP without privilege")
    };
    let (left, right) = (open(0), open(1));
    forward(ns, "dl", "dr");
    one_frame_passes(left, right, 34);
}

fn one_frame_passes(mut left: impl Port, mut right: impl Port, intact_from: usize) {
    let mut pool = Pool::single(PoolConfig::compact(1, 64, 1518)).unwrap();
    let mut frames = burst();
    let mut frame = pool.alloc(60).unwrap();
    frame.bytes_mut().copy_from_slice(&udp_frame(1, 60));
    frames.push(frame);
    assert_eq!(left.transmit(&mut pool, &mut frames).unwrap().accepted, 1);
    let deadline = Instant::now() + Duration::from_secs(2);
    while right.receive(&mut pool, &mut frames).unwrap() == 0 {
        assert!(Instant::now() < deadline, "the frame never came out");
    }
    assert_eq!(frames[0].bytes()[intact_from..], udp_frame(1, 60)[intact_from..]);
    pool.free_all(&mut frames);
}
