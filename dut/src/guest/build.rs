//! Builds a guest's image from Debian packages: downloads them with apt, unpacks them, and writes the guest's programs
//! and modules into an archive. It needs neither root nor a container, and installs nothing. apt verifies the packages.

use super::Kind;
use super::cache::{Cache, Image};
use super::cpio::Archive;
use super::recipe::{LINKS, MODULES, PROGRAMS, UNUSED};
use crate::DutError;
use crate::error::FailedHook;
use crate::host::runner::{self, Input, Limits};
use crate::tool::{self, Tool};
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const APT: Tool = Tool { program: "apt-get", package: "apt", version: &["--version"] };
const APT_CACHE: Tool = Tool { program: "apt-cache", package: "apt", version: &["--version"] };
const DPKG_DEB: Tool = Tool { program: "dpkg-deb", package: "dpkg", version: &["--version"] };

/// The first process of a guest.
const INIT: &str = include_str!("init.sh");

/// Time limit of one program of the build.
const LIMIT: Duration = Duration::from_secs(1800);

/// Builds the guest of a kind from the present versions of its packages, unless it is built. `say` is told what begins.
///
/// # Errors
/// When a program or a package is missing, or a download or writing the image fails.
pub fn build(kind: Kind, cache: &Cache, say: &mut dyn FnMut(&str)) -> Result<Image, DutError> {
    tool::require(&[APT, APT_CACHE, DPKG_DEB])?;
    if std::env::consts::ARCH != "x86_64" {
        let what = format!("guests exist for x86_64 only, and this machine is {}", std::env::consts::ARCH);
        return Err(DutError::Refused {
            what, way_out: "measure a device on another machine: on = \"ssh:…\"".into()
        });
    }
    say("choosing packages");
    let kernel = kernel_package(kind)?;
    let packages = Packages::resolve(&kernel)?;
    let image = Image::keyed(cache, kind, packages.key());
    if image.built().is_some() {
        return Ok(image);
    }
    let work = Work::in_folder(cache, &image)?;
    say(&format!("downloading {} packages", packages.list.len()));
    run(Command::new("apt-get").args(["-q", "download"]).args(packages.names()).current_dir(work.made("debs")?))?;
    say("unpacking them");
    packages.unpack(&kernel, &work)?;
    say("writing the image");
    write_image(kind, &work, &image.list(), &packages)?;
    work.becomes(&image)?;
    Ok(image)
}

/// The package with the kernel itself.
fn kernel_package(kind: Kind) -> Result<String, DutError> {
    Ok(kind.recipe().kernel.to_owned())
}

/// Packages with the versions that apt would download.
struct Packages {
    list: Vec<(String, String)>,
}

impl Packages {
    fn resolve(kernel: &str) -> Result<Packages, DutError> {
        let mut names: Vec<String> = PROGRAMS.iter().map(|&name| name.to_owned()).collect();
        names.push(kernel.to_owned());
        names.extend(libraries(&run(Command::new("apt-cache").args(DEPENDS).args(PROGRAMS))?));
        let shown = run(Command::new("apt-get").args(["-qq", "--print-uris", "download"]).args(&names))?;
        Ok(Packages { list: versions(&shown) })
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.list.iter().map(|(name, _)| name.as_str())
    }

    fn text(&self) -> String {
        self.list.iter().map(|(name, version)| format!("{name} {version}\n")).collect()
    }

    /// The FNV-1a hash of the packages and of what this file does with them.
    fn key(&self) -> u64 {
        let fnv = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        let lists = [PROGRAMS, UNUSED, MODULES].concat().join(" ");
        [&self.text(), INIT, &lists].iter().flat_map(|text| text.bytes()).fold(0xcbf2_9ce4_8422_2325, fnv)
    }

    /// Unpacks the kernel and the programs into folders of their own.
    fn unpack(&self, kernel: &str, work: &Work) -> Result<(), DutError> {
        let debs = work.folder.join("debs");
        let (of_kernel, of_programs) = (work.made("kernel-package")?, work.made("root")?);
        let mut files: Vec<PathBuf> =
            fs::read_dir(&debs).map_err(|e| failed("reading", &debs, e))?.flatten().map(|entry| entry.path()).collect();
        files.sort_unstable();
        for file in files {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            let to = if name.starts_with(&format!("{kernel}_")) { &of_kernel } else { &of_programs };
            run(Command::new("dpkg-deb").arg("-x").arg(&file).arg(to))?;
        }
        Ok(())
    }
}

