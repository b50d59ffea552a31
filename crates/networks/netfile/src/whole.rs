//! The errors that only the network as a whole shows, each at the table that it is about.

use crate::given::{Entry, Given, What};
use crate::shape::{APP, ROUTE};
use parades_config::units::parse_duration;
use parades_config::{ConfigError, Place, Source, quoted};
use parades_packet::network::NetworkError;
use parades_topology::TopologyError;

/// Returns the error at the app or the static route that it is about, or else at the file.
pub(crate) fn explain(source: &Source, file: &[Entry], why: &NetworkError) -> ConfigError {
    let error = ConfigError::new(why.to_string());
    let error = match why {
        NetworkError::NoPath { .. } => error.with_help("add a link between them, or leave the app out"),
        _ if error.message().contains("static route") => error.with_help("change one of the routes, or leave it out"),
        _ => error,
    };
    if let NetworkError::Topology(TopologyError::DelaysOverflow { .. }) = why
        && let Some(delay) = longest_delay(file)
    {
        return error.with_help("lower it").at(Place::Spot(source.spot(delay.span.clone())));
    }
    let message = error.message();
    let app =
        || table_with(file, APP.name, |key, text| key == "name" && message.contains(&format!("the app `{text}`")));
    let is_route = message.contains("static route");
    let route =
        || table_with(file, ROUTE.name, |key, text| key == "to" && message.contains(&format!("to {}", quoted(text))));
    let first_route = || table_with(file, ROUTE.name, |_, _| true);
    let table = if is_route { route().or_else(first_route) } else { app() };
    let place = match table {
        Some(table) => Place::Spot(source.spot(table.span.clone())),
        None => Place::File(source.path.clone()),
    };
    error.at(place)
}

/// Returns the longest delay that a table gives.
fn longest_delay(file: &[Entry]) -> Option<&Given> {
    let lists = file.iter().flat_map(|entry| match &entry.value.what {
        What::Table(own) => vec![own],
        What::List(list) => list
            .iter()
            .filter_map(|given| match &given.what {
                What::Table(own) => Some(own),
                _ => None,
            })
            .collect(),
        _ => Vec::new(),
    });
    let delays = lists.flatten().filter(|entry| matches!(entry.key.as_str(), "delay" | "trunk_delay" | "across"));
    let length = |entry: &&Entry| match &entry.value.what {
        What::Text(text) => parse_duration(text).ok(),
        _ => None,
    };
    delays.max_by_key(length).map(|entry| &entry.value)
}

/// Returns the first of several tables that has a text like this: `is_it` gets the key and the text.
fn table_with<'a>(file: &'a [Entry], name: &str, is_it: impl Fn(&str, &str) -> bool) -> Option<&'a Given> {
    let What::List(tables) = &file.iter().find(|entry| entry.key == name)?.value.what else { return None };
    let has_it = |entry: &Entry| match &entry.value.what {
        What::Text(text) => is_it(&entry.key, text),
        What::List(list) => list.iter().any(|given| matches!(&given.what, What::Text(text) if is_it(&entry.key, text))),
        _ => false,
    };
    tables.iter().find(|table| matches!(&table.what, What::Table(entries) if entries.iter().any(has_it)))
}
