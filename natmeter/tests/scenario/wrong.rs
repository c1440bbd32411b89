//! Error messages for wrong scenarios: one snapshot for each mistake, as text without colours. The snapshots specify the
//! messages: each must show the wrong words and the remedy.

use scenario::{Options, parse};
use std::sync::LazyLock;

/// A valid scenario, into which each test writes one mistake. Its port ranges are written, so that they can be wrong.
static GOOD: LazyLock<String> = LazyLock::new(|| {
    let after = "every pair of ports is a connection.\n";
    ranges(include_str!("../../../scenarios/quickstart.toml"), after, ["1024-41023", "1-100"])
});

/// A scenario with source and destination ports after these words.
fn ranges(text: &str, after: &str, [source, destination]: [&str; 2]) -> String {
    assert!(text.contains(after), "the good scenario has no `{after}`");
    text.replacen(after, &format!("{after}source-ports = \"{source}\"\ndestination-ports = \"{destination}\"\n"), 1)
}

/// The same after the frame size.
fn with_ranges(text: &str, source: &str, destination: &str) -> String {
    ranges(text, "frame-size = 64\n", [source, destination])
}

/// The same with an empty line.
fn with_ranges_apart(text: &str, source: &str, destination: &str) -> String {
    with_ranges(text, source, destination).replacen("\n\n[sweep]", "\n\n\n[sweep]", 1)
}

fn complaints(text: &str) -> String {
    with(text, &Options::default())
}

fn with(text: &str, options: &Options) -> String {
    parse("wrong.toml", text, options, tech::ALL).expect_err("this scenario must be refused").to_string()
}

/// The valid scenario with some words replaced.
fn but(old: &str, new: &str) -> String {
    assert!(GOOD.contains(old), "the good scenario has no `{old}`");
    complaints(&GOOD.replacen(old, new, 1))
}

fn set(overrides: &[&str]) -> String {
    let set = overrides.iter().map(|&text| text.to_owned()).collect();
    with(&GOOD, &Options { full: false, set, ..Options::default() })
}

fn small(rest: &str) -> String {
    complaints(&format!("name = \"small\"\n{rest}"))
}

/// A scenario of a stateful provider edge that sweeps subscribers.
static AFTR: LazyLock<String> =
    LazyLock::new(|| with_ranges(include_str!("../../../scenarios/aftr-subscribers.toml"), "1024-1063", "1-100"));

/// A scenario of a stateless provider edge without its subscribers, which an axis sets.
const LWAFTR: &str = include_str!("../../../scenarios/lwaftr.toml");

fn lwaftr(sweep: &str) -> String {
    complaints(&format!("{}\n[sweep]\n{sweep}\n", LWAFTR.replace("subscribers = \"65536\"", "")))
}

/// Scenarios of technologies with some words replaced.
const MAP_E_FILE: &str = include_str!("../../../scenarios/map-e.toml");
static MAP_E: LazyLock<String> = LazyLock::new(|| with_ranges_apart(MAP_E_FILE, "1024-5023", "1-250"));
static MAP_T: LazyLock<String> =
    LazyLock::new(|| with_ranges_apart(include_str!("../../../scenarios/map-t.toml"), "1024-5023", "1-250"));
const MAP_RULES: &str = include_str!("../../../scenarios/map-t-br-several-rules.toml");
static PLAT: LazyLock<String> =
    LazyLock::new(|| with_ranges(include_str!("../../../scenarios/plat.toml"), "1024-1063", "1-100"));

fn instead(good: &str, words: &[(&str, &str)]) -> String {
    let changed = words.iter().fold(good.to_owned(), |text, (old, new)| {
        assert!(text.contains(old), "the good scenario has no `{old}`");
        text.replacen(old, new, 1)
    });
    complaints(&changed)
}

fn named(text: &str) -> String {
    let loaded = parse("wrong.toml", text, &Options::default(), tech::ALL).expect("the scenario itself is valid");
    natmeter::rig::files::check(&loaded).expect_err("this file must be refused").to_string()
}

/// The provider edge of lw4o6 with a binding table from a file, and this many subscribers.
fn softwires(file: &str, subscribers: u32) -> String {
    let subscribers = format!("subscribers = {subscribers}");
    LWAFTR
        .replace("ipv4 = \"203.0.113.0/24\"", &format!("softwires = \"{file}\""))
        .replace("subscribers = \"65536\"", &subscribers)
}

fn maps(file: &str) -> String {
    format!(
        "name = \"maps\"\n[dut.embedded]\n[technology.siit]\neam-file = \"{file}\"\n[measure]\nmetrics = \"throughput\"\n"
    )
}

