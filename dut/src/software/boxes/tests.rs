use super::*;

const BOX: Box = Box {
    technology: "nat44",
    part: "whole",
    interfaces: ["left", "right"],
    owner: "p094 7",
    apart: "",
    keeps: true,
    is_of_linux: true,
    cores: None,
};

fn hooks(software: &str, known: &dyn Fn(&str) -> bool) -> Option<Hooks> {
    let is_of_linux = software != "openbsd-pf";
    super::hooks(software, &Box { is_of_linux, ..BOX }, known)
}

#[test]
fn a_script_stands_behind_its_values_and_before_its_frame() {
    let hooks_of = hooks("nftables", &|_| true).unwrap();
    let all = ["Prepare", "Clear", "Count", "Restore"].map(|name| {
        let line = hooks_of.iter().find(|(hook, _)| format!("{hook:?}") == name).unwrap().1;
        format!("== {}\n{line}", name.to_lowercase())
    });
    insta::assert_snapshot!(all.join("\n"));
    assert!(hooks("windows", &|_| true).is_none());
}

#[test]
fn the_memory_of_a_kernel_with_connections_is_that_of_its_slabs() {
    let tells = |software| hooks(software, &|_| true).unwrap().remove(&Hook::Memory);
    assert!(tells("jool").is_some() && tells("nftables").is_some());
    assert_eq!([tells("vpp"), tells("snabb-lwaftr")], [None, None]);
    assert_eq!(tells("openbsd-pf").unwrap(), "sh /var/run/natmeter-dut.sh states");
    let stateless = super::hooks("jool-siit", &Box { keeps: false, ..BOX }, &|_| true).unwrap();
    assert!([Hook::Memory, Hook::Count, Hook::Clear].iter().all(|hook| !stateless.contains_key(hook)));
    let folder = files(&[("proc/meminfo", "SReclaimable:    240812 kB\nSUnreclaim:        38928 kB")]);
    let hooks = hooks("nftables", &|_| true).unwrap();
    assert!(ran(folder.path(), &hooks[&Hook::Prepare]).status.success());
    let told = ran(folder.path(), &hooks[&Hook::Memory]);
    assert_eq!(String::from_utf8_lossy(&told.stdout).trim(), (38_928 * 1024).to_string());
}

#[test]
fn a_value_that_the_technology_lacks_is_empty() {
    let text = hooks("jool-siit", &|name| name != "pref64").unwrap().remove(&Hook::Prepare).unwrap();
    assert!(text.contains("\npref64=\ndmr={dmr}\n"), "{text}");
}

/// The script with commands that do nothing, and a folder in place of the kernel's files.
fn ran(folder: &std::path::Path, line: &str) -> std::process::Output {
    ran_with(folder, line, "")
}

fn ran_with(folder: &std::path::Path, line: &str, ip: &str) -> std::process::Output {
    const NEIGHBOURS: &str = "left 198.18.0.2 02:00:00:00:00:01\nleft fd00::2 02:00:00:00:00:01\n\
        right 198.19.0.2 02:00:00:00:00:02\nright 2001:2::1 02:00:00:00:00:02";
    let names = ["connections", "udp-timeout", "pool", "pool-ports", "customers", "cores"];
    let others = [("core-mask", "a"), ("neighbours", if ip.is_empty() { "" } else { NEIGHBOURS })];
    let values = names.map(|name| (name, "1")).into_iter().chain(others);
    let values: Vec<_> = values.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let filled = crate::external::fill(line, &values).unwrap();
    let stubs =
        format!("nft() {{ :; }}\nsysctl() {{ [ \"$1\" != -n ] || echo 9999999; }}\nmodprobe() {{ :; }}\n{ip}\n");
    let text = filled.replace("/run/", "RUN/").replace("set -e\n", &format!("set -e\n{stubs}"));
    let text = text.replace("/sys/", "SYS/").replace("/proc/", "PROC/");
    let at = |name: &str| folder.join(name).display().to_string();
    let text = text.replace("RUN", &at("run")).replace("SYS", &at("sys")).replace("PROC", &at("proc"));
    // The quoted names of files are patterns of the shell no more.
    std::process::Command::new("sh").args(["-c", &text]).output().unwrap()
}

fn files(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, value) in files.iter().chain(&[("run/x", "")]) {
        let file = folder.path().join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, format!("{value}\n")).unwrap();
    }
    folder
}

