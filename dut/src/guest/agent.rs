//! The control channel of a guest: a serial port over which its first process (`init.sh`) takes commands.

use super::Hypervisor;
use crate::host::Output;
use crate::host::runner::{Excerpt, Limits, Ran};
use data_encoding::BASE64;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

const READY: &[u8] = b"ready\n";

const PATIENCE: Duration = Duration::from_secs(20);

const LINE: usize = 256;

/// natmeter's end of the connection to a guest.
#[derive(Debug)]
pub struct Agent {
    stream: UnixStream,
    at_once: usize,
}

impl Agent {
    pub fn over(stream: UnixStream, kind: Hypervisor) -> Agent {
        let at_once = match kind {
            // Its serial port stops for good after a line of about 8 KiB.
            Hypervisor::Uml => 1 << 10,
            Hypervisor::Qemu => 1 << 15,
        };
        Agent { stream, at_once }
    }

    /// Waits until the guest takes commands, or `goes_on` returns false.
    pub fn wait_until_ready(&mut self, goes_on: &mut dyn FnMut() -> bool) -> io::Result<()> {
        self.stream.set_read_timeout(Some(Duration::from_millis(50)))?;
        let mut said = Vec::new();
        let mut buffer = [0; 1];
        loop {
            match self.stream.read(&mut buffer) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(_) => said.push(buffer[0]),
                Err(error) if is_timeout(&error) || error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
            if said.ends_with(READY) {
                return Ok(());
            }
            if !goes_on() {
                return Err(ErrorKind::TimedOut.into());
            }
        }
    }

    /// Runs a shell script in the guest, and kills its process group at the time limit. It is no error if the script
    /// fails or exceeds its time.
    pub fn run(&mut self, script: &str, input: &[u8], limits: &Limits) -> io::Result<Ran> {
        if script.len().max(input.len()) <= self.at_once {
            return self.exchange(script, input, limits);
        }
        let files = [("/run/.long-script", script.as_bytes()), ("/run/.long-input", input)];
        for (file, octets) in files {
            self.exchange(&format!(": >{file}"), b"", limits)?;
            for part in octets.chunks(self.at_once) {
                let ran = self.exchange(&format!("cat >>{file}"), part, limits)?;
                if !ran.output.ok() {
                    return Ok(ran);
                }
            }
        }
        self.exchange("exec /bin/sh /run/.long-script </run/.long-input", b"", limits)
    }

    fn exchange(&mut self, script: &str, input: &[u8], limits: &Limits) -> io::Result<Ran> {
        let begun = Instant::now();
        let end = begun + limits.time + PATIENCE;
        self.stream.set_write_timeout(Some(limits.time + PATIENCE))?;
        self.stream.write_all(request(script, input, limits.time).as_bytes())?;
        let answer = self.line(end)?;
        let wrong = || io::Error::new(ErrorKind::InvalidData, format!("the guest answers {answer:?}"));
        let numbers: Vec<usize> = answer.split_ascii_whitespace().map_while(|word| word.parse().ok()).collect();
        let [status, late, out, err] = numbers[..] else { return Err(wrong()) };
        let took = begun.elapsed();
        let stdout = self.text(out, limits.octets, end)?;
        let mut stderr = self.text(err, limits.octets, end)?;
        let timed_out = late == 1;
        if timed_out {
            stderr = format!("{stderr}\nkilled after {} s", limits.time.as_secs_f32());
        }
        let status = i32::try_from(status).ok();
        Ok(Ran { output: Output { status, stdout, stderr }, timed_out, took })
    }

    fn line(&mut self, end: Instant) -> io::Result<String> {
        let mut line = Vec::new();
        let mut octet = [0; 1];
        while line.len() < LINE {
            self.some(&mut octet, end)?;
            if octet[0] == b'\n' {
                break;
            }
            line.push(octet[0]);
        }
        Ok(String::from_utf8_lossy(&line).into_owned())
    }

