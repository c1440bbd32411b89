//! Opens the file of a setting: it must, all links followed, be in the folder of its kind on procfs
//! or sysfs. Check and access use one descriptor.

use crate::setting::Setting;
use rustix::fs::{Mode, OFlags};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Opens a file below `root`; below `/` it must be on procfs or sysfs, and in the folder of this
/// kind of setting.
pub(crate) fn open(root: &Path, setting: &Setting, how: &OpenOptions) -> io::Result<File> {
    let path = setting.path().ok_or_else(|| refused(&format!("{setting} is not a file")))?;
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let found = rustix::fs::open(root.join(path.trim_start_matches('/')), flags, Mode::empty())?;
    let real = std::fs::read_link(by_descriptor(&found))?;
    let inside = real.strip_prefix(root.canonicalize()?).map(|path| Path::new("/").join(path));
    if !inside.is_ok_and(|path| setting.is_at(&path)) {
        return Err(refused(&format!("{path} leads to {}, which is not the folder of such a setting", real.display())));
    }
    if root == Path::new("/") && !is_of_the_kernel(&found)? {
        return Err(refused(&format!("{path} is not on procfs or sysfs")));
    }
    let is_file = rustix::fs::FileType::from_raw_mode(rustix::fs::fstat(&found)?.st_mode).is_file();
    if !is_file {
        return Err(refused(&format!("{path} is not a regular file")));
    }
    how.open(by_descriptor(&found))
}

fn refused(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, why)
}

fn by_descriptor(file: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// Whether statfs(2) says that the kernel made the file.
fn is_of_the_kernel(file: &OwnedFd) -> io::Result<bool> {
    const SYSFS_MAGIC: u64 = 0x6265_6572;
    let kind = rustix::fs::fstatfs(file)?.f_type.cast_unsigned();
    Ok([rustix::fs::PROC_SUPER_MAGIC.cast_unsigned(), SYSFS_MAGIC].contains(&kind))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn read(root: &Path, path: &str) -> io::Result<String> {
        let file = open(root, &Setting::at(path).unwrap(), OpenOptions::new().read(true))?;
        io::read_to_string(file)
    }

    #[test]
    fn settings_of_this_machine_are_found_through_the_kernels_own_links() {
        let root = Path::new("/");
        read(root, "/proc/sys/net/core/netdev_max_backlog").unwrap();
        // A link to /sys/devices/virtual/net/lo.
        assert!(read(root, "/sys/class/net/lo/mtu").unwrap().trim().parse::<u32>().is_ok());
        let error = read(root, "/proc/sys/net/core").unwrap_err().to_string();
        assert_eq!(error, "/proc/sys/net/core is not a regular file");
    }

    #[test]
    fn a_path_that_leads_out_of_its_folder_is_refused() {
        let sysctl = |name: &str| Setting::Sysctl { name: name.into() };
        let attribute = |interface: &str, attribute: &str| Setting::SysfsAttribute {
            interface: interface.into(),
            attribute: attribute.into(),
        };
        for setting in [
            sysctl("../../etc/passwd"),
            sysctl("net/../../../etc/passwd"),
            sysctl("net/../kernel/hostname"),
            attribute("lo", "../../../../../etc/passwd"),
            attribute("..", "../kernel/uevent_seqnum"),
            attribute("lo", "subsystem/lo/mtu"),
        ] {
            let error = open(Path::new("/"), &setting, OpenOptions::new().read(true)).unwrap_err().to_string();
            assert!(error.contains("which is not the folder of such a setting"), "{error}");
        }
    }

    #[test]
    fn a_link_out_of_the_tree_is_refused() {
        let (tree, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let secret = elsewhere.path().join("secret");
        fs::write(&secret, "secret").unwrap();
        let net = tree.path().join("proc/sys/net");
        fs::create_dir_all(&net).unwrap();
        for (name, target) in [("file", secret.as_path()), ("folder", elsewhere.path()), ("etc", Path::new("/etc"))] {
            symlink(target, net.join(name)).unwrap();
        }
        for path in ["file", "folder/secret", "etc/passwd"] {
            let error = read(tree.path(), &format!("/proc/sys/net/{path}")).unwrap_err().to_string();
            assert!(error.contains("which is not the folder of such a setting"), "{error}");
        }
        assert_eq!(read(tree.path(), "/proc/sys/net/nothing").unwrap_err().kind(), io::ErrorKind::NotFound);
        let fifo = net.join("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, Mode::RUSR, 0).unwrap();
        assert!(read(tree.path(), "/proc/sys/net/fifo").unwrap_err().to_string().contains("not a regular file"));
    }

    #[test]
    fn a_link_of_an_interface_leads_to_its_device() {
        let tree = tempfile::tempdir().unwrap();
        let (class, devices) = (tree.path().join("sys/class/net"), tree.path().join("sys/devices/pci0/0000:01"));
        fs::create_dir_all(&class).unwrap();
        fs::create_dir_all(devices.join("net/eth0/queues")).unwrap();
        fs::write(devices.join("net/eth0/mtu"), "1500").unwrap();
        fs::write(devices.join("numa_node"), "0").unwrap();
        symlink("../../devices/pci0/0000:01/net/eth0", class.join("eth0")).unwrap();
        symlink("../..", devices.join("net/eth0/device")).unwrap();
        assert_eq!(read(tree.path(), "/sys/class/net/eth0/mtu").unwrap(), "1500");
        assert!(read(tree.path(), "/sys/class/net/eth0/device/numa_node").is_err());
    }
}
