//! Builds a guest's image from Debian packages, which apt downloads and verifies, without root or a container.

use super::Hypervisor;
use super::cache::{Cache, Image};
use super::cpio::Archive;
use super::recipe::{DEPMOD, LINKS, MODULES, PERF, PROGRAMS, Recipe, UNUSED, UNUSED_BY_PERF};
use crate::DutError;
use crate::error::FailedHook;
use crate::host::runner::{self, Input, Limits};
use crate::tool::{self, Tool};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const APT: Tool = Tool::of("apt-get", "apt");
const APT_CACHE: Tool = Tool::of("apt-cache", "apt");
const DPKG_DEB: Tool = Tool::of("dpkg-deb", "dpkg");

const INIT: &str = include_str!("init.sh");

const LIMIT: Duration = Duration::from_secs(1800);

/// Builds from the present versions of the packages, unless that is done. `say` is told what begins. Fails for
/// User-Mode Linux with perf.
pub fn build(kind: Hypervisor, perf: bool, cache: &Cache, say: &mut dyn FnMut(&str)) -> Result<Image, DutError> {
    if perf && kind == Hypervisor::Uml {
        let way_out = "build the other guest: `natmeter guest build qemu --perf`";
        return Err(DutError::refused("User-Mode Linux has no events for perf", way_out));
    }
    let recipe = kind.recipe();
    tool::require(&[&[APT, APT_CACHE, DPKG_DEB][..], &recipe.tools].concat())?;
    if std::env::consts::ARCH != "x86_64" {
        let what = format!("guests exist for x86_64 only, and this machine is {}", std::env::consts::ARCH);
        return Err(DutError::refused(what, "measure a device on another machine: on = \"ssh:…\""));
    }
    say("choosing packages");
    let of_kernel = Packages::resolve(&names_of_kernel(&recipe)?)?;
    let of_programs = Packages::resolve(&names_of_programs(perf)?)?;
    let image = Image::keyed(
        cache,
        kind,
        hash(&[&of_kernel.key(&recipe).to_string(), &of_programs.text(), INIT, &lists(perf)]),
    );
    if image.built().is_some() {
        return Ok(image);
    }
    let kernel = kernel(kind, cache, &recipe, &of_kernel, say)?;
    let work = BuildFolder::on(cache, image.folder.clone())?;
    let root = of_programs.unpacked(&work, "root", say)?;
    say("writing the image");
    write_image(&work, &image, &kernel, &root)?;
    let list = work.folder.join(image.list().file_name().unwrap_or_default());
    fs::write(&list, of_kernel.text() + &of_programs.text()).map_err(|e| failed("writing", &list, e))?;
    work.done(&[image.kernel(), image.initrd(), image.list()])?;
    Ok(image)
}

/// Compiled once for each set of package versions.
fn kernel(
    kind: Hypervisor,
    cache: &Cache,
    recipe: &Recipe,
    packages: &Packages,
    say: &mut dyn FnMut(&str),
) -> Result<PathBuf, DutError> {
    let folder = cache.folder().join(format!("{}-kernel-{:016x}", kind.name(), packages.key(recipe)));
    if folder.exists() {
        return Ok(folder);
    }
    let work = BuildFolder::on(cache, folder.clone())?;
    let unpacked = packages.unpacked(&work, "packages", say)?;
    say("compiling what has to be compiled");
    let config = work.folder.join("config");
    fs::write(&config, recipe.config).map_err(|e| failed("writing", &config, e))?;
    let jobs = std::thread::available_parallelism().map_or(1, usize::from).to_string();
    script(recipe.script, &[unpacked.as_ref(), config.as_ref(), jobs.as_ref()], &work.folder)?;
    work.done(&[folder.join("kernel"), folder.join("tree")])?;
    Ok(folder)
}

fn script(text: &str, args: &[&OsStr], folder: &Path) -> Result<String, DutError> {
    run(Command::new("sh").args(["-c", text, "sh"]).args(args).current_dir(folder))
}

fn names_of_kernel(recipe: &Recipe) -> Result<Vec<String>, DutError> {
    let mut names: Vec<String> = recipe.packages.iter().map(|&name| name.to_owned()).collect();
    for (package, begins) in recipe.follow {
        // A prefix names a package that was found before.
        let package = if package.ends_with('-') {
            names.iter().find(|name| name.starts_with(package)).cloned().unwrap_or_default()
        } else {
            (*package).to_owned()
        };
        let depends = run(Command::new("apt-cache").args(["depends", &package]))?;
        names.extend(dependency(&depends, begins));
    }
    Ok(names)
}

