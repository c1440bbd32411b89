//! Explains SIGILL on a processor that lacks an instruction of this program. Comparing lists of
//! features might itself use such an instruction.

use std::sync::OnceLock;

static MESSAGE: OnceLock<&'static str> = OnceLock::new();

/// Prints `text` and exits with code 1 on a missing instruction. Call it before anything else.
pub fn explain_illegal_instructions(message: &'static str) {
    let _ = MESSAGE.set(message);
    let handler: extern "C" fn(libc::c_int) = explain;
    // SAFETY: the handler makes only async-signal-safe calls, and the number is that of a signal.
    unsafe { libc::signal(libc::SIGILL, handler as libc::sighandler_t) };
}

extern "C" fn explain(_signal: libc::c_int) {
    let message = MESSAGE.get().copied().unwrap_or_default();
    // SAFETY: pointer and length are those of a live string; both calls are async-signal-safe.
    unsafe {
        libc::write(libc::STDERR_FILENO, message.as_ptr().cast(), message.len());
        libc::_exit(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    const CHILD: &str = "NATMETER_TEST_ILLEGAL_INSTRUCTION";

    /// The test starts itself again as the program that executes the instruction.
    #[test]
    #[cfg_attr(miri, ignore = "starts a process")]
    fn an_illegal_instruction_is_explained() {
        if std::env::var_os(CHILD).is_some() {
            explain_illegal_instructions("the reason\n");
            // SAFETY: raise has no precondition.
            unsafe { libc::raise(libc::SIGILL) };
        }
        let mut child = Command::new(std::env::current_exe().unwrap());
        let test = "processor::tests::an_illegal_instruction_is_explained";
        let output = child.args([test, "--exact", "--nocapture"]).env(CHILD, "1").output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(String::from_utf8_lossy(&output.stderr), "the reason\n");
    }
}
