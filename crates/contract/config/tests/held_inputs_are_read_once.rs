//! A process that holds its inputs gets the same contents from a file each time, whatever happens to the
//! file. In a program of its own, because holding is a property of the process.

use parades_config::inputs::{Input, apart, changed, forget_seen, held, hold, holding, read, read_apart, seen};
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

    // A task apart has a list of its own, and holds what it reads.
    forget_seen();
    let other = folder.join("other.txt");
    fs::write(&other, "first").unwrap();
    let input = Input { path: folder.join("nowhere.txt"), bytes: (*b"text").into() };
    apart([input.clone()], || {
        assert_eq!((read(&input.path, 100).unwrap(), seen().len()), (b"text".to_vec(), 1));
        assert_eq!(read(&other, 100).unwrap(), b"first");
        fs::write(&other, "second").unwrap();
        assert_eq!((read(&other, 100).unwrap(), seen().len()), (b"first".to_vec(), 2));
        forget_seen();
        assert_eq!(seen(), []);
    });
    assert_eq!((seen(), read(&input.path, 100).is_err()), (Vec::new(), true));
    assert_eq!(read(&other, 100).unwrap(), b"second");

    hold([]);
    assert_eq!((read_text(&file, 100).unwrap().as_str(), changed().len()), ("two", 0));
    fs::write(&file, "three").unwrap();
    assert_eq!(read_text(&file, 100).unwrap(), "two");
    assert_eq!(read(&folder.join("./a.txt"), 1).unwrap(), b"tw", "one byte more than allowed: it is too long");
    assert_eq!(changed(), [file.canonicalize().unwrap()]);
    fs::remove_file(&file).unwrap();
    assert_eq!(changed().len(), 1, "a file that is gone has changed");

    // A thread may hold other contents, and only while it says so.
    let here = Input { path: file.clone(), bytes: (*b"here").into() };
    let there = || std::thread::scope(|scope| scope.spawn(|| read(&file, 100).unwrap()).join().unwrap());
    let (mine, theirs, all) = holding([here], || (read(&file, 100).unwrap(), there(), held()));
    assert_eq!((mine.as_slice(), theirs.as_slice(), &all[0].bytes[..]), (&b"here"[..], &b"two"[..], &b"here"[..]));
    assert_eq!(read(&file, 100).unwrap(), b"two");
    // A file that is no input is neither held nor seen.
    forget_seen();
    let result = folder.join("apart.txt");
    fs::write(&result, "result").unwrap();
    assert_eq!((read_apart(&result, 6).unwrap().as_slice(), seen().len(), held().len()), (&b"result"[..], 0, 1));
    assert_eq!(read_apart(&result, 5).unwrap_err().kind(), std::io::ErrorKind::FileTooLarge);

    // Another process gets what this one has read.
    let inputs = held();
    assert_eq!((inputs.len(), &inputs[0].bytes[..]), (1, &b"two"[..]));
    fs::remove_dir_all(&folder).unwrap();
}
