//! Files that are not GraphML, or are made to do harm, are refused with a place and within bounds.

use parades_config::{ConfigError, Place};
use parades_topology::import::{DEPTH_MAX, FILE_BYTES_MAX, Options, TOKEN_BYTES_MAX, parse, read};
use std::path::Path;

/// Returns the line and the column of an error; zeros for an error of the whole file.
fn spot(error: &ConfigError) -> (usize, usize) {
    match error.place() {
        Some(Place::Spot(spot)) => (spot.line, spot.column),
        _ => (0, 0),
    }
}

fn refused(bytes: impl AsRef<[u8]>) -> ConfigError {
    parse("bad".as_ref(), bytes.as_ref(), &Options::default()).expect_err("the file must be refused")
}

/// Returns the sentence of a refusal without its remedy: `line:column: message`.
fn sentence(bytes: impl AsRef<[u8]>) -> String {
    let error = refused(bytes);
    let (line, column) = spot(&error);
    format!("{line}:{column}: {}", error.message())
}

#[test]
fn what_is_not_graphml_is_refused() {
    for (text, wanted) in [
        ("", "1:1: the file has no <graphml> element"),
        (" \n<!-- nothing -->\n", "1:1: the file has no <graphml> element"),
        (
            "\n  time,value\n",
            "2:3: this is no graph: neither GraphML, nor GML, nor JSON, nor a list of edges, nor a topology of BRITE or HPCC",
        ),
        ("<html>\n</html>", "1:1: the root element is `html`, not <graphml>"),
        ("<graphml/>", "1:1: the file has no <graph> element"),
        ("<graphml/>\n<graphml/>", "2:1: a second root element follows the first"),
        ("<graphml>\n <graph>\n", "2:2: the file ends before `<graph>` is closed"),
        ("<graphml><node id='a'/></graphml>", "1:10: <node> lies outside <graph>"),
        ("<graphml><key id='a'/>\n<key id='a'/></graphml>", "2:1: the key `a` is declared a second time"),
        ("<graphml><graph edgedefault='both'/></graphml>", "1:10: edgedefault is `both`"),
        ("<graphml>é&nbsp;</graphml>", "1:11: the entity `nbsp` is not one of XML's own"),
    ] {
        assert_eq!(sentence(text), wanted, "{text}");
    }
}

#[test]
fn malformed_xml_is_refused_with_its_place() {
    for (text, line, column) in [
        ("<graphml>\n  <graph>\n  </node>\n</graphml>", 3, 3),
        ("<graphml>\n  <graph foo", 2, 3),
        ("<graphml>\n <graph><node id='a></graph></graphml>", 2, 9),
        ("<graphml>\n <graph><node id='a' id='b'/></graph></graphml>", 2, 9),
        ("<graphml>\n <graph><node id=a/></graph></graphml>", 2, 9),
        ("<graphml><!-- endless", 1, 10),
        ("</graphml>", 1, 1),
        ("<graphml>&#xFFFFFFFF;</graphml>", 1, 10),
    ] {
        let error = refused(text);
        assert!(error.message().starts_with("this is not well-formed XML: "), "{text}: {error}");
        assert_eq!(spot(&error), (line, column), "{text}: {error}");
    }
}

#[test]
fn text_in_other_encodings_is_refused() {
    assert_eq!(sentence(b"<graphml>\n\xe9\xff</graphml>"), "2:1: the file is not text in UTF-8");
    assert_eq!(
        sentence("\u{feff}<?xml version='1.0' encoding='latin1'?><graphml>é</graphml>"),
        "1:1: the file declares the encoding `latin1`"
    );
    let marked = "\u{feff}<?xml version='1.0' encoding='UTF-8'?><graphml><graph><node id='é'/></graph></graphml>";
    assert_eq!(parse("x".as_ref(), marked.as_bytes(), &Options::default()).unwrap().topology.nodes(), 1);
}

