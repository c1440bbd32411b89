//! Machine-wide settings, by kind; natmeter changes nothing else outside its namespaces. A file
//! must be in the folder of its kind below `/proc` or `/sys`.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::path::{Component, Path};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, remote = "Self")]
pub enum Setting {
    /// A setting of the kernel's network.
    Sysctl {
        /// Path below `/proc/sys`, such as `net/core/netdev_max_backlog`.
        name: String,
    },
    /// A setting of a network interface.
    SysfsAttribute {
        interface: String,
        /// Path below the interface's folder in `/sys/class/net`, such as `queues/rx-0/rps_cpus`.
        attribute: String,
    },
    /// A feature of an interface, switched by ethtool.
    Ethtool {
        interface: String,
        /// Feature as `ethtool -k` prints it.
        feature: String,
    },
    /// How the clocks of the cores follow the load.
    CpuFrequency {
        /// Path below `/sys/devices/system/cpu`: a governor, `cpufreq/boost` or
        /// `intel_pstate/no_turbo`.
        attribute: String,
    },
    /// A parameter of an interface, set by ethtool.
    EthtoolParameter { interface: String, of: Parameter, side: Side },
}

/// Set by ethtool for each direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Parameter {
    /// `on` or `off`.
    Pause,
    /// Entries of each ring.
    Ring,
}

impl Parameter {
    /// Options that show and set it, and the line before its values in use.
    fn options(self) -> [&'static str; 3] {
        match self {
            Parameter::Pause => ["-a", "-A", ""],
            Parameter::Ring => ["-g", "-G", "Current hardware settings:"],
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// Received frames.
    Rx,
    Tx,
}

impl Side {
    pub fn name(self) -> &'static str {
        match self {
            Side::Rx => "rx",
            Side::Tx => "tx",
        }
    }
}

/// A path that is no setting.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0} is not a setting that natmeter changes: those are /proc/sys/net/…, /sys/class/net/INTERFACE/…, the governors and \
     the turbo mode of cores, and features, rings and pause frames of ethtool"
)]
pub struct UnknownSetting(String);

impl Serialize for Setting {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        Setting::serialize(self, to)
    }
}

impl<'de> Deserialize<'de> for Setting {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Setting, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            /// A path, as natmeter 0.1.0 wrote settings.
            Path(String),
            Typed(#[serde(with = "Setting")] Setting),
        }
        let setting = match Written::deserialize(from)? {
            Written::Path(path) => Setting::at(&path),
            Written::Typed(setting) if setting.is_sound() => Ok(setting),
            Written::Typed(setting) => Err(UnknownSetting(setting.to_string())),
        };
        setting.map_err(serde::de::Error::custom)
    }
}

impl Setting {
    pub fn at(path: &str) -> Result<Setting, UnknownSetting> {
        let parsed = if let Some(name) = path.strip_prefix("/proc/sys/") {
            Some(Setting::Sysctl { name: name.to_owned() })
        } else if let Some(rest) = path.strip_prefix("/sys/class/net/") {
            rest.split_once('/').map(|(interface, attribute)| Setting::SysfsAttribute {
                interface: interface.to_owned(),
                attribute: attribute.to_owned(),
            })
        } else {
            path.strip_prefix(CPUS).map(|attribute| Setting::CpuFrequency { attribute: attribute.to_owned() })
        };
        // Refuse any path that is not the canonical path of its setting.
        parsed
            .filter(|setting| setting.is_sound() && setting.path().as_deref() == Some(path))
            .ok_or_else(|| UnknownSetting(path.to_owned()))
    }

    /// Kernel's file, if there is one.
    pub fn path(&self) -> Option<String> {
        match self {
            Setting::Sysctl { name } => Some(format!("/proc/sys/{name}")),
            Setting::SysfsAttribute { interface, attribute } => Some(format!("/sys/class/net/{interface}/{attribute}")),
            Setting::CpuFrequency { attribute } => Some(format!("{CPUS}{attribute}")),
            Setting::Ethtool { .. } | Setting::EthtoolParameter { .. } => None,
        }
    }

