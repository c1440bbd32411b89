//! A copy of a run folder that a test may change.

use crate::program;
use record::audit::audit;
use record::read::Record;
use std::path::{Path, PathBuf};
use std::process::Output;

pub(crate) struct FolderCopy {
    _dir: tempfile::TempDir,
    pub path: PathBuf,
}

impl FolderCopy {
    pub(crate) fn of(folder: &Path) -> FolderCopy {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run");
        std::fs::create_dir(&path).unwrap();
        for file in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap()) {
            std::fs::copy(file.path(), path.join(file.file_name())).unwrap();
        }
        FolderCopy { _dir: dir, path }
    }

    pub(crate) fn text(&self, file: &str) -> String {
        std::fs::read_to_string(self.path.join(file)).unwrap()
    }

    pub(crate) fn edit(&self, file: &str, change: impl FnOnce(String) -> String) {
        std::fs::write(self.path.join(file), change(self.text(file))).unwrap();
    }

    pub(crate) fn edit_lines(&self, file: &str, change: impl FnOnce(&mut Vec<String>)) {
        self.edit(file, |text| {
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            change(&mut lines);
            lines.iter().flat_map(|line| [line, "\n"]).collect()
        });
    }

    pub(crate) fn natmeter(&self, arguments: &[&str]) -> Output {
        let path = self.path.to_str().unwrap();
        program::natmeter(&program::top(), &[&[arguments[0], path], &arguments[1..]].concat())
    }
}

pub(crate) fn findings(folder: &Path) -> Vec<String> {
    audit(&Record::read(folder, tech::ALL).unwrap()).findings.iter().map(ToString::to_string).collect()
}

/// Lines of results without the time at which their searches ended, and without their visits: a resumed run visits the point
/// once more.
pub(crate) fn without_times(results: &str) -> String {
    let line = |line: &str| {
        let mut result: serde_json::Value = serde_json::from_str(line).unwrap();
        let fields = result.as_object_mut().unwrap();
        assert!(fields.remove("after_s").is_some() && fields.remove("visit").is_some());
        result.to_string() + "\n"
    };
    results.lines().map(line).collect()
}