const DEPENDS: [&str; 8] = [
    "depends",
    "--recurse",
    "--no-recommends",
    "--no-suggests",
    "--no-conflicts",
    "--no-breaks",
    "--no-replaces",
    "--no-enhances",
];

/// The packages of libraries among the dependencies that `apt-cache` prints, without those of Perl's.
fn libraries(depends: &str) -> Vec<String> {
    let is_library = |name: &&str| (name.starts_with("lib") || *name == "zlib1g") && !name.contains("perl");
    let mut names: Vec<String> = depends.lines().filter(is_library).map(str::to_owned).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Names and versions from lines such as `'https://…' dash_0.5.12-2_amd64.deb 97000 SHA256:…`, in order.
fn versions(uris: &str) -> Vec<(String, String)> {
    let package = |line: &str| {
        let file = line.split_whitespace().nth(1)?;
        let mut parts = file.split('_');
        // apt quotes the colon of an epoch.
        Some((parts.next()?.to_owned(), parts.next()?.replace("%3a", ":")))
    };
    let mut list: Vec<(String, String)> = uris.lines().filter_map(package).collect();
    list.sort_unstable();
    list.dedup();
    list
}

/// Writes kernel and first file system.
fn write_image(kind: Kind, work: &Work, list: &Path, packages: &Packages) -> Result<(), DutError> {
    let recipe = kind.recipe();
    let package = work.folder.join("kernel-package");
    let (kernel, modules) = (beginning_with(&package, recipe.image)?, beginning_with(&package, recipe.modules)?);
    let modules = beginning_with(&modules, "")?;
    let to = work.folder.join("kernel");
    fs::copy(&kernel, &to).map_err(|e| failed("writing", &to, e))?;
    let initrd = work.folder.join("initrd");
    archive(&work.folder.join("root"), &modules, &initrd).map_err(|e| failed("writing", &initrd, e))?;
    let list = work.folder.join(list.file_name().unwrap_or_default());
    fs::write(&list, packages.text()).map_err(|e| failed("writing", &list, e))
}

fn archive(root: &Path, modules: &Path, to: &Path) -> io::Result<()> {
    let mut archive = Archive::to(BufWriter::new(File::create(to)?));
    let is_used = |name: &Path| !UNUSED.iter().any(|unused| name.starts_with(unused));
    archive.tree(root, Path::new(""), &is_used)?;
    // Since Debian 13 the packages have everything below usr.
    for folder in ["bin", "sbin", "lib", "lib64"].into_iter().filter(|folder| !root.join(folder).exists()) {
        archive.link(folder, &format!("usr/{folder}"))?;
    }
    for folder in ["dev", "proc", "sys", "run", "tmp", "opt", "root", "var", "usr/share"] {
        archive.folder(folder)?;
    }
    archive.link("var/run", "../run")?;
    LINKS.iter().try_for_each(|(name, target)| archive.link(name, target))?;
    let lib = if root.join("lib").exists() { "lib" } else { "usr/lib" };
    let below = Path::new(lib).join("modules").join(modules.file_name().unwrap_or_default());
    archive.folder(&format!("{lib}/modules"))?;
    archive.tree(modules, &below, &|name| is_wanted(name.strip_prefix(&below).unwrap_or(name)))?;
    archive.program("init", INIT)?;
    archive.end()
}

/// Whether a guest may load this module, or it is a folder of such modules or a list of all modules.
fn is_wanted(path: &Path) -> bool {
    let Ok(below) = path.strip_prefix("kernel") else { return path.to_string_lossy().starts_with("modules.") };
    MODULES.iter().any(|module| below.starts_with(module) || Path::new(module).starts_with(below))
}

/// The first path below a folder that begins so.
fn beginning_with(folder: &Path, path: &str) -> Result<PathBuf, DutError> {
    let whole = folder.join(path);
    let (parent, begins) = if path.is_empty() {
        (whole.clone(), String::new())
    } else {
        let name = whole.file_name().unwrap_or_default().to_string_lossy().into_owned();
        (whole.parent().unwrap_or(folder).to_path_buf(), name)
    };
    let mut found: Vec<PathBuf> = fs::read_dir(&parent).into_iter().flatten().flatten().map(|e| e.path()).collect();
    found.sort_unstable();
    found
        .into_iter()
        .find(|path| path.file_name().is_some_and(|n| n.to_string_lossy().starts_with(&begins)))
        .ok_or_else(|| DutError::Refused {
            what: format!("the package of the guest's kernel has no {}", whole.display()),
            way_out: "this release of Debian is not supported: use Debian 12 or 13".into(),
        })
}

/// The folder of a build. It is removed if the build does not succeed.
struct Work {
    folder: PathBuf,
}

impl Work {
    fn in_folder(cache: &Cache, image: &Image) -> Result<Work, DutError> {
        fs::create_dir_all(cache.folder()).map_err(|e| failed("making", cache.folder(), e))?;
        let folder = image.folder.with_extension(format!("new{}", std::process::id()));
        fs::create_dir(&folder).map_err(|e| failed("making", &folder, e))?;
        Ok(Work { folder })
    }

    fn made(&self, name: &str) -> Result<PathBuf, DutError> {
        let folder = self.folder.join(name);
        fs::create_dir_all(&folder).map_err(|e| failed("making", &folder, e))?;
        Ok(folder)
    }

    /// Moves the image into place, without the packages.
    fn becomes(self, image: &Image) -> Result<(), DutError> {
        for folder in ["debs", "kernel-package", "root"] {
            let folder = self.folder.join(folder);
            fs::remove_dir_all(&folder).map_err(|e| failed("removing", &folder, e))?;
        }
        match fs::rename(&self.folder, &image.folder) {
            // Another process built the same image.
            Err(_) if image.built().is_some() => Ok(()),
            done => done.map_err(|e| failed("writing", &image.folder, e)),
        }
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn failed(doing: &'static str, path: &Path, source: io::Error) -> DutError {
    DutError::Journal { doing, path: path.to_owned(), source }
}

/// Runs a program of the build and returns what it prints.
fn run(command: &mut Command) -> Result<String, DutError> {
    let shown = format!("{command:?}").replace('"', "");
    let shown: String = shown.chars().take(120).collect();
    let refused = |what: String| DutError::Refused {
        what,
        way_out:
            "the packages come from the sources of apt on this machine: Debian 12 or later, after `apt-get update`"
                .into(),
    };
    let ran = runner::run(command, Input::Nothing, &Limits::of_hook(LIMIT).keeping(16 << 20))
        .map_err(|e| refused(format!("`{shown}` cannot be started: {e}")))?;
    if ran.output.ok() {
        return Ok(ran.output.stdout);
    }
    let lines = FailedHook::last_lines(&[&ran.output.stdout, &ran.output.stderr]).join("\n    ");
    Err(refused(format!("`{shown}…` failed:\n    {lines}\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_the_names_of_files() {
        let uris = "'http://deb.debian.org/debian/pool/main/d/dash/dash_0.5.12-2_amd64.deb' dash_0.5.12-2_amd64.deb 97000 SHA256:33\n\
            'http://x/conntrack_1%3a1.4.7-1+b2_amd64.deb' conntrack_1%3a1.4.7-1+b2_amd64.deb 33744 SHA256:44\n";
        let list = versions(uris);
        let of = |name: &str, version: &str| (name.to_owned(), version.to_owned());
        assert_eq!(list, [of("conntrack", "1:1.4.7-1+b2"), of("dash", "0.5.12-2")]);
        let newer = Packages { list: versions(&uris.replace("0.5.12-2_", "0.5.12-3_")) };
        assert_ne!(Packages { list }.key(), newer.key());
    }

    #[test]
    fn libraries_follow_from_dependencies() {
        let depends =
            "kmod\n  Depends: libc6\nlibc6\nperl\nlibperl5.36\nzlib1g\nlibkmod2\nlibc6\n  Depends: libgcc-s1\n";
        assert_eq!(libraries(depends), ["libc6", "libkmod2", "zlib1g"]);
    }

    #[test]
    fn modules_for_the_network_are_kept() {
        for kept in ["modules.dep", "kernel", "kernel/net", "kernel/net/ipv6/ipv6.ko", "kernel/drivers/net/veth.ko"] {
            assert!(is_wanted(Path::new(kept)), "{kept}");
        }
        for left_out in ["kernel/fs", "kernel/net/nfc", "kernel/drivers/net/ppp", "build"] {
            assert!(!is_wanted(Path::new(left_out)), "{left_out}");
        }
    }
}
