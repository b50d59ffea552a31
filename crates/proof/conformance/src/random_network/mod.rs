//! Random network files: topologies, queues, impairments, protocols, static routes, failures and changes.
//!
//! A file is text in blocks, so that a wrong one can be shrunk, kept, and run by the command. It is drawn in
//! the order in which names are needed: nodes and links first, then what refers to them.

mod changes;
mod draw;
mod ground;
mod traffic;

use draw::Draw;
use parades_netfile::NetworkFile;
use parades_packet::description::Description;

/// The names in a file, to which later blocks refer.
struct Names {
    nodes: Vec<String>,
    links: Vec<String>,
    /// The ends of each link, by their places in `nodes`.
    ends: Vec<(usize, usize)>,
    apps: Vec<String>,
    /// The end of the run, in milliseconds.
    until_ms: u64,
}

impl Names {
    fn of(description: Description, until_ms: u64) -> Names {
        let Description { nodes, links, apps, .. } = description;
        let ends = links.iter().map(|link| (link.from as usize, link.to as usize)).collect();
        let links = links.into_iter().map(|link| link.name).collect();
        Names { nodes, links, ends, apps: apps.into_iter().map(|app| app.name).collect(), until_ms }
    }
}

/// Returns the network file of a seed.
///
/// # Panics
///
/// If the file is refused, apart from blocks that may be left out: then the drawing is wrong.
pub fn from_seed(seed: u64) -> String {
    let draw = Draw::new(seed);
    let until_ms = draw.pick(&[50, 200, 200, 1000, 3000]);
    let names = |text: &str| {
        let description = describe(text).unwrap_or_else(|error| panic!("{error}; seed {seed}:\n{text}"));
        Names::of(description, until_ms)
    };
    let mut text = format!("network = \"random network {seed}\"\nuntil = \"{until_ms}ms\"\nseed = {seed}\n");
    text += &ground::blocks(&draw);
    for block in ground::further_links(&draw, &names(&text)) {
        text += &block;
    }
    for block in traffic::blocks(&draw, &names(&text)) {
        text += &block;
    }
    let names = names(&text);
    let rest: String = changes::events(&draw, &names).concat() + &changes::measure(&draw, &names);
    for block in changes::routes(&draw, &names) {
        let more = format!("{text}{block}");
        if is_possible(&format!("{more}{rest}")) {
            text = more;
        }
    }
    text + &rest
}

/// Returns false if the file is refused because of a static route: it may lead into a loop or nowhere, at the
/// start or after a failure, or leave by a link that carries packets the other way only.
fn is_possible(text: &str) -> bool {
    let no_path = "there is no way";
    build(text).err().is_none_or(|why| why.contains(no_path))
}

fn read(text: &str) -> Result<NetworkFile, String> {
    let file = NetworkFile::parse("random.toml".as_ref(), text.to_owned()).map_err(|error| error.to_string())?;
    file.ok_or_else(|| "it has no key `network`".to_owned())
}

/// Returns the description that a text comes to.
///
/// # Errors
///
/// The message of a refused file.
pub fn describe(text: &str) -> Result<Description, String> {
    let file = read(text)?;
    file.describe(&file.parameters(), 1).map(|(description, ..)| description).map_err(|error| error.to_string())
}

/// Returns the network that a text comes to.
///
/// # Errors
///
/// The message of a refused file.
pub fn build(text: &str) -> Result<parades_netfile::Built, String> {
    let file = read(text)?;
    file.build(&file.parameters(), 1).map_err(|error| error.to_string())
}

/// Returns the file of a text, with every node, link and flow by its name.
///
/// # Errors
///
/// The message of a refused file.
pub fn in_full(text: &str) -> Result<String, String> {
    let file = read(text)?;
    let values = file.parameters();
    let settings = file.settings(&values).map_err(|error| error.to_string())?;
    let (description, until, _) = file.describe(&values, 1).map_err(|error| error.to_string())?;
    Ok(parades_netfile::explicit("in full", &settings, until, &description))
}