    /// The value as the kernel rounds it, so that natmeter recognises it later: the hash table of
    /// connection tracking fills pages with list heads of eight octets.
    pub fn rounded(&self, value: &str) -> String {
        match (self, value.parse::<u64>()) {
            (Setting::Sysctl { name }, Ok(number)) if name == "net/netfilter/nf_conntrack_buckets" => {
                let heads_a_page = rustix::param::page_size() as u64 / 8;
                number
                    .checked_next_multiple_of(heads_a_page)
                    .map_or_else(|| value.to_owned(), |exact| exact.to_string())
            }
            _ => value.to_owned(),
        }
    }

    /// Arguments for ethtool, unless the setting is a file.
    pub(crate) fn to_show(&self) -> Option<[&str; 2]> {
        match self {
            Setting::Ethtool { interface, .. } => Some(["-k", interface]),
            Setting::EthtoolParameter { interface, of, .. } => Some([of.options()[0], interface]),
            _ => None,
        }
    }

    pub(crate) fn shown<'a>(&self, text: &'a str) -> Option<&'a str> {
        let rest = |line: &'a str, name: &str| line.trim().strip_prefix(name)?.strip_prefix(':').map(str::trim);
        match self {
            Setting::Ethtool { feature, .. } => {
                text.lines().find_map(|line| rest(line, feature))?.split_ascii_whitespace().next()
            }
            Setting::EthtoolParameter { of, side, .. } => {
                let (_, in_use) = text.split_once(of.options()[2])?;
                in_use.lines().find_map(|line| rest(line, &side.name().to_uppercase()))
            }
            _ => None,
        }
    }

    /// Arguments for ethtool, unless the setting is a file.
    pub(crate) fn to_set<'a>(&'a self, value: &'a str) -> Option<[&'a str; 4]> {
        match self {
            Setting::Ethtool { interface, feature } => Some(["-K", interface, feature, value]),
            Setting::EthtoolParameter { interface, of, side } => Some([of.options()[1], interface, side.name(), value]),
            _ => None,
        }
    }

    /// `real` is without links; an interface's leads to its device.
    pub(crate) fn is_at(&self, real: &Path) -> bool {
        match self {
            Setting::SysfsAttribute { interface, attribute } => {
                real.starts_with("/sys/devices") && real.ends_with(format!("net/{interface}/{attribute}"))
            }
            _ => self.path().is_some_and(|path| real == Path::new(&path)),
        }
    }

    fn is_sound(&self) -> bool {
        match self {
            Setting::Sysctl { name } => name.starts_with("net/") && are_names(name),
            Setting::SysfsAttribute { interface, attribute } => is_interface(interface) && are_names(attribute),
            Setting::Ethtool { interface, feature } => is_interface(interface) && is_word(feature),
            Setting::EthtoolParameter { interface, .. } => is_interface(interface),
            Setting::CpuFrequency { attribute } => {
                ["cpufreq/boost", "intel_pstate/no_turbo"].contains(&attribute.as_str())
                    || attribute
                        .strip_prefix(POLICY)
                        .and_then(|rest| rest.strip_suffix(GOVERNOR))
                        .is_some_and(is_number)
            }
        }
    }

    /// One line; for ethtool `on` or `off`.
    pub(crate) fn takes(&self, value: &str) -> bool {
        let is_line = value.chars().all(|c| c == '\t' || c == ' ' || c.is_ascii_graphic());
        let is_of_kind = match self {
            Setting::Ethtool { .. } | Setting::EthtoolParameter { of: Parameter::Pause, .. } => {
                ["on", "off"].contains(&value)
            }
            Setting::EthtoolParameter { of: Parameter::Ring, .. } => value.parse::<u32>().is_ok(),
            _ => true,
        };
        is_line && is_of_kind
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Setting::Ethtool { interface, feature } => write!(f, "feature {feature} of interface {interface}"),
            Setting::EthtoolParameter { interface, of, side } => {
                let words = match of {
                    Parameter::Pause => "pause frames",
                    Parameter::Ring => "ring entries",
                };
                write!(f, "{} {words} of interface {interface}", side.name())
            }
            _ => f.write_str(&self.path().expect("all others are files")),
        }
    }
}

