//! The tables `[[route]]`: static routes.

use crate::draft::Draft;
use crate::given::Fields;
use parades_config::{ConfigError, quoted};
use parades_packet::description::{StaticRoute, Via};

/// Returns the static routes of a file.
pub(crate) fn read(tables: &[Fields<'_>], draft: &Draft) -> Result<Vec<StaticRoute>, ConfigError> {
    tables.iter().map(|fields| route(fields, draft)).collect()
}

fn route(fields: &Fields<'_>, draft: &Draft) -> Result<StaticRoute, ConfigError> {
    let nodes = |key: &str| draft.select_nodes(fields.reader, &fields.texts(key)?);
    let (at, to) = (nodes("at")?, nodes("to")?);
    let key = match (fields.has("via"), fields.has("link")) {
        (true, false) => "via",
        (false, true) => "link",
        (true, true) => return Err(fields.wrong("link", "`link` stands beside `via`", "give one of them")),
        (false, false) => {
            let help = "add `via = \"NODE\"` or `link = \"LINK\"`";
            return Err(fields.reader.error(&fields.span, "a route has no next hop", help));
        }
    };
    let name = fields.texts(key)?;
    let is_link = key == "link";
    let selected =
        if is_link { draft.select_links(fields.reader, &name)? } else { draft.select_nodes(fields.reader, &name)? };
    let &[hop] = &selected[..] else {
        let message = format!("{} stands for several, and a route has one next hop", quoted(&name[0].0));
        return Err(fields.wrong(key, message, "name one"));
    };
    let leads = |node: u32| {
        let link = |number: u32| &draft.links[number as usize];
        match is_link {
            true => link(hop).from == node || (link(hop).to == node && link(hop).is_duplex),
            false => draft.are_linked(node, hop),
        }
    };
    if let Some(&node) = at.iter().find(|&&node| !leads(node)) {
        let node = quoted(&draft.nodes[node as usize]);
        let message = match is_link {
            true => format!("{node} cannot send by the link {}", quoted(&name[0].0)),
            false => format!("no link joins {node} and {}", quoted(&name[0].0)),
        };
        return Err(fields.wrong(key, message, "name a neighbour of each node of `at`, or a link of it"));
    }
    Ok(StaticRoute { at, to, via: if is_link { Via::Link(hop) } else { Via::Node(hop) } })
}
