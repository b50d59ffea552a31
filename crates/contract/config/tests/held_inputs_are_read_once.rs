//! A process that holds its inputs gets the same contents from a file each time, whatever happens to the
//! file. In a program of its own, because holding is a property of the process.

use parades_config::inputs::{changed, held, hold, read};
use parades_config::read_text;
use std::fs;

#[test]
fn held_inputs_are_read_once() {
    let folder = std::env::temp_dir().join(format!("parades-held-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join("a.txt");
    fs::write(&file, "one").unwrap();
    assert_eq!(read(&file, 100).unwrap(), b"one");
    fs::write(&file, "two").unwrap();
    assert_eq!(read(&file, 100).unwrap(), b"two", "nothing is held yet");

    hold([]);
    assert_eq!((read_text(&file, 100).unwrap().as_str(), changed().len()), ("two", 0));
    fs::write(&file, "three").unwrap();
    assert_eq!(read_text(&file, 100).unwrap(), "two");
    assert_eq!(read(&folder.join("./a.txt"), 1).unwrap(), b"tw", "one byte more than allowed: it is too long");
    assert_eq!(changed(), [file.canonicalize().unwrap()]);
    fs::remove_file(&file).unwrap();
    assert_eq!(changed().len(), 1, "a file that is gone has changed");

    // Another process gets what this one has read.
    let inputs = held();
    assert_eq!((inputs.len(), &inputs[0].bytes[..]), (1, &b"two"[..]));
    fs::remove_dir_all(&folder).unwrap();
}
