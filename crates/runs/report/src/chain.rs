//! The chain of events that led to another one: as JSON, and in lines for people.

use parades_session::cause::{Link, origin};
use parades_session::why::Answer;
use serde_json::{Value, json};

/// Returns the chain of events that led to another one, as a JSON object.
pub fn chain_as_json(Answer { chain, is_whole, failure, .. }: &Answer) -> Value {
    let link = |link: &Link| {
        let sender = link.sent.0.as_lp().map_or_else(|| json!(link.sent.0.to_string()), |lp| json!(lp.0));
        json!({
            "time_s": link.instant.time.as_secs_f64(), "round": link.instant.round, "lp": link.lp.0, "lp_name": link.name, "sender": sender,
            "sequence": link.sent.1, "event": link.line, "notes": link.notes,
        })
    };
    let chain: Vec<Value> = chain.iter().map(link).collect();
    let failure = failure.as_ref().map(ToString::to_string);
    json!({"schema": 1, "whole": is_whole, "chain": chain, "failure": failure})
}

/// Returns the chain of events that led to another one, a line each, the first cause first.
pub fn chain_for_people(Answer { chain, is_whole, failure, .. }: &Answer) -> String {
    let head = chain.first().map(|first| if *is_whole { format!("({})", origin(first)) } else { "…".to_owned() });
    let events = chain.iter().flat_map(|link| std::iter::once(&link.line).chain(&link.notes)).cloned();
    let end = failure.as_ref().map(|failure| format!("failed: {failure}"));
    head.into_iter().chain(events).chain(end).map(|line| line + "\n").collect()
}