#[test]
fn entity_bombs_are_not_expanded() {
    let mut bomb = String::from("<!DOCTYPE graphml [\n<!ENTITY a0 \"ha\">\n");
    for level in 1..30 {
        bomb += &format!("<!ENTITY a{level} \"&a{0};&a{0};\">\n", level - 1);
    }
    bomb += "]>\n<graphml>&a29;</graphml>";
    assert_eq!(
        sentence(&bomb),
        "1:1: the document type declares entities or elements of its own, which are not expanded"
    );
    // A document type that only names a definition elsewhere is harmless: nothing is fetched.
    let plain = "<!DOCTYPE graphml SYSTEM 'http://graphml.graphdrawing.org/dtds/graphml.dtd'><graphml><graph><node id='a'/></graph></graphml>";
    assert!(parse("x".as_ref(), plain.as_bytes(), &Options::default()).is_ok());
    assert_eq!(sentence(plain.replace("'a'", "'&a29;'")).split(": ").nth(1), Some("this is not well-formed XML"));
}

#[test]
fn deep_nesting_is_refused_at_the_bound() {
    let nested = |depth: usize| {
        let inside = depth - 3;
        format!(
            "<graphml><graph><node id='a'>{}{}</node></graph></graphml>",
            "<x>".repeat(inside),
            "</x>".repeat(inside)
        )
    };
    assert!(parse("x".as_ref(), nested(DEPTH_MAX).as_bytes(), &Options::default()).is_ok());
    assert_eq!(refused(nested(DEPTH_MAX + 1)).message(), "elements nest more than 64 deep");
    assert_eq!(refused("<graphml>".to_owned() + &"<x>".repeat(1_000_000)).message(), "elements nest more than 64 deep");
}

#[test]
fn gigantic_tokens_are_refused() {
    let long = "z".repeat(TOKEN_BYTES_MAX);
    assert_eq!(
        sentence(format!("<graphml>\n<graph><node id='{long}'/></graph></graphml>")),
        "2:8: one tag is longer than 64 KiB"
    );
    assert_eq!(sentence(format!("<graphml>\n<desc>{long}z</desc></graphml>")), "2:7: one text is longer than 64 KiB");
    assert_eq!(
        sentence(format!("<graphml><{long}")),
        "1:10: this is not well-formed XML: syntax error: tag not closed: `>` not found before end of input"
    );
    // A value in pieces, each short enough.
    let pieces = format!("{}<!-- -->", "z".repeat(1000)).repeat(100);
    let text = format!(
        "<graphml><key id='l' for='node' attr.name='label'/><graph><node id='a'><data key='l'>{pieces}</data></node></graph></graphml>"
    );
    assert_eq!(refused(text).message(), "one value is longer than 64 KiB");
    let attributes: String = (0..100).map(|i| format!(" a{i}=''")).collect();
    assert_eq!(
        refused(format!("<graphml><graph><node{attributes}/></graph></graphml>")).message(),
        "an element has more than 64 attributes"
    );
}

#[test]
fn words_from_the_file_cannot_garble_the_message() {
    let error = refused(format!(
        "<graphml><graph><node id='&#27;[31m{}'/><node id='&#27;[31m{0}'/></graph></graphml>",
        "y".repeat(99)
    ));
    assert_eq!(error.message(), format!("the node `\\u{{1b}}[31m{}…` is declared a second time", "y".repeat(55)));
}

#[test]
fn many_keys_are_refused() {
    let keys: String = (0..2000).map(|i| format!("<key id='{i}'/>")).collect();
    assert_eq!(refused(format!("<graphml>{keys}</graphml>")).message(), "the file has more than 1024 keys");
}

#[test]
fn a_file_that_cannot_be_read_is_refused_by_name() {
    let error = read(Path::new("no/such.graphml"), &Options::default()).unwrap_err();
    assert!(error.to_string().starts_with("no/such.graphml: the file cannot be read: "), "{error}");
    assert_eq!((spot(&error).0, spot(&error).1), (0, 0));
    assert!(read(Path::new("."), &Options::default()).is_err());
}

#[test]
fn endless_input_is_read_up_to_the_bound_and_no_further() {
    assert_eq!(
        refused(vec![b' '; FILE_BYTES_MAX + 1]).to_string(),
        "bad: the file is longer than 64 MiB; split it, or drop the data that a network does not need"
    );
    if cfg!(target_os = "linux") {
        assert_eq!(
            read(Path::new("/dev/zero"), &Options::default()).unwrap_err().message(),
            "the file is longer than 64 MiB"
        );
    }
}