/// The first dependency in the output of `apt-cache depends` whose name begins so.
fn dependency(depends: &str, begins: &str) -> Option<String> {
    let mut names = depends.lines().filter_map(|line| line.trim().strip_prefix("Depends: "));
    names.find(|name| name.starts_with(begins)).map(str::to_owned)
}

fn names_of_programs(perf: bool) -> Result<Vec<String>, DutError> {
    let programs: Vec<&str> = PROGRAMS.iter().copied().chain(perf.then_some(PERF)).collect();
    let depends = run(Command::new("apt-cache").args(DEPENDS).args(&programs))?;
    let mut names: Vec<String> = programs.into_iter().map(str::to_owned).chain(libraries(&depends)).collect();
    if perf {
        // perf is linked with the library of Perl, which other programs do not need.
        names.extend(dependency(&run(Command::new("apt-cache").args(["depends", PERF]))?, "libperl"));
    }
    Ok(names)
}

fn hash(texts: &[&str]) -> u64 {
    let fnv = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    texts.iter().flat_map(|text| text.bytes()).fold(0xcbf2_9ce4_8422_2325, fnv)
}

fn lists(perf: bool) -> String {
    let of_perf = if perf { UNUSED_BY_PERF.join(" ") } else { String::new() };
    [PROGRAMS, UNUSED, MODULES].concat().join(" ") + DEPMOD + &of_perf
}

struct Packages {
    list: Vec<(String, String)>,
}

impl Packages {
    fn resolve(names: &[String]) -> Result<Packages, DutError> {
        let shown = run(Command::new("apt-get").args(["-qq", "--print-uris", "download"]).args(names))?;
        Ok(Packages { list: versions(&shown) })
    }

    fn text(&self) -> String {
        self.list.iter().flat_map(|(name, version)| [name, " ", version, "\n"]).collect()
    }

    fn key(&self, recipe: &Recipe) -> u64 {
        hash(&[&self.text(), recipe.script, recipe.config])
    }

