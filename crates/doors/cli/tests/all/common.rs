//! Running the built command in a folder of its own.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

/// A platform of two hosts and a link of 1 byte/s, so slow that a flow may outlast virtual time.
pub(crate) const SLOW_PLATFORM: &str = r#"<platform version="4.1"><zone id="w" routing="Full"><host id="a" speed="1Gf"/><host id="b" speed="1Gf"/><link id="l" bandwidth="1Bps" latency="0"/><route src="a" dst="b"><link_ctn id="l"/></route></zone></platform>"#;

/// A folder that is gone when the test is over.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    /// Creates a folder for the test `name`. Two tests may have one name.
    pub(crate) fn new(name: &str) -> Folder {
        static FOLDERS: AtomicU32 = AtomicU32::new(0);
        // Ordering: Relaxed; a count that publishes nothing.
        let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("parades-{name}-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).expect("the test's own folder can be used");
        Folder(path)
    }

    /// Writes a file into the folder.
    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.0.join(name);
        let made = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        made.and_then(|()| std::fs::write(path, text)).expect("the test's own folder can be used");
    }

    /// Reads a file of the folder.
    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.join(name)).expect("the test's own folder can be used")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Returns the command with these arguments, separated by blanks.
pub(crate) fn command(folder: &Path, arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_parades"));
    command.current_dir(folder).args(arguments.split_whitespace());
    command
}

/// Runs the command.
pub(crate) fn parades(folder: &Path, arguments: &str) -> Output {
    command(folder, arguments).output().expect("the command was built")
}

/// Runs each case, which is arguments, exit status and message, and lists the cases that differ. Standard
/// error must have nothing but the message, and standard output nothing at all.
pub(crate) fn check(folder: &Folder, cases: &[(&str, i32, &str)]) {
    let mut wrong = String::new();
    for &(arguments, status, message) in cases {
        let output = parades(&folder.0, arguments);
        let (said, printed) = (String::from_utf8_lossy(&output.stderr), String::from_utf8_lossy(&output.stdout));
        let expected = format!("error: {message}\n");
        if output.status.code() != Some(status) || said != expected || !printed.is_empty() {
            wrong += &format!(
                "parades {arguments}\n  exit {:?}, should be {status}\n  said     {said}  should be {expected}  printed {printed:?}\n",
                output.status.code()
            );
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