    /// Reads a text, of which at most `kept` octets are kept.
    fn text(&mut self, mut octets: usize, kept: usize, end: Instant) -> io::Result<String> {
        let mut text = Excerpt::at_most(kept);
        let mut buffer = [0; 1 << 14];
        while octets > 0 {
            let wanted = octets.min(buffer.len());
            let read = self.some(&mut buffer[..wanted], end)?;
            text.take(&buffer[..read]);
            octets -= read;
        }
        Ok(text.text())
    }

    fn some(&mut self, buffer: &mut [u8], end: Instant) -> io::Result<usize> {
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(ErrorKind::TimedOut.into());
            }
            self.stream.set_read_timeout(Some(left))?;
            match self.stream.read(buffer) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(read) => return Ok(read),
                Err(error) if is_timeout(&error) || error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// Time limit in seconds, script, standard input.
fn request(script: &str, input: &[u8], limit: Duration) -> String {
    let word = |octets: &[u8]| if octets.is_empty() { "-".to_owned() } else { BASE64.encode(octets) };
    format!("{} {} {}\n", limit.as_secs_f32(), word(script.as_bytes()), word(input))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { time: Duration::from_secs(7), octets: 1 << 20 };

    /// An agent whose guest says this, and what natmeter sent.
    fn said(text: &str) -> (Agent, UnixStream) {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(text.as_bytes()).unwrap();
        theirs.shutdown(std::net::Shutdown::Write).unwrap();
        (Agent::over(ours, Hypervisor::Uml), theirs)
    }

    #[test]
    fn an_answer_has_status_and_both_outputs() {
        let (mut agent, mut guest) = said("noise\nready\n3 0 4 5\nout\nerror");
        agent.wait_until_ready(&mut || true).unwrap();
        let ran = agent.run("false", b"", &LIMITS).unwrap();
        let output = Output { status: Some(3), stdout: "out".into(), stderr: "error".into() };
        assert_eq!((ran.output, ran.timed_out), (output, false));
        drop(agent);
        let mut request = String::new();
        guest.read_to_string(&mut request).unwrap();
        assert_eq!(request, "7 ZmFsc2U= -\n");
    }

    #[test]
    fn what_is_long_is_sent_in_parts() {
        let (mut agent, mut guest) = said(&"0 0 0 0\n".repeat(8));
        let ran = agent.run(&"x".repeat(2 * agent.at_once + 1), &vec![b'y'; agent.at_once + 1], &LIMITS).unwrap();
        assert!(ran.output.ok());
        let most = 2 * agent.at_once;
        drop(agent);
        let mut requests = String::new();
        guest.read_to_string(&mut requests).unwrap();
        assert_eq!(requests.lines().count(), 8);
        assert!(requests.lines().all(|line| line.len() < most));
    }

    #[test]
    fn a_script_that_is_late_says_so() {
        let (mut agent, _guest) = said("137 1 0 0\n");
        let ran = agent.run("sleep 1000", b"", &LIMITS).unwrap();
        assert!(ran.timed_out && ran.output.stderr.ends_with("killed after 7 s"), "{ran:?}");
    }

    #[test]
    fn a_guest_that_ends_is_an_error() {
        let (mut agent, _guest) = said("0 0 10 0\nhalf");
        assert_eq!(agent.run("true", b"", &LIMITS).unwrap_err().kind(), ErrorKind::UnexpectedEof);
        let (mut agent, _guest) = said("Kernel panic\n");
        assert_eq!(agent.wait_until_ready(&mut || true).unwrap_err().kind(), ErrorKind::UnexpectedEof);
        let (mut agent, _guest) = said("no numbers\n");
        assert_eq!(agent.run("true", b"", &LIMITS).unwrap_err().kind(), ErrorKind::InvalidData);
    }

    #[test]
    fn waiting_for_a_guest_can_end() {
        let (ours, _theirs) = UnixStream::pair().unwrap();
        let mut left = 2;
        let mut goes_on = || {
            left -= 1;
            left > 0
        };
        let error = Agent::over(ours, Hypervisor::Uml).wait_until_ready(&mut goes_on).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
    }
}