    fn unpacked(&self, work: &BuildFolder, name: &str, say: &mut dyn FnMut(&str)) -> Result<PathBuf, DutError> {
        let (debs, to) = (work.made("debs")?, work.made(name)?);
        say(&format!("downloading {} packages", self.list.len()));
        let names = self.list.iter().map(|(name, _)| name);
        run(Command::new("apt-get").args(["-q", "download"]).args(names).current_dir(&debs))?;
        say("unpacking them");
        let mut files: Vec<PathBuf> =
            fs::read_dir(&debs).map_err(|e| failed("reading", &debs, e))?.flatten().map(|entry| entry.path()).collect();
        files.sort_unstable();
        for file in files {
            run(Command::new("dpkg-deb").arg("-x").arg(&file).arg(&to))?;
        }
        Ok(to)
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

/// Libraries without those of Perl.
fn libraries(depends: &str) -> Vec<String> {
    let is_library = |name: &&str| (name.starts_with("lib") || *name == "zlib1g") && !name.contains("perl");
    let mut names: Vec<String> = depends.lines().filter(is_library).map(str::to_owned).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Packages and versions from lines such as `'https://…' dash_0.5.12-2_amd64.deb 97000 SHA256:…`.
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

fn write_image(work: &BuildFolder, image: &Image, kernel: &Path, root: &Path) -> Result<(), DutError> {
    script(DEPMOD, &[root.as_ref()], kernel)?;
    let [to, initrd] =
        [image.kernel(), image.initrd()].map(|path| work.folder.join(path.file_name().unwrap_or_default()));
    fs::copy(kernel.join("kernel"), &to).map_err(|e| failed("writing", &to, e))?;
    archive(root, &kernel.join("tree/lib/modules"), &initrd).map_err(|e| failed("writing", &initrd, e))
}

fn archive(root: &Path, modules: &Path, to: &Path) -> io::Result<()> {
    let mut archive = Archive::to(BufWriter::new(File::create(to)?));
    let is_used = |name: &Path| !UNUSED.iter().chain(UNUSED_BY_PERF).any(|unused| name.starts_with(unused));
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
    let below = Path::new(lib).join("modules");
    archive.tree(modules, &below, &|name| is_wanted(name.strip_prefix(&below).unwrap_or(name)))?;
    archive.program("init", INIT)?;
    archive.end()
}

/// A module, or on the path to one; it begins with the kernel's release.
fn is_wanted(path: &Path) -> bool {
    let below: PathBuf = path.components().skip(1).collect();
    let is_list = below.components().count() == 1 && below.to_string_lossy().starts_with("modules.");
    is_list || MODULES.iter().any(|module| below.starts_with(module) || Path::new(module).starts_with(&below))
}

/// The folder of a build, removed unless the build succeeds.
struct BuildFolder {
    folder: PathBuf,
    becomes: PathBuf,
}

impl BuildFolder {
    fn on(cache: &Cache, becomes: PathBuf) -> Result<BuildFolder, DutError> {
        fs::create_dir_all(cache.folder()).map_err(|e| failed("making", cache.folder(), e))?;
        let folder = becomes.with_extension(format!("new{}", std::process::id()));
        fs::create_dir(&folder).map_err(|e| failed("making", &folder, e))?;
        Ok(BuildFolder { folder, becomes })
    }

    fn made(&self, name: &str) -> Result<PathBuf, DutError> {
        let folder = self.folder.join(name);
        fs::create_dir_all(&folder).map_err(|e| failed("making", &folder, e))?;
        Ok(folder)
    }

    fn done(self, parts: &[PathBuf]) -> Result<(), DutError> {
        for entry in fs::read_dir(&self.folder).map_err(|e| failed("reading", &self.folder, e))?.flatten() {
            let path = entry.path();
            if parts.iter().any(|part| part.file_name() == path.file_name()) {
                continue;
            }
            let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            removed.map_err(|e| failed("removing", &path, e))?;
        }
        match fs::rename(&self.folder, &self.becomes) {
            // Another process built the same.
            Err(_) if self.becomes.exists() => Ok(()),
            done => done.map_err(|e| failed("writing", &self.becomes, e)),
        }
    }
}

impl Drop for BuildFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn failed(doing: &'static str, path: &Path, source: io::Error) -> DutError {
    DutError::Journal { doing, path: path.to_owned(), source }
}

fn run(command: &mut Command) -> Result<String, DutError> {
    let shown = format!("{command:?}").replace('"', "");
    let shown: String = shown.chars().take(120).collect();
    let refused = |what: String| {
        let way_out =
            "the packages come from the sources of apt on this machine: Debian 12 or later, after `apt-get update`";
        DutError::refused(what, way_out)
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
        let recipe = Hypervisor::Uml.recipe();
        assert_ne!(Packages { list }.key(&recipe), newer.key(&recipe));
    }

    #[test]
    fn a_package_follows_from_one_that_depends_on_its_current_version() {
        let depends =
            "linux-source\n  Depends: linux-source-6.1\n    linux-source-6.1:i386\n  Suggests: kernel-wedge\n";
        assert_eq!(dependency(depends, "linux-source-").as_deref(), Some("linux-source-6.1"));
        assert_eq!(dependency(depends, "linux-headers-"), None);
    }

    #[test]
    fn libraries_follow_from_dependencies() {
        let depends =
            "kmod\n  Depends: libc6\nlibc6\nperl\nlibperl5.36\nzlib1g\nlibkmod2\nlibc6\n  Depends: libgcc-s1\n";
        assert_eq!(libraries(depends), ["libc6", "libkmod2", "zlib1g"]);
    }

    #[test]
    fn modules_for_the_network_are_kept() {
        let all = [
            "",
            "modules.dep",
            "kernel",
            "kernel/net",
            "kernel/net/ipv6/ipv6.ko",
            "kernel/drivers/net/veth.ko",
            "extra/jool.ko",
        ];
        for kept in all.map(|path| format!("6.1.192/{path}")) {
            assert!(is_wanted(Path::new(&kept)), "{kept}");
        }
        for left_out in ["kernel/fs", "kernel/net/nfc", "kernel/drivers/net/ppp", "build"] {
            assert!(!is_wanted(&Path::new("6.1.192").join(left_out)), "{left_out}");
        }
    }
}
