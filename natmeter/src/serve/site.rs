//! The answers to each path. The server only reads, and a name of a run is that of a folder directly below its own.

use super::access::{Access, TOKEN_COOKIE, Verdict};
use super::answer::{Body, Kind, ok, with_header, with_status};
use super::live::{Progress, Streams, so_far};
use super::page::{self, list, pair, run};
use super::query::{Query, encoded, segments};
use super::reports::Reports;
use hyper::header::{
    ALLOW, CONNECTION, CONTENT_DISPOSITION, HeaderMap, HeaderName, LOCATION, SET_COOKIE, WWW_AUTHENTICATE,
};
use hyper::{Method, Response, StatusCode, Uri};
use record::read::header;
use record::report::KNOWN;
use record::runs::{Listed, Runs, check_files, is_merged, path_of, scenario_text};
use record::store::StoreError;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Largest scenario that is sent, octets.
const SCENARIO_AT_MOST: u64 = 4 << 20;
/// Largest run that is followed live, octets of its files.
const LIVE_AT_MOST: u64 = 512 << 20;

/// The site over one folder of runs.
#[derive(Debug)]
pub struct Site {
    /// Name of the folder, on pages.
    name: String,
    folder: PathBuf,
    runs: Mutex<Runs>,
    reports: Reports,
    streams: Streams,
    access: Access,
}

impl Site {
    /// The site over the runs directly below a folder. It lists them once, so that the first request is as fast as later ones.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn new(folder: &Path, access: Access) -> Result<Site, StoreError> {
        let mut runs = Runs::of(folder);
        runs.list()?;
        let name = folder.file_name().map(|name| name.to_string_lossy().into_owned());
        Ok(Site {
            name: name.unwrap_or_else(|| folder.display().to_string()),
            folder: folder.to_path_buf(),
            runs: Mutex::new(runs),
            reports: Reports::default(),
            streams: Streams::default(),
            access,
        })
    }

    /// Answers a request.
    pub(super) fn answer(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Response<Body> {
        let query = Query::of(uri);
        if let Some(token) = query.get("token").filter(|token| self.access.is_token(token)) {
            return logged_in(uri, &query, token);
        }
        match self.access.of(headers) {
            Verdict::Granted => {}
            Verdict::OtherHost => {
                let answer = failed(StatusCode::MISDIRECTED_REQUEST, "the request is for another host: use localhost");
                return with_header(answer, CONNECTION, "close");
            }
            Verdict::NoToken => {
                let answer = with_status(StatusCode::UNAUTHORIZED, Kind::Page, page::body(page::log_in()));
                let answer = with_header(answer, WWW_AUTHENTICATE, "Bearer realm=\"natmeter\"");
                return with_header(answer, CONNECTION, "close");
            }
        }
        if method != Method::GET && method != Method::HEAD {
            let answer = failed(StatusCode::METHOD_NOT_ALLOWED, "the server only reads: use GET or HEAD");
            return with_header(answer, ALLOW, "GET, HEAD");
        }
        let Some(segments) = segments(uri) else { return nothing_here() };
        let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
        match segments.as_slice() {
            [""] => self.list(&query),
            ["style.css"] => ok(Kind::Style, page::STYLE),
            ["live.js"] => ok(Kind::Script, page::SCRIPT),
            ["runs.json"] => self.json(&query),
            ["compare"] => self.compare(&query),
            ["run", name, rest @ ..] => match path_of(&self.folder, name) {
                Some(path) => self.of_run(name, &path, rest, &query, headers),
                None => nothing_here(),
            },
            _ => nothing_here(),
        }
    }

    /// The list of runs. Only this waits while another request lists them.
    fn listed(&self) -> Result<Vec<Listed>, StoreError> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner).list()
    }

    fn of_run(&self, name: &str, path: &Path, rest: &[&str], query: &Query, headers: &HeaderMap) -> Response<Body> {
        match rest {
            // Without the slash, the links of the page would lead elsewhere.
            [] => moved(&format!("/run/{}/", encoded(name))),
            [""] => ok(Kind::Page, run::page(name, self.reports.of(path).as_deref(), is_merged(path) == Ok(false))),
            ["live"] => live(name, path),
            ["events"] => self.events(path, query, headers),
            ["scenario.toml"] => scenario(name, path),
            ["report", format] => self.report(name, path, format),
            _ => nothing_here(),
        }
    }

    fn list(&self, query: &Query) -> Response<Body> {
        match self.listed() {
            Ok(runs) => ok(Kind::Page, list::page(&self.name, &runs, query)),
            Err(error) => failed(StatusCode::INTERNAL_SERVER_ERROR, &format!("the folder cannot be read: {error}")),
        }
    }

    fn json(&self, query: &Query) -> Response<Body> {
        match self.listed() {
            Ok(runs) => ok(Kind::Json, list::json(&runs, query)),
            Err(error) => failed(StatusCode::INTERNAL_SERVER_ERROR, &format!("the folder cannot be read: {error}")),
        }
    }

    fn compare(&self, query: &Query) -> Response<Body> {
        let names: Vec<&str> = query.all("run").collect();
        let [first, second] = names[..] else {
            return failed(StatusCode::BAD_REQUEST, "select two runs to compare");
        };
        let report = |name: &str| {
            let path = path_of(&self.folder, name).ok_or_else(|| format!("{name}: there is no such run"))?;
            self.reports.of(&path).map_err(|why| format!("{name}: {why}"))
        };
        match (report(first), report(second)) {
            (Ok(one), Ok(other)) => ok(Kind::Page, pair::page((first, &one), (second, &other))),
            (Err(why), _) | (_, Err(why)) => failed(StatusCode::NOT_FOUND, &why),
        }
    }

    fn report(&self, name: &str, path: &Path, format: &str) -> Response<Body> {
        let Some(known) = KNOWN.iter().find(|known| known.name == format) else { return nothing_here() };
        let rendered = self.reports.of(path).and_then(|report| report.render(format).map_err(|e| e.to_string()));
        match rendered {
            Ok(text) => {
                let kind = Kind::of_report(known.extension);
                let way = if kind == Kind::Report { "inline" } else { "attachment" };
                named(ok(kind, text), way, name, known.extension)
            }
            Err(why) => failed(StatusCode::NOT_FOUND, &why),
        }
    }

    fn events(&self, path: &Path, query: &Query, headers: &HeaderMap) -> Response<Body> {
        let last = headers.get(HeaderName::from_static("last-event-id")).and_then(|id| id.to_str().ok());
        let from = last.or_else(|| query.get("from")).and_then(|from| from.parse().ok()).unwrap_or(0);
        let opened = progress(path)
            .and_then(|progress| self.streams.open(path, progress, from).map_err(|error| error.to_string()));
        match opened {
            Ok(events) => with_status(StatusCode::OK, Kind::Events, Body::Events(Box::new(events))),
            Err(why) => failed(StatusCode::SERVICE_UNAVAILABLE, &format!("the events cannot be read: {why}")),
        }
    }
}