#[test]
fn valid_files_are_no_mistake() {
    for text in [
        softwires("tests/files/softwires.txt", 2),
        maps("tests/files/maps.txt") + "[traffic]\nremote = \"198.18.0.9\"\n",
    ] {
        let loaded = parse("right.toml", &text, &Options::default(), tech::ALL).unwrap();
        natmeter::rig::files::check(&loaded).unwrap();
    }
}

#[test]
fn prefix_lengths_may_have_their_slash() {
    let quota = PLAT.replace("clat =", "session-quota = \"2M\"\nsubscriber-prefix = \"/128\"\nclat =");
    let loaded = |text: &str| parse("right.toml", text, &Options::default(), tech::ALL).unwrap().scenario.duts;
    assert_eq!(loaded(&quota), loaded(&quota.replace("\"/128\"", "128")));
}

#[test]
fn a_table_is_large_enough_for_the_fullest_worker() {
    let text = AFTR.replace("[sweep]", "[sweep]\ncores = [1, 4]").replace("pool =", "table = \"677k\"\npool =");
    assert!(parse("right.toml", &text, &Options::default(), tech::ALL).is_ok());
    let one = AFTR.replace("pool =", "table = \"400k\"\npool =");
    assert!(parse("right.toml", &one, &Options::default(), tech::ALL).is_ok());
}

