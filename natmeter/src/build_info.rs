//! Describes this build: version, commit, target, processor, flags, compiler. Every run folder
//! names them, because two builds of one version may differ in speed.

use record::folder::Build;

/// Output of `natmeter -V`.
pub(crate) const SHORT: &str = concat!(env!("CARGO_PKG_VERSION"), " (commit ", env!("NATMETER_BUILD_COMMIT"), ")");

/// `natmeter --version`, one fact a line.
pub(crate) const LONG: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    "\ncommit:      ",
    env!("NATMETER_BUILD_COMMIT"),
    "\ntarget:      ",
    env!("NATMETER_BUILD_TARGET"),
    "\ntarget CPU:  ",
    env!("NATMETER_BUILD_CPU"),
    "\nflags:       ",
    env!("NATMETER_BUILD_FLAGS"),
    "\nprofile:     ",
    env!("NATMETER_BUILD_PROFILE"),
    "\ncompiler:    ",
    env!("NATMETER_BUILD_RUSTC"),
);

/// All facts without the version, in one line, for run folders and reports.
pub(crate) const BUILD: &str = concat!(
    "commit ",
    env!("NATMETER_BUILD_COMMIT"),
    ", ",
    env!("NATMETER_BUILD_TARGET"),
    ", target CPU ",
    env!("NATMETER_BUILD_CPU"),
    ", flags ",
    env!("NATMETER_BUILD_FLAGS"),
    ", profile ",
    env!("NATMETER_BUILD_PROFILE"),
    ", ",
    env!("NATMETER_BUILD_RUSTC"),
);

pub(crate) fn build() -> Build {
    Build {
        commit: commit(),
        target_cpu: Some(env!("NATMETER_BUILD_CPU").to_owned()),
        flags: Some(env!("NATMETER_BUILD_FLAGS").to_owned()),
    }
}

/// `None` for a build outside a repository.
pub(crate) fn commit() -> Option<String> {
    Some(env!("NATMETER_BUILD_COMMIT").to_owned()).filter(|commit| commit != "unknown")
}

/// Message where this processor lacks an instruction of the build.
pub(crate) const WRONG_PROCESSOR: &str = concat!(
    "error: this processor lacks an instruction that this build of natmeter uses. It was built for ",
    env!("NATMETER_BUILD_CPU"),
    "; releases need x86-64-v3 (Intel Haswell, AMD Zen, or newer). Build natmeter on this machine instead: \
     `cargo install --path natmeter` in its source folder\n"
);