/// The state of a run before its first event.
fn progress(path: &Path) -> Result<Progress, String> {
    check_files(path, LIVE_AT_MOST)?;
    if is_merged(path)? {
        return Err("it joins several runs, and only a single run has a live view".to_owned());
    }
    let header =
        header(path, tech::ALL).map_err(|_| "the header or the scenario of the run cannot be read".to_owned())?;
    Ok(Progress::of(&header.plan))
}

fn live(name: &str, path: &Path) -> Response<Body> {
    match progress(path).and_then(|progress| so_far(path, progress).map_err(|error| error.to_string())) {
        Ok((progress, said, place)) => ok(Kind::Page, run::live(name, &progress, &said, place)),
        Err(why) => failed(StatusCode::NOT_FOUND, &why),
    }
}

fn scenario(name: &str, path: &Path) -> Response<Body> {
    match scenario_text(path, SCENARIO_AT_MOST) {
        Ok(text) => named(ok(Kind::Text, text), "attachment", name, "toml"),
        Err(why) => failed(StatusCode::NOT_FOUND, &why),
    }
}

/// Names the file under which a browser stores an answer.
fn named(answer: Response<Body>, way: &str, name: &str, extension: &str) -> Response<Body> {
    let plain: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' }).collect();
    with_header(answer, CONTENT_DISPOSITION, &format!("{way}; filename=\"{plain}.{extension}\""))
}

/// Stores the token in a cookie, and takes it out of the address.
fn logged_in(uri: &Uri, query: &Query, token: &str) -> Response<Body> {
    let cookie = format!("{TOKEN_COOKIE}={token}; Path=/; HttpOnly; SameSite=Strict");
    // Two slashes at the beginning would lead to another host.
    let path = format!("/{}", uri.path().trim_start_matches('/'));
    with_header(moved(&format!("{path}{}", query.without("token"))), SET_COOKIE, &cookie)
}

fn moved(to: &str) -> Response<Body> {
    with_header(with_status(StatusCode::SEE_OTHER, Kind::Text, Body::Whole(None)), LOCATION, to)
}

fn nothing_here() -> Response<Body> {
    failed(StatusCode::NOT_FOUND, "there is no such page")
}

fn failed(status: StatusCode, why: &str) -> Response<Body> {
    with_status(status, Kind::Page, page::body(page::failure(status.canonical_reason().unwrap_or("Error"), why)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::{HOST, HeaderValue};
    use std::fs;
    use std::sync::{Arc, mpsc};
    use std::time::Duration;

    #[test]
    fn a_long_list_delays_no_page_of_a_run() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("a")).unwrap();
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
