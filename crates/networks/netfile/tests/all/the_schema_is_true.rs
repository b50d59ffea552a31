//! The JSON schema accepts what the reader accepts, and refuses what has the wrong form.

use crate::common::error;
use boon::{Compiler, SchemaIndex, Schemas};
use parades_netfile::{EXAMPLE, NetworkFile, explicit, schema};
use serde_json::Value;

fn compiled() -> (Schemas, SchemaIndex) {
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    compiler.add_resource("network.json", schema()).expect("it is a schema");
    let index = compiler.compile("network.json", &mut schemas).expect("it is a schema");
    (schemas, index)
}

fn json(text: &str) -> Value {
    let table: toml::Table = text.parse().expect("it is TOML");
    serde_json::to_value(table).expect("there are no dates in it")
}

#[test]
fn what_is_read_is_valid() {
    let (schemas, index) = compiled();
    let check = |text: &str| {
        if let Err(why) = schemas.validate(&json(text), index) {
            panic!("{why}\n{text}");
        }
    };
    check(EXAMPLE);
    let file = NetworkFile::parse("n.toml".as_ref(), EXAMPLE.to_owned()).expect("right").expect("a network");
    let (description, until, _) = file.describe(&file.parameters(), 1).expect("right");
    check(&explicit("in full", &file.settings(&file.parameters()).expect("right"), until, &description));
}

#[test]
fn what_has_the_wrong_form_is_neither_read_nor_valid() {
    let (schemas, index) = compiled();
    let changes = [
        ("convergence", "convergance"),
        ("queue = 50", "quue = 50"),
        ("delay = \"1ms\"", "delay = \"1\""),
        ("rate = \"5Mbps\"", "rate = \"-5Mbps\""),
        ("rate = \"5Mbps\"", "rate = 5"),
        ("loss = 0.001", "loss = 1.5"),
        ("size = 10, attach = \"gw-west\"", "size = 0, attach = \"gw-west\""),
        ("kind = \"transfer\"", "kind = \"transfr\""),
        (", size = \"4MB\"", ""),
        ("state = \"down\"", "state = \"off\""),
        ("for = \"2s\" }]", "for = \"2s\" }, 5]"),
        ("network = \"", "netwrk = \""),
        ("spread = \"1s\"", "window = 3"),
        ("routing = \"delay\"", "routing = 5"),
    ];
    for (from, to) in changes {
        let text = EXAMPLE.replacen(from, to, 1);
        assert_ne!(text, EXAMPLE, "{from}");
        assert!(schemas.validate(&json(&text), index).is_err(), "{to} is valid");
        let said = error(&text);
        assert!(said.starts_with("net.toml:") || said == "no network", "{said}");
    }
}
