//! The tables `[[event]]`: changes of links and nodes.

use crate::draft::Draft;
use crate::given::Fields;
use parades_config::{ConfigError, quoted};
use parades_core::time::Time;
use parades_packet::description::{Change, Event, Link};

/// Returns the events of a file. They may be at any time, since the end of the run is not known here.
pub(crate) fn read(tables: &[Fields<'_>], draft: &Draft) -> Result<Vec<Event>, ConfigError> {
    let mut events = Vec::new();
    for fields in tables {
        let at = fields.time("at")?;
        let back = match fields.has("for") {
            true => Some(
                at.checked_add(fields.duration("for")?)
                    .ok_or_else(|| fields.wrong("for", "it would last past the end of time", "lower it"))?,
            ),
            false => None,
        };
        let changes = ["rate", "rate_back", "delay", "loss"].into_iter().find(|key| fields.has(key));
        match (fields.has("link"), fields.has("node")) {
            (true, false) => {
                let links = draft.select_links(fields.reader, &fields.texts("link")?)?;
                for link in links {
                    of_link(fields, link, &draft.links[link as usize], at, back, &mut events)?;
                }
            }
            (false, true) => {
                if let Some(key) = changes {
                    return Err(fields.wrong(key, format!("a node has no `{key}`"), "name links instead, with `link`"));
                }
                let is_up = state(fields)?.ok_or_else(|| {
                    fields.reader.error(&fields.span, "the event changes nothing of the node", "add `state = \"down\"`")
                })?;
                for node in draft.select_nodes(fields.reader, &fields.texts("node")?)? {
                    events.push(Event { at, change: Change::Node { node, is_up } });
                    events.extend(back.map(|at| Event { at, change: Change::Node { node, is_up: true } }));
                }
            }
            (true, true) => return Err(fields.wrong("node", "`node` stands beside `link`", "write an event for each")),
            (false, false) => {
                let help = "add `link = \"a-b\"` or `node = \"a\"`";
                return Err(fields.reader.error(&fields.span, "an event is of a link or of a node", help));
            }
        }
    }
    Ok(events)
}

/// Reads the key `state`, if it is given. Returns true for up.
fn state(fields: &Fields<'_>) -> Result<Option<bool>, ConfigError> {
    Ok(if fields.has("state") { Some(fields.choice("state")? == "up") } else { None })
}

fn of_link(
    fields: &Fields<'_>,
    link: u32,
    as_first: &Link,
    at: Time,
    back: Option<Time>,
    events: &mut Vec<Event>,
) -> Result<(), ConfigError> {
    let up = state(fields)?;
    let rate_bps = fields.has("rate").then(|| fields.rate("rate")).transpose()?;
    let rate_back_bps = fields.has("rate_back").then(|| fields.rate("rate_back")).transpose()?;
    if rate_back_bps.is_some() && as_first.back.is_none() {
        let message = format!("the link {} has no `rate_back`, so both ways have its `rate`", quoted(&as_first.name));
        return Err(fields.wrong("rate_back", message, "give the link one, or leave it out here"));
    }
    let delay = fields.has("delay").then(|| fields.duration("delay")).transpose()?;
    let loss = fields.has("loss").then(|| fields.float("loss")).transpose()?;
    let changes = rate_bps.is_some() || rate_back_bps.is_some() || delay.is_some() || loss.is_some();
    if up.is_none() && !changes {
        return Err(fields.reader.error(
            &fields.span,
            "the event changes nothing of the link",
            "add `state = \"down\"`, or a `rate`, `delay` or `loss`",
        ));
    }
    if let Some(is_up) = up {
        events.push(Event { at, change: Change::Link { link, is_up } });
        // Everything is up at the start.
        events.extend(back.map(|at| Event { at, change: Change::Link { link, is_up: true } }));
    }
    if changes {
        events.push(Event { at, change: Change::Quality { link, rate_bps, rate_back_bps, delay, loss } });
        let as_before = Change::Quality {
            link,
            rate_bps: rate_bps.and(Some(as_first.rate_bps)),
            rate_back_bps: rate_back_bps.and(as_first.back.as_ref().map(|back| back.rate_bps)),
            delay: delay.and(Some(as_first.delay)),
            loss: loss.and(Some(as_first.loss)),
        };
        events.extend(back.map(|at| Event { at, change: as_before }));
    }
    Ok(())
}
