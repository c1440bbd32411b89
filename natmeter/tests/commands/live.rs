//! The live view of a run, as its folder grows.

use crate::server::{Server, two_runs};
use record::store::EVENTS;
use std::fs::{self, OpenOptions};
use std::io::Write;

#[test]
fn a_live_view_follows_appended_events() {
    let runs = two_runs();
    let run = runs.path().join("simulated");
    let server = Server::over(runs.path());
    let after = |line: &str| {
        let mut file = OpenOptions::new().append(true).open(run.join(EVENTS)).unwrap();
        writeln!(file, "{line}").unwrap();
        server.get("/run/simulated/live").body
    };
    let page = after(r#"{"event":"run-started","folder":"/somewhere/x","measurements":4,"done":1,"predicted_s":1}"#);
    assert!(page.contains("The run has not ended.") && page.contains("http-equiv=\"refresh\""), "{page}");
    assert!(page.contains("3 of 4 measurements to do") && !page.contains("somewhere"), "{page}");
    let page = after(r#"{"event":"doubt","text":"the <host> is busy"}"#);
    assert!(page.contains("note: the &lt;host&gt; is busy"), "{page}");
    after(
        r#"{"event":"measurement-started","number":2,"of":4,"measurement":{"metric":"throughput","repetition":1,
           "predicted":0,"point":{"dut":0,"dut_name":"x","connections":0,"cores":1}}}"#
            .replace('\n', "")
            .as_str(),
    );
    let page = after(
        r#"{"event":"trial","seq":1,"measurement":"m","rate":1500000,"verdict":"fail","reason":"","sent":100,"received":99}"#,
    );
    for part in ["[2/4]  throughput", "rate  1.5 M/s  none passed, 1.5 M failed", "last: fail, 1 % lost", "1 of 4 done"]
    {
        assert!(page.contains(part), "{part}: {page}");
    }
    let page = after(r#"{"event":"finished","folder":"/somewhere/x","seconds":9}"#);
    assert!(page.contains("The run has ended.") && !page.contains("http-equiv=\"refresh\""), "{page}");
}

#[test]
fn a_run_without_events_has_no_live_view() {
    let runs = two_runs();
    fs::remove_file(runs.path().join("simulated").join(EVENTS)).unwrap();
    let answer = Server::over(runs.path()).get("/run/simulated/live");
    assert!(answer.status == 404 && answer.body.contains("events.jsonl cannot be read"), "{answer:?}");
}
