//! The workspace as cargo describes it.

use serde_json::Value;
use std::process::Command;

/// Returns the packages of the workspace and their targets: the answer of `cargo metadata`.
pub(crate) fn metadata() -> Value {
    let metadata = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../.."))
        .output()
        .expect("cargo runs");
    assert!(metadata.status.success(), "{}", String::from_utf8_lossy(&metadata.stderr));
    serde_json::from_slice(&metadata.stdout).expect("cargo writes JSON")
}