fn value(folder: &tempfile::TempDir, file: &str) -> String {
    std::fs::read_to_string(folder.path().join(file)).unwrap().trim().to_owned()
}

fn hooks_with(cores: &str) -> Hooks {
    super::hooks("nftables", &Box { cores: Some(cores), ..BOX }, &|_| true).unwrap()
}

#[test]
fn cores_of_a_box_are_switched_off_and_restored() {
    const CPU: &str = "sys/devices/system/cpu";
    let [one, two, ten] = ["1", "2", "10"].map(|core| format!("{CPU}/cpu{core}/online"));
    let [of_one, of_all] = ["24", "25"].map(|irq| format!("proc/irq/{irq}/smp_affinity_list"));
    let folder = files(&[
        (&format!("{CPU}/cpu0/x"), ""),
        (&one, "1"),
        (&two, "0"),
        (&ten, "1"),
        (&of_one, "1"),
        (&of_all, "0-10"),
    ]);
    let hooks = hooks_with("cores {cores}");
    let run = |hook| ran(folder.path(), &hooks[&hook]);
    let done = run(Hook::Prepare);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let done = run(Hook::Cores);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert_eq!([&one, &two, &ten].map(|file| value(&folder, file)), ["0", "0", "0"]);
    // The kernel would have moved the interrupt of core 1 to any other.
    assert_eq!([&of_one, &of_all].map(|file| value(&folder, file)), ["0", "0-10"]);
    for _ in 0..2 {
        assert!(run(Hook::Restore).status.success());
        assert_eq!([&one, &two, &ten].map(|file| value(&folder, file)), ["1", "0", "1"]);
        assert_eq!([&of_one, &of_all].map(|file| value(&folder, file)), ["1", "0-10"]);
    }
}

#[test]
fn a_box_whose_cores_cannot_be_switched_off_says_so() {
    const CPU: &str = "sys/devices/system/cpu";
    let folder = files(&[(&format!("{CPU}/cpu0/x"), ""), (&format!("{CPU}/cpu1/x"), "")]);
    let hooks = hooks_with("cores {cores}");
    assert!(ran(folder.path(), &hooks[&Hook::Prepare]).status.success());
    let cores = &hooks[&Hook::Cores];
    let says = |line: &str| String::from_utf8(ran(folder.path(), line).stderr).unwrap();
    assert!(
        says(cores).starts_with("core 1 of this box cannot be switched off: its kernel has no "),
        "{}",
        says(cores)
    );
    let three = cores.replace("{cores}", "3");
    assert!(says(&three).starts_with("too many cores for this box: 3; it has 2"), "{}", says(&three));
}

#[test]
fn packets_of_a_namespace_are_steered_to_cores_and_back() {
    let queues = ["left/queues/rx-0", "left/queues/rx-1", "right/queues/rx-0"];
    let queues = queues.map(|queue| format!("sys/class/net/{queue}/rps_cpus"));
    let folder = files(&[(&queues[0], "0"), (&queues[1], "3"), (&queues[2], "0")]);
    let hooks = hooks_with("steer {core-mask}");
    let masks = [(Hook::Prepare, ["0", "3", "0"]), (Hook::Cores, ["a", "a", "a"]), (Hook::Restore, ["0", "3", "0"])];
    for (hook, masks) in masks {
        let done = ran(folder.path(), &hooks[&hook]);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        assert_eq!([0, 1, 2].map(|at| value(&folder, &queues[at])), masks);
    }
}

