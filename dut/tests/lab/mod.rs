//! A laboratory for tests over ssh: tester and DUT in two namespaces, joined by a management link, with sshd in the
//! DUT. ssh reads nothing of the user who runs the test.

use dut::RunDir;
use port::netns::{Netns, Sight};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub(crate) const DUT: &str = "dut";
pub(crate) struct Lab {
    tester: Netns,
    dut: Netns,
    address: String,
    sshd: Option<Child>,
    dir: tempfile::TempDir,
}

impl Lab {
    pub(crate) fn new() -> Lab {
        Lab::beside(Netns::new().unwrap(), 0)
    }

    pub(crate) fn beside(tester: Netns, number: u8) -> Lab {
        let (dir, address) = (tempfile::tempdir().unwrap(), format!("10.99.{number}.2"));
        let lab = Lab { tester, dut: Netns::new().unwrap(), address, sshd: None, dir };
        let peer = lab.dut.path();
        let (own, address) = (format!("mgmt{number}"), &lab.address);
        lab.tester_runs(&format!("ip link add {own} type veth peer name mgmt netns {}", peer.display()));
        lab.tester_runs(&format!(
            "ip link set lo up && ip addr add 10.99.{number}.1/24 dev {own} && ip link set {own} up"
        ));
        lab.dut_runs(&format!("ip link set lo up && ip addr add {address}/24 dev mgmt && ip link set mgmt up"));
        lab.new_key("user");
        lab.new_host_key();
        lab.trust();
        lab.write("authorized_keys", &fs::read_to_string(lab.path("user.pub")).unwrap());
        let path = |name| lab.path(name).display().to_string();
        lab.write(
            "sshd_config",
            &format!(
                "ListenAddress {address}\nHostKey {}\nAuthorizedKeysFile {}\nPermitRootLogin prohibit-password\n\
                 PasswordAuthentication no\nUsePAM no\nStrictModes no\nPidFile none\nClientAliveInterval 1\n\
                 ClientAliveCountMax 3\n",
                path("host"),
                path("authorized_keys")
            ),
        );
        lab.write(
            "ssh_config",
            &format!(
                "Host {DUT}\n HostName {address}\n User root\n IdentityFile {}\n IdentitiesOnly yes\n IdentityAgent none\n \
                 UserKnownHostsFile {}\n GlobalKnownHostsFile /dev/null\n StrictHostKeyChecking yes\n",
                path("user"),
                path("known_hosts")
            ),
        );
        lab.with_sshd()
    }

    #[allow(dead_code, reason = "each suite uses a part of the laboratory")]
    pub(crate) fn namespaces(&self) -> [Netns; 2] {
        [self.tester.clone(), self.dut.clone()]
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn config(&self) -> PathBuf {
        self.path("ssh_config")
    }

    pub(crate) fn run_dir(&self) -> RunDir {
        RunDir::at(self.path("run"))
    }

    pub(crate) fn tester_does<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        self.tester.run_in(work).unwrap()
    }

    pub(crate) fn link(&self, state: &str) {
        self.dut_runs(&format!("ip link set mgmt {state}"));
    }

    pub(crate) fn tester_runs(&self, line: &str) {
        run(&self.tester, line);
    }

    pub(crate) fn dut_runs(&self, line: &str) {
        run(&self.dut, line);
    }

    pub(crate) fn has_socket(&self) -> bool {
        let folders = fs::read_dir(self.run_dir().path()).into_iter().flatten().flatten();
        folders.map(|folder| folder.path().join("s")).any(|socket| socket.exists())
    }

    pub(crate) fn new_host_key(&self) {
        self.new_key("host");
    }

    pub(crate) fn trust(&self) {
        let key = fs::read_to_string(self.path("host.pub")).unwrap();
        self.write("known_hosts", &format!("{} {key}", self.address));
    }

    fn new_key(&self, name: &str) {
        let _ = fs::remove_file(self.path(name));
        let path = self.path(name);
        let made = Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(path).status();
        assert!(made.unwrap().success());
    }

    pub(crate) fn stop_sshd(&mut self) {
        if let Some(mut sshd) = self.sshd.take() {
            sshd.kill().unwrap();
            sshd.wait().unwrap();
        }
    }

    pub(crate) fn with_sshd(mut self) -> Lab {
        self.stop_sshd();
        // sshd needs this folder, which a service manager makes otherwise.
        fs::create_dir_all("/run/sshd").unwrap();
        let mut command = self.dut.command("/usr/sbin/sshd", Sight::Network);
        command.args(["-D", "-e", "-f"]).arg(self.path("sshd_config"));
        let sshd = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn();
        let mut sshd = sshd.expect("sshd is installed: apt-get install openssh-server");
        let mut lines = BufReader::new(sshd.stderr.take().unwrap()).lines().map_while(Result::ok);
        assert!(lines.any(|line| line.contains("Server listening")), "sshd starts");
        std::thread::spawn(move || lines.for_each(drop));
        self.sshd = Some(sshd);
        self
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        self.stop_sshd();
    }
}

fn run(ns: &Netns, line: &str) {
    let output = ns.command("sh", Sight::Network).args(["-c", line]).output().unwrap();
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
}

pub(crate) fn is_gone(path: &str) -> bool {
    !Path::new(path).exists()
}

/// Waits at most two minutes.
pub(crate) fn until(holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(120), "it takes too long");
        std::thread::sleep(Duration::from_millis(10));
    }
}