macro_rules! refused {
    ($($name:ident: $complaints:expr;)*) => {
        $(#[test] fn $name() { insta::assert_snapshot!($complaints); })*
    };
}

refused! {
    tester_without_workers: set(&["tester.workers=0"]);
    tester_of_too_many_workers: set(&["workers=65"]);
    several_workers_and_kernel_devices: small(
        "[dut.nftables]\n[dut.simulated]\n[tester]\nworkers = 2\n[link.tap]\n[sweep]\nconnections = \"1M\"\n",
    );
    several_workers_and_a_simulated_device: small(
        "[dut.embedded]\n[dut.simulated]\n[tester]\nworkers = 2\n[sweep]\nconnections = \"1M\"\n",
    );
    several_workers_and_tables_of_one_port: complaints(&format!(
        "{}\n[tester]\nworkers = 2\n[link.impair]\nloss = \"10 %\"\n[link.capture]\nframes = 9\n",
        *GOOD
    ));
    buffers_of_several_workers: set(&["tester.workers=2", "link.in-process.depth=2048"]);
    not_toml: complaints("name = quickstart\n[sweep\nconnections = [1,\n");
    no_name: complaints("[dut.embedded]\n[sweep]\nconnections = \"100k\"\n");
    name_that_is_no_folder: but("name = \"quickstart\"", "name = \"../quick start\"");
    empty: complaints("");
    unknown_key: but("repetitions = 5", "repetition = 3");
    unknown_key_of_another_table: but("frame-size = 64", "frame-size = 64\nduration = \"1 s\"");
    unknown_key_with_underscore: but("frame-size", "frame_size");
    unknown_table: small("[dut.embedded]\n[sweeps]\nconnections = \"100k\"\n");
    unknown_dut: but("[dut.embedded]", "[dut.embeded]");
    dut_as_text: small("dut = \"nftables\"\n[sweep]\nconnections = \"100k\"\n");
    dut_with_a_kind: small("[dut]\nkind = \"nftables\"\n[sweep]\nconnections = \"100k\"\n");
    mapping_of_a_kernel: small("[dut.nftables]\nmapping = \"endpoint-independent\"\n[sweep]\nconnections = \"100k\"\n");
    unknown_word: but("\"address-and-port-dependent\"", "\"adress-and-port-dependent\"");
    two_links: but("[link.in-process]", "[link.tap]\n[link.in-process]");
    count_with_a_wrong_unit: but("\"500k\"", "\"500x\"");
    count_in_lower_case: but("\"500k\"", "\"1m\"");
    negative_count: but("repetitions = 5", "repetitions = -3");
    no_repetitions: but("repetitions = 5", "repetitions = 0");
    duration_without_unit: but("duration = \"50 ms\"", "duration = 60");
    number_of_the_wrong_type: but("repetitions = 5", "repetitions = true");
    share_above_the_whole: but("error = \"2 %\"", "error = \"200 %\"");
    state_table_with_a_wrong_word: set(&["responder-table=updated"]);
    state_table_without_frames: set(&["responder-table=update", "direction=reverse"]);
    state_table_without_connections:
        small("[dut.linux-forwarding]\n[traffic]\nresponder-table = \"update\"\n[measure]\nmetrics = \"throughput\"\n");
    network_of_another_length:
        small("[dut.embedded]\n[technology.ipv6-forwarding]\nleft = \"2001:2::/56\"\n[measure]\nmetrics = \"throughput\"\n");
    networks_of_a_nat: set(&["networks=256"]);
    networks_of_several_hosts:
        small("[dut.linux-forwarding]\n[traffic]\nnetworks = 2\nremote = \"198.19.0.2 - 198.19.0.3\"\n[measure]\nmetrics = \"throughput\"\n");
    networks_beyond_rfc_2544:
        small("[dut.linux-forwarding]\n[traffic]\nnetworks = 257\n[measure]\nmetrics = \"throughput\"\n");
    networks_of_ipv6_that_overlap: small(
        "[dut.embedded]\n[technology.ipv6-forwarding]\nright = \"2001:2:0:80::/64\"\n[traffic]\nnetworks = 256\n[measure]\nmetrics = \"throughput\"\n",
    );
    networks_of_ipv6_beyond_their_block: small(
        "[dut.embedded]\n[technology.ipv6-forwarding]\nright = \"2001:2:0:ff80::/64\"\n[traffic]\nnetworks = 256\n[measure]\nmetrics = \"throughput\"\n",
    );
    too_many_source_macs: set(&["source-macs=65537"]);
    ipv4_metric_of_an_ipv6_router:
        small("[dut.linux-ipv6-forwarding]\n[measure]\nmetrics = \"ipv4_forwarding_throughput\"\n");
    error_of_zero: but("error = \"2 %\"", "error = 0");
    error_of_a_zero_rate: but("error = \"2 %\"", "error = \"0 cps\"");
    error_of_a_rate_without_its_unit: but("error = \"2 %\"", "error = 1000");
    error_with_a_wrong_unit: but("error = \"2 %\"", "error = \"1000 cp\"");
    error_as_wide_as_the_search: set(&["error=100 kfps", "min-rate=10k", "max-rate=100k"]);
    backward_ports: but("\"1024-41023\"", "\"41023-1024\"");
    port_zero: but("\"1-100\"", "\"0-100\"");
    bad_address: but("frame-size = 64", "inside = \"198.18.0.256\"");
    prefix_with_host_bits: but("frame-size = 64", "inside = \"198.18.0.2/24\"");
    small_frame: but("frame-size = 64", "frame-size = 60");
    jumbo_frame: but("frame-size = 64", "frame-size = 9217");
    frames_that_a_translator_cuts: instead(
        include_str!("../../../scenarios/map-t.toml"),
        &[("frame-size = 64", "frame-size = 1518"), ("dmr =", "lowest-ipv6-mtu = 1500\ndmr =")]
    );
    jumbo_frame_of_a_kernel: small("[dut.nftables]\n[traffic]\nframe-size = 1519\n[sweep]\nconnections = \"100k\"");
    public_address: but("frame-size = 64", "remote = \"8.8.8.8\"");
    public_address_on_request: but("name =", "allow-addresses = [\"8.8.8.0/24\"]\nname =");
    reserved_address_without_request: but("frame-size = 64", "remote = \"240.0.0.1\"");
    link_local_address_through_the_gateway:
        instead(&GOOD, &[("name =", "allow-addresses = [\"169.254.0.0/16\"]\nname ="), ("frame-size = 64", "remote = \"169.254.7.0/24\"")]);
    address_of_the_device:
        small("[dut.nftables]\n[traffic]\ninside = \"198.18.0.0/28\"\n[sweep]\nconnections = \"100k\"\n");
    pool_meets_remote: but("[dut.embedded]", "[dut.embedded]\npool = \"198.19.0.0/24\"");
    network_address: but("frame-size = 64", "remote = \"198.19.0.0\"");
    address_of_an_embedded_device: but("frame-size = 64", "inside = \"198.18.0.1 - 198.18.0.4\"");
    inside_meets_remote: but("frame-size = 64", "inside = \"198.19.0.0/24\"");
    too_few_flows: but("\"1-100\"", "\"1-10\"");
    too_many_flows: but("\"1-100\"", "\"1-100\"\ninside = \"198.18.0.2 - 198.18.16.1\"");
    too_many_flows_of_a_router: small("[dut.linux-forwarding]\n[traffic]\nsource-ports = \"1024-65535\"\ndestination-ports = \"1-49151\"\ninside = \"198.18.0.3 - 198.18.0.10\"\n[measure]\nmetrics = \"throughput\"\n");
    larger_than_the_table: but("[dut.embedded]", "[dut.embedded]\ntable = \"300k\"");
    source_ports_outside_the_pool: but("\"1024-41023\"", "\"1-40000\"");
    pool_runs_out: small("[dut.nftables]\n[traffic]\ninside = \"198.18.0.2 - 198.18.0.11\"\nsource-ports = \"1024-41023\"\n[sweep]\nconnections = \"1M\"\n");
    pool_runs_out_endpoint_independent:
        complaints(&GOOD.replace("address-and-port-dependent", "endpoint-independent").replace("[traffic]", "[traffic]\ninside = \"198.18.0.16/28\""));
    pool_ports_too_few: but("[dut.embedded]", "[dut.embedded]\npool-ports = \"1024-2047\"");
    wrong_link_for_the_kernel: but("[dut.embedded]\nmapping = \"address-and-port-dependent\"", "[dut.nftables]");
    wrong_link_for_the_gateway: but("[link.in-process]", "[link.tap]");
    both_kinds_of_dut_without_a_link: small("[dut.embedded]\n[dut.nftables]\n[sweep]\nconnections = \"100k\"\n");
    buffer_bound: but("[link.in-process]", "[link.in-process]\ndepth = 4096");
    same_connections_twice: but("\"500k\"", "500000, 250000");
    same_cores_twice: but("[sweep]", "[sweep]\ncores = [1, 2, 1]");
    no_connections: but("connections = [\"250k\", \"500k\"]", "");
    empty_connections: but("[\"250k\", \"500k\"]", "[]");
    axis_of_no_device: but("[sweep]", "[sweep]\nsoftwires = [\"1k\", \"10k\"]");
    frame_sizes_that_the_link_does_not_carry:
        small("[dut.linux-forwarding]\n[sweep]\nframe-size = [1518, 9216]\n[measure]\nmetrics = \"throughput\"\n");
    frame_sizes_below_the_smallest:
        small("[dut.linux-forwarding]\n[sweep]\nframe-size = [60, 64]\n[measure]\nmetrics = \"throughput\"\n");
    frame_sizes_without_frames: small("[dut.simulated]\n[sweep]\nconnections = \"1M\"\nframe-size = \"rfc2544\"\n");
    frame_sizes_by_a_wrong_word: but("[sweep]", "[sweep]\nframe-size = \"rfc2545\"");
    frame_sizes_by_another_word: but("[sweep]", "[sweep]\nframe-size = \"imix\"");
    frame_size_swept_and_set: but("[sweep]", "[sweep]\nframe-size = [64, 128]");
    frame_sizes_for_the_key_of_one: but("frame-size = 64", "frame-size = [64, 128]");
    axis_value_zero: lwaftr("softwires = [0, \"1k\"]");
    axis_value_out_of_range: lwaftr("softwires = \"20M\"");
    axis_value_twice: lwaftr("softwires = [\"1k\", 1000]");
    axis_value_without_room: lwaftr("softwires = [\"1k\", \"70k\"]");
    axis_empty: lwaftr("softwires = []");
    axis_of_softwires_in_a_file:
        complaints(&LWAFTR.replace("ipv4 = \"203.0.113.0/24\"", "softwires = \"table.txt\"").replace("subscribers = \"65536\"", "[sweep]\nsoftwires = \"1k\""));
    axis_beside_subscribers: complaints(&format!("{LWAFTR}\n[sweep]\nsoftwires = \"1k\"\n"));
    two_axes_for_subscribers: lwaftr("softwires = \"1k\"\nsubscribers = \"1k\"");
    axis_of_too_many_flows: complaints(&LWAFTR.replace("subscribers = \"65536\"", "[sweep]\nsubscribers = [100, \"65536\"]").replace("\"1-100\"", "\"1-1000\""));
    axis_of_too_few_flows: complaints(&AFTR.replace("[\"100\",", "[10, \"100\","));
    rules_beyond_addresses: complaints(&include_str!("../../../scenarios/map-e-br-rules.toml").replace("\"16k\"", "\"17k\""));
    rules_of_too_many_customers: complaints(&include_str!("../../../scenarios/map-e-br-rules.toml").replace("ea-bits = 16", "ea-bits = 21").replace("2001:db8:1::/48", "2001:db8::/43"));
    inside_addresses_beyond_inside: but("[sweep]", "[sweep]\ninside-addresses = [1, 2]");
    outside_addresses_too_few:
        complaints(&GOOD.replace("[dut.embedded]", "[dut.embedded]\npool = \"198.19.1.0 - 198.19.1.7\"").replace("[traffic]", "[traffic]\ninside = \"198.18.0.2 - 198.18.0.9\"").replace("[sweep]", "[sweep]\noutside-addresses = [1, 8]"));
    outside_addresses_of_a_prefix:
        instead(include_str!("../../../scenarios/nat66.toml"), &[("[sweep]", "[sweep]\noutside-addresses = [2, 3, 32]")]);
    technology_with_a_short_timeout: instead(&PLAT, &[("\"10000 s\"", "\"300 s\""), ("\"100 ms\"", "\"10 min\"")]);
    nat66_with_a_short_timeout_and_a_small_table: instead(include_str!("../../../scenarios/nat66.toml"), &[("\"10000 s\"", "\"120 s\"\ntable = 500"), ("\"100 ms\"", "\"10 min\"")]);
    technology_with_a_small_table: instead(&PLAT, &[("clat =", "table = \"200k\"\nclat =")]);
    technology_with_a_public_pool: instead(&PLAT, &[("198.19.0.1", "9.9.9.9")]);
    technology_with_a_second_public_pool: instead(&PLAT, &[("\"198.19.0.1\"", "[\"198.19.0.1\", \"9.9.9.9\"]")]);
    technology_pool_meets_remote: instead(&PLAT, &[("\"198.19.0.1\"", "\"198.19.0.0/30\"")]);
    technology_pool_runs_out: instead(&PLAT, &[("1024-1063", "1024-2023"), ("\"1M\"", "\"10M\"")]);
    technology_pool_runs_out_of_mappings: instead(&PLAT, &[("mapping = \"address-and-port-dependent\"\n", ""), ("1024-1063", "1024-1163")]);
    quota_below_the_connections: instead(&PLAT, &[("clat =", "session-quota = 2000\nclat =")]);
    blocks_below_the_ports: instead(&PLAT, &[("mapping = \"address-and-port-dependent\"\n", ""), ("clat =", "port-block = 64\nsubscriber-prefix = 120\nclat =")]);
    subscriber_with_more_ports_than_an_address: instead(&PLAT, &[("mapping = \"address-and-port-dependent\"\n", ""), ("\"198.19.0.1\"", "\"198.19.0.8/29\""), ("1024-1063", "1024-1163"), ("clat =", "session-quota = \"2M\"\nclat =")]);
    nat66_pool_runs_out: instead(&with_ranges(include_str!("../../../scenarios/nat66.toml"), "1024-1063", "1-100"), &[("mapping = \"address-and-port-dependent\"\n", ""), ("200::/124", "200::/127"), ("\"1k\"", "\"100k\"")]);
    technology_pool_runs_out_at_one_worker:
        instead(&with_ranges_apart(include_str!("../../../scenarios/ds-lite.toml"), "1024-11023", "1-100"), &[("1024-11023", "1024-51023"), ("mapping = \"address-and-port-dependent\"\n", ""), ("[sweep]", "[sweep]\ncores = [1, 2]")]);
    map_prefix_meets_inside: instead(&MAP_E, &[("203.0.113.0", "198.18.0.0"), ("ce = 3", "ce = 27")]);
    map_prefix_public: instead(&MAP_E, &[("203.0.113.0", "9.9.9.0")]);
    port_set_too_small: instead(MAP_E_FILE, &[("frame-size = 64", "inside = \"198.18.0.2 - 198.18.39.17\""), ("mapping = \"address-and-port-dependent\"\n", "")]);
    port_set_too_small_for_written_ports: instead(&MAP_E, &[("\"1024-5023\"", "\"1024-10023\"")]);
    port_set_of_a_subscriber_too_small: instead(LWAFTR, &[("1024-1151", "1024-1423")]);
    subscribers_beyond_the_port_sets: instead(LWAFTR, &[("\"65536\"", "65537")]);
    port_quota_of_shared_ports: instead(&PLAT, &[("clat =", "port-quota = 100\nclat =")]);
    subscriber_prefix_without_a_count: instead(&PLAT, &[("clat =", "subscriber-prefix = 56\nclat =")]);
    port_blocks_of_no_size: instead(&PLAT, &[("clat =", "port-blocks = 2\nclat =")]);
    port_blocks_of_several_addresses: instead(&MAP_E, &[("mapping = \"address-and-port-dependent\"", "port-block = 64\npooling = \"arbitrary\"")]);
    port_block_of_a_wrong_size: instead(&MAP_E, &[("mapping = \"address-and-port-dependent\"", "port-block = 100")]);
    timeouts_below_the_rfcs: instead(&PLAT, &[("udp-timeout = \"10000 s\"", "udp-timeout = \"100 s\"\ntcp-timeout = \"1 h\"\ntcp-transitory-timeout = \"60 s\"\nicmp-timeout = \"30 s\"")]);
    options_of_a_translator: instead(&PLAT, &[("clat =", "tos = 256\ntraffic-class = \"copied\"\nlowest-ipv6-mtu = 1000\nzero-udp-checksum = \"keep\"\nclat =")]);
    explicit_maps_in_two_places:
        small("[dut.embedded]\nplays = \"pe\"\n[technology.siit]\neam = \"198.18.0.0/24 2001:2::/120\"\neam-file = \"maps.txt\"\n[measure]\nmetrics = \"throughput\"\n");
    ce_with_a_large_prefix: instead(&MAP_T, &[("203.0.113.0/24", "10.0.0.0/8"), ("ea-bits = 11", "ea-bits = 4")]);
    fragments_held_of_a_nat66: instead(include_str!("../../../scenarios/nat66.toml"), &[("[traffic]", "fragments-held = 9\n[traffic]")]);
    map_rules_in_two_places: instead(MAP_RULES, &[("dmr =", "psid-offset = 4\ndmr =")]);
    map_rules_of_no_array: small("[dut.embedded]\nplays = \"pe\"\n[technology.map-e]\nbr = \"2001:2:0:100::2\"\n[technology.map-e.rule]\nea-bits = 3\n[measure]\nmetrics = \"throughput\"\n");
    map_rule_with_an_unknown_key: instead(MAP_RULES, &[("forwarding = true", "forward = true")]);
    map_rule_without_a_prefix: instead(MAP_RULES, &[("ipv4-prefix = \"10.64.0.0/22\"\n", "")]);
    map_rule_with_too_many_ea_bits: instead(MAP_RULES, &[("ea-bits = 14", "ea-bits = 25")]);
    map_rule_of_long_customers: instead(MAP_RULES, &[("ea-bits = 10", "ea-bits = 14")]);
    map_rule_with_half_a_psid: instead(MAP_RULES, &[("psid = 0x34\n", "")]);
    map_rule_with_a_psid_out_of_range: instead(MAP_RULES, &[("psid = 0x34", "psid = 256")]);
    map_rule_with_a_psid_too_long: instead(MAP_RULES, &[("psid = 0x34\npsid-length = 8", "psid = 0x34\npsid-offset = 10\npsid-length = 8")]);
    map_rule_with_two_psids: instead(MAP_RULES, &[("ea-bits = 4\n", "ea-bits = 4\npsid = 1\npsid-length = 2\n")]);
    map_rules_with_one_ipv6_prefix: instead(MAP_RULES, &[("2001:db8:4:100::/56", "2001:db8:4::/56")]);
    map_rules_with_one_ipv4_prefix: instead(MAP_RULES, &[("10.64.0.0/22", "203.0.113.0/24")]);
    map_rules_with_one_psid: instead(MAP_RULES, &[("psid = 0x35", "psid = 0x34")]);
    map_rules_around_the_relay: instead(MAP_RULES, &[("2001:2:0:1000::/96", "2001:db8:2:1000::/96"), ("2001:db8:2::/52", "2001:db8:2::/48")]);
    map_ce_beyond_the_rules: instead(MAP_RULES, &[("\"pe\"", "\"ce\""), ("dmr =", "ce = 17426\ndmr =")]);
    map_subscribers_beyond_the_rules: instead(MAP_RULES, &[("subscribers = 17426", "subscribers = 17427")]);
    map_rules_to_be_swept: instead(MAP_RULES, &[("subscribers = 17426\n", "[sweep]\nrules = 2\n")]);
    map_rules_with_a_small_port_set: instead(MAP_RULES, &[("1024-1151", "1024-1323")]);
    map_remote_is_a_customer: instead(&MAP_E, &[("[traffic]", "[traffic]\nremote = \"203.0.113.128\"")]);
    options_of_a_tunnel:
        instead(LWAFTR, &[("ce =", "tunnel-hop-limit = 0\ntunnel-dscp = 64\ntunnel-flow-label = \"flow\"\ntunnel-ecn = \"full\"\ntunnel-oversize = \"cut\"\ninbound-icmp = \"none\"\nreassembly-octets = 1000\nfragment-timeout = \"0 s\"\nfragment-datagrams = 0\nce =")]);
    options_of_a_tunnel_without_one: instead(&MAP_T, &[("ce =", "tunnel-hop-limit = 60\nce =")]);
    hairpinning_of_siit:
        small("[dut.embedded]\nplays = \"pe\"\n[technology.siit]\neam = [\"198.18.0.0/24 2001:2::/120\", \"198.19.0.0/24 2001:2:0:9::/120\"]\nhairpinning = true\n[measure]\nmetrics = \"throughput\"\n");
    prefix_for_no_laboratory: instead(&PLAT, &[("2001:2:0:1000::/96", "2001:2:1:1000::/96")]);
    softwires_beyond_the_laboratory: instead(&AFTR, &[("2001:db8:1:0::1", "2001:2:0:8000::1")]);
    well_known_prefix: instead(&PLAT, &[("2001:2:0:1000::/96", "64:ff9b::/96")]);
    well_known_prefix_of_siit:
        small("[dut.embedded]\nplays = \"pe\"\n[technology.siit]\neam = \"198.18.0.0/24 2001:2::/120\"\npref64 = \"64:ff9b::/96\"\n[traffic]\nremote = \"198.19.0.16/28\"\n[measure]\nmetrics = \"throughput\"\n");
    table_of_a_kernel_too_small: small("[dut.nftables]\ntable = \"100k\"\n[sweep]\nconnections = \"100k\"");
    table_of_a_kernel_too_large: small("[dut.nftables]\ntable = \"2G\"\n[sweep]\nconnections = \"100k\"");
    hash_size_of_the_gateway: small("[dut.embedded]\nhash-size = 512\n[sweep]\nconnections = \"100k\"");
    table_too_small_for_the_fullest_worker:
        instead(&AFTR, &[("[sweep]", "[sweep]\ncores = [1, 4]"), ("pool =", "table = \"400k\"\npool =")]);
    outside_addresses_too_few_with_workers:
        instead(&AFTR, &[
            ("mapping = \"address-and-port-dependent\"\n", "pool-ports = \"1024-42023\"\n"),
            ("pool = \"198.19.1.0 - 198.19.1.3\"", "pool = \"198.19.1.0 - 198.19.1.1\""),
            ("[\"100\", \"1k\", \"10k\", \"100k\"]", "\"1k\"\noutside-addresses = [1, 2]\ncores = [1, 4]"),
        ]);
    count_with_a_comma: instead(&AFTR, &[("\"1k\", ", "\"1,000\", ")]);
    override_with_a_comma: with(LWAFTR, &Options { full: false, set: vec!["subscribers=65,536".to_owned()], ..Options::default() });
    subscriber_prefix_of_no_length:
        instead(&PLAT, &[("clat =", "session-quota = \"2M\"\nsubscriber-prefix = \"/129\"\nclat =")]);
    subscriber_prefix_beside_a_wrong_quota:
        instead(&PLAT, &[("clat =", "session-quota = \"many\"\nsubscriber-prefix = \"/56\"\nclat =")]);
    prefix_of_a_clat_of_no_length: instead(&PLAT, &[("clat = \"2001:2:0:2::/96\"", "clat = \"2001:db8:0:10::/60\"")]);
    prefix_of_a_plat_of_no_length: instead(&PLAT, &[("2001:2:0:1000::/96", "2001:2:0:1000::/80")]);
    prefix_of_clat_and_plat: instead(&PLAT, &[("clat = \"2001:2:0:2::/96\"", "clat = \"2001:2:0:1000::/96\"")]);
    file_of_softwires_that_is_missing: named(&softwires("no/such/table.txt", 2));
    file_of_softwires_that_is_a_folder: named(&softwires("tests", 2));
    file_of_softwires_with_a_wrong_word: named(&softwires("tests/files/softwires-wrong.txt", 2));
    file_of_softwires_with_too_few_lines: named(&softwires("tests/files/softwires.txt", 3));
    file_of_softwires_without_the_ce: named("name = \"ce\"\n[dut.embedded]\nplays = \"ce\"\n[technology.lw4o6]\nlwaftr = \"2001:2:0:100::2\"\nsoftwires = \"tests/files/softwires.txt\"\nce = 2\n[traffic]\nsource-ports = \"1024-1063\"\n[sweep]\nconnections = 4000\n");
    file_of_maps_that_is_missing: named(&maps("no/such/maps.txt"));
    file_of_maps_with_a_wrong_line: named(&maps("tests/files/maps-wrong.txt"));
    file_of_maps_without_the_remote_host: named(&maps("tests/files/maps.txt"));
    unknown_metric: but("\"throughput\"]", "\"thruput\"]");
    derived_metric: but("\"throughput\"]", "\"rel_scale_up\"]");
    metric_without_device: but("\"throughput\"]", "\"ipv4_forwarding_throughput\"]");
    throughput_first: but("[\"max_conn_est_rate\", \"throughput\"]", "[\"throughput\", \"max_conn_est_rate\"]");
    alpha_unused: but("repetitions = 5", "alpha = \"50 %\"");
    validation_without_alpha: but("\"max_conn_est_rate\"", "\"max_conn_est_rate_validated\"");
    hairpinning_of_a_nat46:
        small("[dut.embedded]\nplays = \"pe\"\n[technology.nat46]\npref64 = \"2001:2:0:1000::/96\"\npool = \"2001:2:0:200::68/125\"\nhairpinning = true\n[sweep]\nconnections = \"100k\"\n[measure]\nmetrics = \"max_conn_est_rate\"\n");
    connections_of_a_router: small("[dut.linux-forwarding]\n[sweep]\nconnections = \"100k\"\n[measure]\nmetrics = \"throughput\"\n");
    nothing_for_the_router:
        small("[dut.linux-forwarding]\n[dut.nftables]\n[sweep]\nconnections = \"100k\"\n[measure]\nmetrics = \"max_conn_est_rate\"\n");
    tcp_data_beyond_sequence_numbers: with(include_str!("../../../scenarios/tcp.toml"), &Options { full: false, set: vec!["frame-size=1518".to_owned(), "measure.tcp.data=45".to_owned()], ..Options::default() });
    tcp_connections_none_of_which_is_held: with(include_str!("../../../scenarios/tcp.toml"), &Options { full: false, set: vec!["connections=100k".to_owned(), "measure.tcp.held=1 ppm".to_owned()], ..Options::default() });
    tcp_closed_by_another_word: with(include_str!("../../../scenarios/tcp.toml"), &Options { full: false, set: vec!["measure.tcp.close=reset".to_owned()], ..Options::default() });
    short_timeout: but("[dut.embedded]", "[dut.embedded]\nudp-timeout = \"30 s\"");
    long_phase1_drain: but("phase1-drain = \"10 ms\"", "phase1-drain = \"3 s\"");
    frames_beyond_numbers: complaints(&GOOD.replace("duration = \"50 ms\"", "max-rate = \"500 Mfps\"\nduration = \"3 h\""));
    wrong_full: complaints(&format!("{}\n[full]\nconnections = [\"8M\"]\nwarmup = 3\n", *GOOD));
    fault_with_a_typing_error: small("[dut.known-truth]\nfault = \"udp-checksum-zeros\"\n[sweep]\nconnections = \"4k\"\n");
    fault_of_another_technology: small("[dut.known-truth]\nfault = \"nat64-df\"\n[sweep]\nconnections = \"4k\"\n");
    fault_of_the_other_edge: small("[dut.known-truth]\nfault = \"outer-length\"\nmisrouted = \"1 %\"\n[technology.ds-lite]\n\
        b4 = \"2001:2:0:4000::1\"\naftr = \"2001:2:0:100::2\"\npool = \"198.19.0.1\"\n[sweep]\nconnections = \"4k\"\n");
    several_at_once:
        complaints("name = \"x\"\n[dut.embedded]\ntable = 10\n[traffic]\nframe-size = 32\nremote = \"1.1.1.1\"\n[sweep]\nconnections = [\"1Q\"]\n[foo]\n");
    control_characters: but("\"address-and-port-dependent\"", "\"\\u001b[31mred\"");

    override_value: set(&["connections=4m"]);
    override_rule: set(&["connections=100k,8M"]);
    override_against_the_file: set(&["traffic.destination-ports=1-10"]);
    override_unknown: set(&["conections=4M"]);
    override_unknown_path: set(&["measure.repetition=3"]);
    override_ambiguous: with(include_str!("../../../scenarios/kernel-nat44.toml"), &Options { full: false, set: vec!["table=1M".to_owned()], ..Options::default() });
    override_without_value: set(&["connections"]);
    override_without_effect: with(&GOOD, &Options { full: true, set: vec!["measure.duration=1 s".to_owned()], ..Options::default() });
    list_for_one_value: set(&["frame-size=64,1518"]);
    list_for_one_value_in_brackets: but("frame-size = 64", "frame-size = [64, 1518]");
    list_for_one_word: set(&["direction=forward,reverse"]);
    direction_ratio_with_a_common_divisor: set(&["direction=2:20"]);
    direction_ratio_of_equal_rates: set(&["direction=10:10"]);
    direction_ratio_of_one_direction: set(&["direction=0:1"]);
    direction_ratio_out_of_range: set(&["direction=1:2000"]);
    direction_ratio_of_three: set(&["direction=1:10:2"]);
    direction_ratio_of_words: but("frame-size = 64", "frame-size = 64\ndirection = \"up:down\"");
    direction_ratio_without_quotes: but("frame-size = 64", "frame-size = 64\ndirection = 1:10");
    direction_ratio_of_phase_1_alone: set(&["direction=1:10", "metrics=max_conn_est_rate"]);
    list_for_a_key_that_an_axis_sweeps: set(&["subscribers=100,1k"]);
    quantities_without_quotes: instead(&GOOD, &[("error = \"2 %\"", "error = 2 %"), ("time-limit = \"60 s\"", "time-limit = 10m")]);
    duration_in_other_words: set(&["time-limit=10 minutes"]);
    share_without_a_unit: but("error = \"2 %\"", "error = 0.1");
    shares_without_a_unit: complaints(&format!(
        "{}\n[link.impair]\nloss = 0.1\nreorder = 1\ncorrupt = 0\n",
        GOOD.replace("repetitions = 5", "acceptance = 0.999\nalpha = 0.5")
    ));
    override_loss: set(&["loss=0.1%"]);
    override_latency: set(&["latency=1ms"]);
    override_of_a_table_that_is_not_there: set(&["hash-size=512"]);
    override_of_frames_to_capture: set(&["frames=16"]);
    loss_in_measure: but("repetitions = 5", "loss = \"0.1 %\"");
    throughput_alone: set(&["metrics=throughput"]);
    phase1_rate_and_share: set(&["phase1-rate=100k", "phase1-share=50 %"]);
    override_public_address: set(&["remote=9.9.9.9"]);
}
