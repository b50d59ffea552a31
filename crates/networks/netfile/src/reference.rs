//! The page that lists every key of a network file, made from the shapes that the reader uses.

use crate::given::example;
use crate::shape::{EVENT, Form, Key, Shape, TABLES, TOP};
use parades_config::units::{DURATION, RATE, SIZE};
use parades_config::{Kind, Parameter, SETTINGS};
use std::fmt::Write;

/// Returns the page, in Markdown.
pub fn reference() -> String {
    let mut page = String::from(HEAD);
    page.push_str(&units());
    let settings = SETTINGS.iter().filter(|setting| setting.key() != "scenario");
    page.push_str("## Top-level keys\n\n");
    rows(&mut page, TOP.iter().map(|key| (*key, default(key))).chain(settings.map(of_setting)));
    page.push_str(
        "## `[parameters]`\n\nValues that the command line can set: a name of letters, digits, `_` and `-`, and a \
         number, a text or `true`. Others refer to them as `\"$name\"`.\n\n",
    );
    for shape in TABLES {
        table(&mut page, shape);
    }
    page
}

const HEAD: &str = "\
# Every key of a network file

A network file is TOML. `parades show network` prints one to begin with, and `parades show --schema` a schema by which
editors complete such files. This page is made from the same tables; a test fails if it is out of date.

The command line sets any key by its path, which is the table, the name and the key: `--set app.video.rate=5Mbps`,
`--set link.west-east.delay=5ms`, `--set defaults.queue=50`, `--set routing=hops`. An event or a
route has its place instead of a name: `--set event.1.at=3s`. A link without a name is `FROM-TO`. If its queue is a table,
the table's keys and its kind are set too: `--set link.west-east.queue.limit=50`,
`--set link.west-east.queue.kind=codel`. `*` in a name sets the key of all tables that
know it: `--set app.*.packet=500B`. Lists, such as `nodes` and `flows`, are changed in the
file.

In names, `*` stands for any letters if several nodes, links or apps may be meant. Sizes are `1500B` or `64KiB`, durations
`10ms`, rates `10Mbps`. A key in **bold** must be given.

Links do not fragment packets.

";

/// Returns the units of all quantities, as a list.
fn units() -> String {
    let mut text = String::from("All units, in files and on the command line:\n\n");
    for (name, quantity) in [("durations", &DURATION), ("sizes", &SIZE), ("rates", &RATE)] {
        let units: Vec<String> = quantity.all_unit_names().map(|unit| format!("`{unit}`")).collect();
        let _ = writeln!(text, "- {name}: {}", units.join(", "));
    }
    text.push('\n');
    text
}

/// Returns a setting of the run. Its default is that of the command.
fn of_setting(setting: &'static Parameter) -> (Key, String) {
    let form = Form::One(*setting);
    (Key { name: setting.key(), form, meaning: setting.meaning(), required: false, also: &[] }, String::new())
}

fn table(page: &mut String, shape: &Shape) {
    let header = if shape.several { format!("[[{}]]", shape.name) } else { format!("[{}]", shape.name) };
    let _ = write!(page, "## `{header}`\n\n{}.\n\n", capital(shape.meaning));
    if !shape.keys.is_empty() {
        // A key of an event that is not given changes nothing.
        let default = |key| if shape.name == EVENT.name { String::new() } else { default(key) };
        rows(page, shape.keys.iter().map(|key| (*key, default(key))));
    }
    for kind in shape.kinds {
        let also: Vec<String> = kind.also.iter().map(|name| format!(" Also written `{name}`.")).collect();
        let _ = write!(page, "### `kind = \"{}\"`\n\n{}.{}\n\n", kind.name, capital(kind.meaning), also.concat());
        if !kind.keys.is_empty() {
            rows(page, kind.keys.iter().map(|key| (*key, default(key))));
        }
    }
}

fn rows(page: &mut String, keys: impl Iterator<Item = (Key, String)>) {
    page.push_str("| key | value | default | meaning |\n|---|---|---|---|\n");
    for (key, default) in keys {
        let mut name = if key.required { format!("**`{}`**", key.name) } else { format!("`{}`", key.name) };
        key.also.iter().for_each(|also| name += &format!(", or `{also}`"));
        let needs = match &key.form {
            Form::One(parameter) => parameter.condition().in_words(),
            _ => None,
        };
        let needs = needs.map_or_else(String::new, |needs| format!("; acts only {needs}"));
        let meaning = key.meaning.replace('|', "\\|");
        let _ = writeln!(page, "| {name} | {} | {default} | {meaning}{needs} |", value(&key.form));
    }
    page.push('\n');
}

fn value(form: &Form) -> String {
    let kind = match form {
        Form::One(parameter) => match parameter.kind() {
            Kind::Integer { min, max, .. } if max == u64::MAX => format!("whole number from {min}"),
            Kind::Integer { min, max, .. } => format!("whole number from {min} to {max}"),
            Kind::Float { .. } => "number".to_owned(),
            Kind::Fraction { .. } => "number from 0 to 1, or percent".to_owned(),
            Kind::Duration { .. } => "duration".to_owned(),
            Kind::Size { .. } if parameter.default_unit().is_some() => "size, or a number of bytes".to_owned(),
            Kind::Size { .. } => "size".to_owned(),
            Kind::Rate { .. } => "rate".to_owned(),
            Kind::Boolean { .. } => "`true` or `false`".to_owned(),
            Kind::Choice { of, .. } => of.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", "),
            Kind::Path => "path".to_owned(),
            _ => "text".to_owned(),
        },
        Form::Limit => "packets, a size, or `unbounded`".to_owned(),
        Form::Queue => "packets, a size, a name, or a table".to_owned(),
        Form::Packet => "size, or `internet-mix`".to_owned(),
        Form::Select => format!("name, or list of names: `{}`", example(form)),
        Form::Except => format!("name, or list of names and pairs: `{}`", example(form)),
        Form::Names | Form::Sides | Form::Flows => format!("list: `{}`", example(form)),
    };
    kind.replace('|', "\\|")
}

/// Keys without a default of their own: another key or the table of defaults counts, or there is no bound.
pub(crate) const WITHOUT_DEFAULT: &[&str] = &[
    "rate",
    "rate_back",
    "read_rate",
    "mtu",
    "bandwidth",
    "delay",
    "loss",
    "stop",
    "size",
    "gap",
    "trunk_rate",
    "trunk_delay",
    "jitter",
    "headers",
];

/// Returns the default, if it is a value that one could write.
fn default(key: &Key) -> String {
    match &key.form {
        Form::One(parameter) if !key.required && !WITHOUT_DEFAULT.contains(&key.name) => match parameter.kind() {
            Kind::Text { .. } | Kind::Path => String::new(),
            _ => format!("`{}`", parameter.default_value()),
        },
        _ => String::new(),
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
