//! The tables `[[group]]` and `[[link]]`: nodes in numbers, and links between the nodes of patterns.

use crate::draft::{Draft, NAMES, Quality, is_name};
use crate::given::Fields;
use parades_config::{ConfigError, quoted};
use parades_packet::description::Link;
use std::collections::BTreeSet;

/// The nodes of a group, in order, and the nodes that they are attached to.
pub(crate) struct Members {
    nodes: Vec<u32>,
    /// For each of `hubs`, `size` of the nodes.
    hubs: Vec<u32>,
}

/// Returns true if a group names its hubs by a pattern or a list, so that it may be attached to several.
pub(crate) fn is_attached_to_several(fields: &Fields<'_>) -> Result<bool, ConfigError> {
    let names = fields.texts("attach")?;
    Ok(names.len() > 1 || names.iter().any(|(name, _)| name.contains('*')))
}

/// Adds the nodes of a group. At one node, or at none, they are NAME.0, NAME.1 and so on. At several nodes,
/// each has its own: those of the second are NAME.1.0, NAME.1.1 and so on.
pub(crate) fn add_group(draft: &mut Draft, fields: &Fields<'_>) -> Result<Members, ConfigError> {
    let (name, size) = (fields.text("name")?, fields.count("size")?);
    // A single name may be that of a node that comes later.
    let hubs = match is_attached_to_several(fields)? {
        true => draft.select_nodes(fields.reader, &fields.texts("attach")?)?,
        false => Vec::new(),
    };
    let each = u64::from(size);
    let count = each.saturating_mul(hubs.len().max(1) as u64);
    draft.reserve(fields, "size", count, if fields.has("attach") { count } else { 0 })?;
    let mut nodes = Vec::new();
    let mut add = |name: String| draft.node(fields.reader, name, &fields.span).map(|node| nodes.push(node));
    if hubs.len() > 1 {
        for hub in 0..hubs.len() {
            (0..size).try_for_each(|number| add(format!("{name}.{hub}.{number}")))?;
        }
    } else {
        (0..size).try_for_each(|number| add(format!("{name}.{number}")))?;
    }
    Ok(Members { nodes, hubs })
}

/// Adds the links of a group to the nodes that it is attached to.
pub(crate) fn attach(
    draft: &mut Draft,
    fields: &Fields<'_>,
    Members { nodes, mut hubs }: Members,
    defaults: &Quality,
) -> Result<(), ConfigError> {
    let own = Quality::of(fields, &draft.definitions)?;
    if !fields.has("attach") {
        let of_links = ["rate", "rate_back", "delay", "queue", "queue_back", "loss", "framing", "mtu", "impairment"];
        return match of_links.into_iter().find(|key| fields.has(key)) {
            Some(key) => Err(fields.wrong(
                key,
                format!("`{key}` is of the links of a group, and it has none"),
                "say with `attach` which node they lead to",
            )),
            None => Ok(()),
        };
    }
    if hubs.is_empty() {
        hubs = draft.select_nodes(fields.reader, &fields.texts("attach")?)?;
    }
    for (members, &to) in nodes.chunks(nodes.len() / hubs.len()).zip(&hubs) {
        for &from in members {
            let name = draft.link_name(from, to);
            let quality = own.or(defaults);
            let link = quality.link(fields, name, from, to)?;
            draft.link(fields.reader, link, &fields.span, false)?;
            draft.set_mtu(quality.mtu);
        }
    }
    Ok(())
}

/// Adds the links of a table.
pub(crate) fn add_links(draft: &mut Draft, fields: &Fields<'_>, defaults: &Quality) -> Result<(), ConfigError> {
    let quality = Quality::of(fields, &draft.definitions)?.or(defaults);
    let [from, to] =
        ["from", "to"].map(|key| fields.texts(key).and_then(|names| draft.select_nodes(fields.reader, &names)));
    let (from, to, is_duplex) = (from?, to?, fields.boolean("duplex")?);
    if let (Some(key), false) = (["rate_back", "queue_back"].into_iter().find(|key| fields.has(key)), is_duplex) {
        let message = format!("`{key}` is of the way back, and with `duplex = false` there is none");
        return Err(fields.wrong(key, message, "leave one of them out"));
    }
    let is_named = fields.has("name");
    if is_named && from.len() * to.len() > 1 {
        return Err(fields.wrong(
            "name",
            "several links cannot have one name",
            "leave it out, or name one node at each end",
        ));
    }
    let own_name = if is_named { Some(fields.text("name")?) } else { None };
    if let Some(name) = own_name.as_ref().filter(|name| !is_name(name)) {
        return Err(fields.wrong("name", format!("{} is no name for a link", quoted(name)), NAMES));
    }
    for (from, to) in pairs(draft, fields, &from, &to)? {
        let name = own_name.clone().unwrap_or_else(|| draft.link_name(from, to));
        let link = quality.link(fields, name, from, to)?;
        draft.link(fields.reader, Link { is_duplex, ..link }, &fields.span, is_named)?;
        draft.set_mtu(quality.mtu);
    }
    Ok(())
}

/// Returns the pairs of nodes that a table links. Their number is checked before they are made.
fn pairs(draft: &Draft, fields: &Fields<'_>, from: &[u32], to: &[u32]) -> Result<Vec<(u32, u32)>, ConfigError> {
    if fields.choice("pairs")? == "matching" {
        if from.len() != to.len() && from.len() != 1 && to.len() != 1 {
            let message = format!("`from` has {} nodes and `to` {}, so they do not match", from.len(), to.len());
            return Err(fields.wrong("pairs", message, "name as many nodes, or link each with each"));
        }
        let count = from.len().max(to.len());
        draft.reserve(fields, "from", 0, count as u64)?;
        return Ok((0..count).map(|number| (from[number % from.len()], to[number % to.len()])).collect());
    }
    let count = (from.len() as u64).saturating_mul(to.len() as u64);
    draft.reserve(fields, "from", 0, count)?;
    let each = from.iter().flat_map(|&from| to.iter().map(move |&to| (from, to)));
    let both: BTreeSet<u32> = if count > 1 { from.iter().copied().collect() } else { BTreeSet::new() };
    let are_apart = !to.iter().any(|node| both.contains(node));
    if are_apart {
        return Ok(each.collect());
    }
    // Nodes at both ends: no node is linked to itself, and each pair once.
    let mut seen = BTreeSet::new();
    Ok(each.filter(|&(from, to)| from != to && seen.insert((from.min(to), from.max(to)))).collect())
}