/// IPv4 on the left, both versions on the right, where the user's entry stays.
#[test]
fn neighbours_of_a_box_are_permanent_and_restored() {
    let folder = files(&[]);
    let log = folder.path().join("log");
    let ip = "ip() { case \"$*\" in
        'route get 198.18.0.2') echo '198.18.0.2 dev left src 198.18.0.1 uid 0' ;;
        'route get fd00::2') echo 'fd00::2 via 2001:2::1 dev right src 2001:2::2 metric 1024' ;;
        'route get 198.19.0.2') echo '198.19.0.2 dev right src 198.19.0.1 uid 0' ;;
        'route get 2001:2::1') echo '2001:2::1 from :: dev right proto kernel src 2001:2::2 metric 256 pref medium' ;;
        'neigh show 198.19.0.2 dev right nud permanent') echo '198.19.0.2 lladdr 02:00:00:00:00:99 PERMANENT' ;;
        'neigh show'*) ;;
        *) echo \"$*\" >>LOG ;; esac; }"
        .replace("LOG", &log.display().to_string());
    let hooks = hooks("nftables", &|_| true).unwrap();
    for hook in [Hook::Prepare, Hook::Restore] {
        let done = ran_with(folder.path(), &hooks[&hook], &ip);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }
    let done = value(&folder, "log");
    let expected = [
        "neigh replace 198.18.0.2 lladdr 02:00:00:00:00:01 nud permanent dev left",
        "neigh replace 198.19.0.2 lladdr 02:00:00:00:00:02 nud permanent dev right",
        "neigh replace 2001:2::1 lladdr 02:00:00:00:00:02 nud permanent dev right",
        "neigh del 2001:2::1 dev right",
        "neigh replace 198.19.0.2 lladdr 02:00:00:00:00:99 nud permanent dev right",
        "neigh del 198.18.0.2 dev left",
    ];
    assert_eq!(done.lines().collect::<Vec<_>>(), expected);
}

/// `vmstat -m` of OpenBSD, recorded in a guide to PF ("Maintaining a live installation", State Table Limits), and rows
/// in the same format with the pools' names since (`pfattach` in sys/net/pf_ioctl.c).
#[test]
fn the_memory_of_pf_is_that_of_its_pools() {
    const OLD: &str = "Name      Size  Requests  Fail   InUse Pgreq Pgrel Npage Hiwat Minpg Maxpg  Idle\n\
        pfstatepl  296  213123877 209235  5075  1050     0  1050 1050     0   2308   526\npfstatekeypl\n";
    const NEW: &str = "pfstate     320       10    0       10     1     0     1     1     0     8    0\n\
        pfstkey     112       20    0       20     1     0     1     1     0     8    0\n\
        pfstitem     24       20    0       20     1     0     1     1     0     8    0\n\
        pfrule     1360        5    0        5     1     0     1     1     0     8    0\n";
    let text = SCRIPTS.iter().find(|script| script.name == "openbsd-pf").unwrap().text;
    for (rows, octets) in [(OLD, 296 * 5075), (NEW, 320 * 10 + 112 * 20 + 24 * 20), ("", 0)] {
        let line = format!("vmstat() {{ cat <<'rows'\n{rows}rows\n}}\n{text}\nstates");
        let ran = std::process::Command::new("sh").args(["-c", &line]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&ran.stdout).trim(), octets.to_string());
    }
}

#[test]
fn neighbours_of_pf_are_permanent_and_removed() {
    let text = SCRIPTS.iter().find(|script| script.name == "openbsd-pf").unwrap().text;
    let line = format!(
        "set -e\nndp() {{ echo ndp \"$*\"; false; }}\narp() {{ echo arp \"$*\"; }}\n\
        neighbours='left 2001:2::1 02:00:00:00:00:01\nright 198.19.0.2 02:00:00:00:00:02'\n{text}\n\
        each_neighbour -s with; each_neighbour -d; neighbours=; each_neighbour -d"
    );
    let ran = std::process::Command::new("sh").args(["-c", &line]).output().unwrap();
    let expected = [
        "ndp -s 2001:2::1 02:00:00:00:00:01",
        "arp -s 198.19.0.2 02:00:00:00:00:02 permanent",
        "ndp -d 2001:2::1",
        "arp -d 198.19.0.2",
    ];
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    assert_eq!(String::from_utf8_lossy(&ran.stdout).lines().collect::<Vec<_>>(), expected);
}

#[test]
fn scripts_are_shell() {
    for script in SCRIPTS {
        let hooks = hooks(script.name, &|_| true).unwrap();
        let text = &hooks[&Hook::Prepare];
        let names = script.values.split(' ').chain(["neighbours"]);
        let names = names.map(|name| (name.trim_end_matches('?').to_owned(), "1".to_owned()));
        let filled = crate::external::fill(text, &names.collect::<Vec<_>>()).unwrap();
        let checked = std::process::Command::new("sh").args(["-n", "-c", &filled]).output().unwrap();
        assert!(checked.status.success(), "{}: {}", script.name, String::from_utf8_lossy(&checked.stderr));
    }
}
