//! The way in which a child process ended, as a phrase.

use std::process::ExitStatus;

/// Returns how a child ended: "was killed by SIGKILL".
pub(crate) fn how(status: ExitStatus) -> String {
    match (signal(status), status.code()) {
        (Some(signal), _) => format!("was killed by {}", name(signal)),
        (None, Some(code)) => format!("ended with exit status {code}"),
        (None, None) => "ended".into(),
    }
}

#[cfg(unix)]
fn signal(status: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

#[cfg(not(unix))]
fn signal(_: ExitStatus) -> Option<i32> {
    None
}

/// Returns the name of a signal on Linux.
fn name(signal: i32) -> String {
    let name = match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        15 => "SIGTERM",
        24 => "SIGXCPU",
        25 => "SIGXFSZ",
        _ => return format!("signal {signal}"),
    };
    name.into()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    #[test]
    fn a_signal_is_named() {
        assert_eq!(how(ExitStatus::from_raw(9)), "was killed by SIGKILL");
        assert_eq!(how(ExitStatus::from_raw(40)), "was killed by signal 40");
        assert_eq!(how(ExitStatus::from_raw(3 << 8)), "ended with exit status 3");
    }
}
