//! The folder of built guests: one for each image, named after its kind and the versions of its packages.

use super::Hypervisor;
use crate::DutError;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Environment variable that names the folder of built guests.
pub const VARIABLE: &str = "NATMETER_GUESTS";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    folder: PathBuf,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    pub kind: Hypervisor,
    pub folder: PathBuf,
}

impl Cache {
    /// The folder that `NATMETER_GUESTS` names, else `natmeter/guest` in the user's cache folder.
    pub fn of_this_user() -> Result<Cache, DutError> {
        let named = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let of_user = || {
            named("XDG_CACHE_HOME").or_else(|| Some(named("HOME")?.join(".cache"))).map(|f| f.join("natmeter/guest"))
        };
        named(VARIABLE).or_else(of_user).map(Cache::at).ok_or_else(|| {
            let what = "no folder for guests: neither XDG_CACHE_HOME nor HOME is set";
            DutError::refused(what, format!("name a folder in {VARIABLE}"))
        })
    }

    pub fn at(folder: impl Into<PathBuf>) -> Cache {
        Cache { folder: folder.into() }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Images, the latest first.
    pub fn images(&self) -> Vec<Image> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let image = |entry: fs::DirEntry| {
            let name = entry.file_name().into_string().ok()?;
            let (kind, key) = name.split_once('-')?;
            let is_key = key.len() == 16 && key.chars().all(|c| c.is_ascii_hexdigit());
            let image = Image { kind: Hypervisor::named(kind)?, folder: entry.path() };
            is_key.then_some((image.built(), image))
        };
        let mut images: Vec<(Option<SystemTime>, Image)> = entries.filter_map(image).collect();
        images.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.folder.cmp(&b.1.folder)));
        images.into_iter().map(|(_, image)| image).collect()
    }

    pub fn latest(&self, kind: Hypervisor) -> Result<Image, DutError> {
        self.images().into_iter().find(|image| image.kind == kind).ok_or_else(|| {
            let name = kind.name();
            DutError::refused(
                format!("no guest of the kind {name} is in {}", self.folder.display()),
                format!(
                    "build it with `natmeter guest build {name}`, or name the folder of another user's guests in {VARIABLE}"
                ),
            )
        })
    }

    /// Removes all guests and leftovers of builds; returns their folders.
    pub fn clean(&self) -> Result<Vec<PathBuf>, DutError> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let is_ours = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.split_once('-').is_some_and(|(kind, _)| Hypervisor::named(kind).is_some())
        };
        let folders: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_ours).collect();
        for path in &folders {
            let failed = |source| DutError::Journal { doing: "removing", path: path.clone(), source };
            fs::remove_dir_all(path).map_err(failed)?;
        }
        Ok(folders)
    }
}

impl Image {
    pub(super) fn keyed(cache: &Cache, kind: Hypervisor, key: u64) -> Image {
        Image { kind, folder: cache.folder.join(format!("{}-{key:016x}", kind.name())) }
    }

    pub fn kernel(&self) -> PathBuf {
        self.folder.join("kernel")
    }

    pub fn initrd(&self) -> PathBuf {
        self.folder.join("initrd")
    }

    pub(super) fn list(&self) -> PathBuf {
        self.folder.join("packages")
    }

    pub fn packages(&self) -> String {
        fs::read_to_string(self.list()).unwrap_or_default()
    }

    pub fn version(&self, package: &str) -> Option<String> {
        let packages = self.packages();
        let mut lines = packages.lines().filter_map(|line| line.split_once(' '));
        lines.find(|(name, _)| *name == package).map(|(_, version)| version.to_owned())
    }

    pub fn built(&self) -> Option<SystemTime> {
        fs::metadata(self.list()).and_then(|found| found.modified()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_folders_of_guests_are_listed_and_removed() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::at(dir.path());
        let error = cache.latest(Hypervisor::Uml).unwrap_err().to_string();
        assert!(error.contains("no guest of the kind uml") && error.contains("natmeter guest build uml"), "{error}");
        for name in ["uml-0123456789abcdef", "uml-0123456789abcdef.new", "other-0123456789abcdef", "notes"] {
            fs::create_dir(dir.path().join(name)).unwrap();
        }
        let image = Image::keyed(&cache, Hypervisor::Uml, 0x0123_4567_89ab_cdef);
        fs::write(image.list(), "dash 0.5.12-2\nlibc6 2.36\n").unwrap();
        assert_eq!(cache.images(), std::slice::from_ref(&image));
        assert_eq!(cache.latest(Hypervisor::Uml).unwrap(), image);
        assert_eq!(image.version("libc6").as_deref(), Some("2.36"));
        assert_eq!(cache.clean().unwrap().len(), 2);
        assert!(dir.path().join("notes").exists() && cache.images().is_empty());
    }
}
