//! The site: which answer a request gets. Nothing outside the folder of runs is read, and nothing is written.

use super::access::{Access, TOKEN_COOKIE, is_ambiguous};
use super::answer::{self, HTML, JSON, TEXT, ok, with_header, with_status};
use super::live::LiveViews;
use super::page::{self, failed, list, pair, run};
use super::query::{Query, encoded, segments};
use super::reports::Reports;
use hyper::header::{ALLOW, CONTENT_DISPOSITION, HeaderMap, LOCATION, SET_COOKIE};
use hyper::{Method, Response, StatusCode, Uri};
use record::merge::is_merged;
use record::report::KNOWN;
use record::runs::{RunEntry, Runs, path_of, scenario_text};
use record::store::StoreError;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

#[derive(Debug)]
pub(crate) struct Site {
    folder: PathBuf,
    runs: Mutex<Runs>,
    reports: Reports,
    live_views: LiveViews,
    access: Access,
}

impl Site {
    /// The site over the runs directly below a folder. It lists them once, so that the first request is as fast as later ones.
    pub(crate) fn new(folder: &Path, access: Access) -> Result<Site, StoreError> {
        let mut runs = Runs::of(folder);
        runs.list()?;
        Ok(Site {
            folder: folder.to_path_buf(),
            runs: Mutex::new(runs),
            reports: Reports::default(),
            live_views: LiveViews::default(),
            access,
        })
    }

    pub(super) fn answer(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Response<String> {
        if is_ambiguous(uri, headers) {
            return failed(StatusCode::BAD_REQUEST, "the request names several hosts: name one");
        }
        let query = Query::of(uri);
        if let Some(token) = query.get("token").filter(|token| self.access.is_token(token)) {
            return logged_in(uri, &query, token);
        }
        if let Some(refusal) = self.access.refuse(headers) {
            return refusal;
        }
        if method != Method::GET && method != Method::HEAD {
            let answer = failed(StatusCode::METHOD_NOT_ALLOWED, "the server only reads: use GET or HEAD");
            return with_header(answer, ALLOW, "GET, HEAD");
        }
        let Some(segments) = segments(uri) else { return nothing_here() };
        let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
        match segments.as_slice() {
            [""] => self.listed(|runs| ok(HTML, list::page(&self.folder, runs, &query))),
            ["runs.json"] => self.listed(|runs| ok(JSON, list::json(runs, &query))),
            ["style.css"] => ok("text/css; charset=utf-8", page::STYLE),
            ["live.js"] => ok("text/javascript; charset=utf-8", page::SCRIPT),
            ["compare"] => self.compare(&query),
            ["run", name, rest @ ..] => match path_of(&self.folder, name) {
                Some(path) => self.of_run(name, &path, rest),
                None => nothing_here(),
            },
            _ => nothing_here(),
        }
    }

    /// Lists the runs. Nothing else waits for that.
    fn listed(&self, answer: impl FnOnce(&[RunEntry]) -> Response<String>) -> Response<String> {
        let list = self.runs.lock().unwrap_or_else(PoisonError::into_inner).list();
        match list {
            Ok(runs) => answer(&runs),
            Err(error) => failed(StatusCode::INTERNAL_SERVER_ERROR, &format!("the folder cannot be read: {error}")),
        }
    }

    fn of_run(&self, name: &str, path: &Path, rest: &[&str]) -> Response<String> {
        let answer = match rest {
            // Without the slash, the links of the page would lead elsewhere.
            [] => Ok(moved(&format!("/run/{}/", encoded(name)))),
            [""] => Ok(ok(HTML, run::page(name, self.reports.of(path).as_deref(), !is_merged(path)))),
            ["live"] => self.live_views.print(path, |view| run::live(name, view)).map(|page| ok(HTML, page)),
            ["scenario.toml"] => scenario_text(path).map(|text| named(ok(TEXT, text), "attachment", name, "toml")),
            ["report", format] => self.report(name, path, format),
            _ => return nothing_here(),
        };
        answer.unwrap_or_else(|why| failed(StatusCode::NOT_FOUND, &why))
    }

    fn compare(&self, query: &Query) -> Response<String> {
        let names: Vec<&str> = query.all("run").collect();
        let [first, second] = names[..] else {
            return failed(StatusCode::BAD_REQUEST, "select two runs to compare");
        };
        let report = |name: &str| {
            let path = path_of(&self.folder, name).ok_or_else(|| format!("{name}: there is no such run"))?;
            self.reports.of(&path).map_err(|why| format!("{name}: {why}"))
        };
        match (report(first), report(second)) {
            (Ok(one), Ok(other)) => ok(HTML, pair::page((first, &one), (second, &other))),
            (Err(why), _) | (_, Err(why)) => failed(StatusCode::NOT_FOUND, &why),
        }
    }

    fn report(&self, name: &str, path: &Path, format: &str) -> Result<Response<String>, String> {
        let Some(known) = KNOWN.iter().find(|known| known.name == format) else { return Ok(nothing_here()) };
        let text = self.reports.of(path)?.render(format).map_err(|error| error.to_string())?;
        let (answer, is_shown) = answer::report(known.extension, text);
        Ok(named(answer, if is_shown { "inline" } else { "attachment" }, name, known.extension))
    }
}

/// The file under which a browser stores an answer.
fn named(answer: Response<String>, way: &str, name: &str, extension: &str) -> Response<String> {
    let plain: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' }).collect();
    with_header(answer, CONTENT_DISPOSITION, &format!("{way}; filename=\"{plain}.{extension}\""))
}

/// Stores the token in a cookie, and takes it out of the address.
fn logged_in(uri: &Uri, query: &Query, token: &str) -> Response<String> {
    let cookie = format!("{TOKEN_COOKIE}={token}; Path=/; HttpOnly; SameSite=Strict");
    // Two slashes at the beginning would lead to another host.
    let path = format!("/{}", uri.path().trim_start_matches('/'));
    with_header(moved(&format!("{path}{}", query.without("token"))), SET_COOKIE, &cookie)
}

fn moved(to: &str) -> Response<String> {
    with_header(with_status(StatusCode::SEE_OTHER, TEXT, ""), LOCATION, to)
}

fn nothing_here() -> Response<String> {
    failed(StatusCode::NOT_FOUND, "there is no such page")
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::{HOST, HeaderValue};
    use std::sync::{Arc, mpsc};
    use std::time::Duration;

    #[test]
    fn a_long_list_delays_no_page_of_a_run() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("a")).unwrap();
        let site = Arc::new(Site::new(dir.path(), Access::Local).unwrap());
        let lists = site.runs.lock().unwrap();
        let (answered, answers) = mpsc::channel();
        let other = Arc::clone(&site);
        std::thread::spawn(move || {
            let headers = HeaderMap::from_iter([(HOST, HeaderValue::from_static("localhost"))]);
            answered.send(other.answer(&Method::GET, &Uri::from_static("/run/a/"), &headers).status())
        });
        assert_eq!(answers.recv_timeout(Duration::from_secs(30)), Ok(StatusCode::OK));
        drop(lists);
    }
}
