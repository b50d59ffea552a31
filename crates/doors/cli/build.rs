//! Passes the commit to the program that is built, if git and a repository are there.

use std::process::Command;

fn main() {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
        String::from_utf8(output.stdout).ok().map(|text| text.trim().to_owned())
    };
    let commit = git(&["rev-parse", "--short=12", "HEAD"]).unwrap_or_else(|| "unknown".into());
    println!("cargo::rustc-env=PARADES_COMMIT={commit}");
    // The program is built again when the commit changes: the log of HEAD grows with each commit.
    if let Some(folder) = git(&["rev-parse", "--absolute-git-dir"]) {
        println!("cargo::rerun-if-changed={folder}/logs/HEAD");
    }
    let variable = |name: &str| std::env::var(name).unwrap_or_else(|_| "unknown".into());
    let compiler = Command::new(variable("RUSTC")).arg("--version").output().ok();
    let compiler = compiler.and_then(|output| String::from_utf8(output.stdout).ok());
    let (compiler, profile) = (compiler.as_deref().unwrap_or("unknown compiler").trim(), variable("PROFILE"));
    let (target, level) = (variable("TARGET"), variable("OPT_LEVEL"));
    println!("cargo::rustc-env=PARADES_BUILD={compiler}; {target}; profile {profile}, optimisation {level}");
    println!("cargo::rerun-if-changed=build.rs");
}