const CPUS: &str = "/sys/devices/system/cpu/";
const POLICY: &str = "cpufreq/policy";
const GOVERNOR: &str = "/scaling_governor";

/// Whether a text is a number without leading zeros, as the kernel prints it.
fn is_number(text: &str) -> bool {
    text.parse::<u32>().is_ok_and(|number| number.to_string() == text)
}

fn are_names(path: &str) -> bool {
    let is_name = |c| matches!(c, Component::Normal(name) if name.to_str().is_some_and(is_word));
    // `components` treats "a//b/" and "a/./b" as "a/b".
    let is_plain = path.split('/').all(|name| !name.is_empty() && name != ".");
    is_plain && Path::new(path).components().all(is_name)
}

fn is_interface(name: &str) -> bool {
    name.len() < 16 && is_word(name) && ![".", ".."].contains(&name)
}

/// Whether the text has no blanks, slashes or leading dash.
fn is_word(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with('-')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.:@+".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::Action;

    #[test]
    fn each_kind_survives_being_written_and_read() {
        for (path, json) in [
            ("/proc/sys/net/core/netdev_max_backlog", r#"{"sysctl":{"name":"net/core/netdev_max_backlog"}}"#),
            (
                "/sys/class/net/enp1s0f0/queues/rx-0/rps_cpus",
                r#"{"sysfs-attribute":{"interface":"enp1s0f0","attribute":"queues/rx-0/rps_cpus"}}"#,
            ),
            (
                "/sys/devices/system/cpu/cpufreq/policy3/scaling_governor",
                r#"{"cpu-frequency":{"attribute":"cpufreq/policy3/scaling_governor"}}"#,
            ),
            ("/sys/devices/system/cpu/cpufreq/boost", r#"{"cpu-frequency":{"attribute":"cpufreq/boost"}}"#),
        ] {
            let setting = Setting::at(path).unwrap();
            assert_eq!((setting.to_string(), serde_json::to_string(&setting).unwrap()), (path.into(), json.into()));
            assert_eq!(serde_json::from_str::<Setting>(json).unwrap(), setting);
            assert_eq!(
                serde_json::from_str::<Setting>(&format!("{path:?}")).unwrap(),
                setting,
                "as version 0.1.0 wrote it"
            );
        }
        let feature = Setting::Ethtool { interface: "eth0".into(), feature: "rx-checksumming".into() };
        let json = serde_json::to_string(&feature).unwrap();
        assert_eq!(json, r#"{"ethtool":{"interface":"eth0","feature":"rx-checksumming"}}"#);
        assert_eq!(serde_json::from_str::<Setting>(&json).unwrap(), feature);
        assert_eq!(Action::set(&feature, "off").to_string(), "ethtool -K eth0 rx-checksumming off");
    }

    #[test]
    fn other_paths_are_not_settings() {
        for path in [
            "",
            "/",
            "/etc/passwd",
            "etc/passwd",
            "proc/sys/net/core/netdev_max_backlog",
            "/proc/sys/kernel/core_pattern",
            "/proc/sys/vm/drop_caches",
            "/proc/sys/net",
            "/proc/sys/net/",
            "/proc/sys/net/../kernel/core_pattern",
            "/proc/sys/net/core/../../kernel/core_pattern",
            "/proc/sys/net/./core/netdev_max_backlog",
            "/proc/sys/net//core/netdev_max_backlog",
            "/proc/sys//net/core/netdev_max_backlog",
            "/proc/sys/net/core/netdev_max_backlog/",
            "/proc/sys/net/core/a b",
            "/proc/sys/net/core/a\nb",
            "/proc/self/root/etc/passwd",
            "/proc/irq/42/smp_affinity_list/../../../sysrq-trigger",
            "/proc/irq/42/smp_affinity_list",
            "/proc/irq/default_smp_affinity",
            "/proc/sysrq-trigger",
            "/sys/class/net/eth0",
            "/sys/class/net/../../kernel/uevent_helper",
            "/sys/class/net/eth0/../../../kernel/uevent_helper",
            "/sys/class/net/an-interface-of-a-long-name/mtu",
            "/sys/devices/system/cpu/cpu1/online",
            "/sys/devices/system/cpu/online",
            "/sys/devices/system/cpu/cpufreq/policy03/scaling_governor",
            "/sys/devices/system/cpu/cpufreq/policy3/../boost",
            "/sys/devices/system/cpu/cpu3/microcode/reload",
            "/sys/kernel/uevent_helper",
        ] {
            let error = Setting::at(path).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{path} is not a setting that natmeter changes")), "{error}");
        }
        for json in [
            r#"{"sysctl":{"name":"kernel/core_pattern"}}"#,
            r#"{"sysctl":{"name":"net/../kernel/core_pattern"}}"#,
            r#"{"sysctl":{"name":"net/core/x","path":"/etc/passwd"}}"#,
            r#"{"sysfs-attribute":{"interface":"..","attribute":"mtu"}}"#,
            r#"{"sysfs-attribute":{"interface":"eth0","attribute":"../../x"}}"#,
            r#"{"sysfs-attribute":{"interface":"eth0/..","attribute":"mtu"}}"#,
            r#"{"irq-affinity":{"irq":1}}"#,
            r#"{"ethtool":{"interface":"-s","feature":"rx"}}"#,
            r#"{"ethtool":{"interface":"eth0","feature":"rx off; reboot"}}"#,
            r#"{"ethtool":{"interface":"eth0","feature":"--flash"}}"#,
            r#"{"cpu-frequency":{"attribute":"../../../kernel/uevent_helper"}}"#,
            r#"{"ethtool-parameter":{"interface":"--help","of":"ring","side":"rx"}}"#,
            r#"{"command":{"program":"sh"}}"#,
        ] {
            assert!(serde_json::from_str::<Setting>(json).is_err(), "{json}");
        }
    }

    /// Output of ethtool 6.1 for an ixgbe card.
    #[test]
    fn rings_and_pause_frames_are_read_from_ethtool() {
        let rings = "Ring parameters for enp5s0f0:\nPre-set maximums:\nRX:\t\t4096\nRX Mini:\tn/a\nTX:\t\t4096\n\
                     Current hardware settings:\nRX:\t\t512\nRX Mini:\tn/a\nRX Jumbo:\tn/a\nTX:\t\t256\n";
        let pause = "Pause parameters for enp5s0f0:\nAutonegotiate:\toff\nRX:\t\ton\nTX:\t\toff\n";
        for (of, side, text, value, new) in [
            (Parameter::Ring, Side::Rx, rings, "512", "ethtool -G enp5s0f0 rx 4096"),
            (Parameter::Ring, Side::Tx, rings, "256", "ethtool -G enp5s0f0 tx 4096"),
            (Parameter::Pause, Side::Rx, pause, "on", "ethtool -A enp5s0f0 rx off"),
            (Parameter::Pause, Side::Tx, pause, "off", "ethtool -A enp5s0f0 tx off"),
        ] {
            let setting = Setting::EthtoolParameter { interface: "enp5s0f0".into(), of, side };
            assert_eq!(setting.shown(text), Some(value));
            assert_eq!(Action::set(&setting, new.rsplit(' ').next().unwrap()).to_string(), new);
            assert!(setting.takes(value) && !setting.takes("-1") && !setting.takes("x"));
            let json = serde_json::to_string(&setting).unwrap();
            assert_eq!(serde_json::from_str::<Setting>(&json).unwrap(), setting);
        }
    }

    #[test]
    fn a_value_is_one_line_and_a_switch_is_on_or_off() {
        let sysctl = Setting::at("/proc/sys/net/ipv4/tcp_mem").unwrap();
        assert!(sysctl.takes("1\t2\t3") && sysctl.takes("") && !sysctl.takes("1\n2") && !sysctl.takes("\u{1b}"));
        let feature = Setting::Ethtool { interface: "eth0".into(), feature: "rx".into() };
        assert!(feature.takes("on") && feature.takes("off") && !feature.takes("on tx off") && !feature.takes("-h"));
    }
}
